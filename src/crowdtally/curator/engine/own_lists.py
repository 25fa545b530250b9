"""A public list must not be the records' own: it would publish every value that anybody has."""

from __future__ import annotations

from crowdtally.core.records import Origin
from crowdtally.curator.engine.located import Sources
from crowdtally.errors import UsageError


def refuse_own_list(name: str, origin: Origin | None, sources: Sources) -> None:
    """Refuse a list that is read from the records, or from a table joined on the user.

    Whether a value appears in such a list depends on one user. A catalogue, joined on the item or
    on anything else, is fine: which items exist is not about anybody.
    """
    for table in sources.about_users if origin is not None else ():
        if origin is not None and origin.overlaps(table.origin):
            whose = "the records'" if table is sources.records else "the users'"
            raise UsageError(
                f"the list of values for {name!r} is read from {whose} own table "
                f"({table.label or 'held in memory'}), so it would publish values because somebody "
                "has them. Give a list that was made without looking at the records: a catalogue, "
                f"a range such as {name}=0..120; or let it be discovered, --discover COLUMN "
                "--delta D."
            )
