"""A public list must not be the records' own: it would publish every value that anybody has."""

from __future__ import annotations

from collections.abc import Iterable

from crowdtally.curator.engine.sources import Located
from crowdtally.errors import UsageError
from crowdtally.values.domain import Domain


def refuse_own_lists(domain: Domain, source: Located, about_users: Iterable[Located]) -> None:
    """Refuse lists that are read from the records, or from a table joined on the user.

    Whether a value appears in such a list depends on one user. A catalogue, joined on the item or
    on anything else, is fine: which items exist is not about anybody.
    """
    private = [(source, "the records'"), *((table, "the users'") for table in about_users)]
    for axis in domain.axes:
        for table, whose in private:
            if axis.origin is not None and axis.origin.overlaps(table.origin):
                raise UsageError(
                    f"the list of values for {axis.name!r} is read from {whose} own table "
                    f"({table.label or 'held in memory'}), so it would publish values because "
                    "somebody has them. Give a list that was made without looking at the records: "
                    f"a catalogue, a range such as {axis.name}=0..120, or, for items, "
                    "--discover-items --delta D."
                )
