"""A look at the columns, so that a misspelled one is refused while it costs nothing.

A plan and a dry run promise to read no record, and keep it: see ``engine/looking.py``.
"""

from __future__ import annotations

from crowdtally.core.domain import Domain, OpenDomain
from crowdtally.curator.engine.located import Sources
from crowdtally.curator.engine.looking import can_look, without_rows
from crowdtally.curator.engine.prepare import open_records
from crowdtally.curator.engine.sources import Located
from crowdtally.curator.stages import reading


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
