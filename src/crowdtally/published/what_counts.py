"""What the counts of a released table count, from what ``release.json`` says about its method."""

from __future__ import annotations

from fractions import Fraction

from crowdtally.published.load import Published
from crowdtally.published.metadata import BoundFacts
from crowdtally.published.table import TableFacts
from crowdtally.values.counted import Counted


def what_counts(published: Published, table: TableFacts) -> Counted:
    """What is counted of one user in a table."""
    method, guarantee = published.method, published.guarantee
    what = "users" if published.counted == "users" else "records"
    if guarantee.unit != "user":
        return Counted("users", None, weight=guarantee.column)
    # A table of discovered items has its bound as its sensitivity, and no other.
    bound = method.bounds.get(table.name, BoundFacts(table.sensitivity, Fraction(1)))
    return Counted(
        what,
        bound.bound,
        method.cap is not None,
        method.cap or 1,
        bound.scaling,
        pairs=table.kind.is_pairs,
        quantity=_quantity(published),
    )


def _quantity(published: Published) -> int | None:
    found = (published.metadata.get("records") or {}).get("quantity")
    return None if found is None else int(found["most"])
