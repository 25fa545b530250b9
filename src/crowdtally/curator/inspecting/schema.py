"""A look at the columns, so that a misspelled one is refused while it costs nothing.

A plan and a dry run promise to read no record, and keep it: see ``engine/looking.py``.
"""

from __future__ import annotations

from crowdtally.core.domain import Domain, OpenDomain
from crowdtally.curator.stages import reading
from crowdtally.records.locate import Located, Sources
from crowdtally.records.prepare import open_records
from crowdtally.records.start import can_look, without_rows


def check_columns(sources: Sources, lists: Domain | OpenDomain) -> tuple[str, ...]:
    """Refuse what a release would refuse on seeing the columns and their types.

    Returns:
        The names of sources that could not be looked at; where there is one, nothing was checked.
    """
    unseen = tuple(_called(source) for source in sources.every if not can_look(source))
    if not unseen:
        with reading(), without_rows() as engine:
            open_records(engine, sources.declared, lists, sources)
    return unseen


def _called(source: Located) -> str:
    return source.label or ("the stream" if source.kind == "stream" else "the DataFrame")
