"""What the counts of a released table count, from what ``release.json`` says about its method."""

from __future__ import annotations

from fractions import Fraction

from crowdtally.core.counts import Counted
from crowdtally.published.auto import bounds_nobody
from crowdtally.published.load import Published
from crowdtally.published.metadata import DISTINCT, STATED, BoundFacts
from crowdtally.published.table import TableFacts


def what_counts(published: Published, table: TableFacts) -> Counted:
    """What is counted of one user in a table."""
    method, guarantee = published.method, published.guarantee
    auto = published.auto
    free = auto is not None and table.kind.answers and bounds_nobody(table.law)
    if table.law.per_cell or method.bounding == DISTINCT or free:
        return Counted("users", 1, everywhere=True)
    if guarantee.unit in ("row", "person"):
        return Counted("users", None, weight=guarantee.column)
    if method.bounding == STATED:
        return Counted("records", None, stated=method.bounds[table.name].bound)
    # A table of discovered items has its bound as its sensitivity, and no other.
    bound = method.bounds.get(table.name, BoundFacts(table.sensitivity, Fraction(1)))
    return Counted(
        "users" if published.counted == "users" else "records",
        bound.bound,
        method.cap is not None or auto is not None,
        method.cap or 1,
        bound.scaling,
        uncapped=auto is not None and auto.repeats,
        pairs=table.kind.is_pairs,
        quantity=_quantity(published),
        norm=_norm(published, table),
    )


def _norm(published: Published, table: TableFacts) -> str:
    """What rows were scaled to; of ``auto``, which decides it, by the table's own step."""
    step = None if published.auto is None else published.auto.step(table.name)
    return published.method.norm if step is None else str(step.facts.get("norm", "l1"))


def counting_remarks(published: Published) -> list[str]:
    """What each table counts that questions are answered from; said once where all do the same."""
    # Where only top items are released, no table answers for all items.
    tables = [table for table in published.tables if table.kind.answers] or published.tables
    said = {table.name: what_counts(published, table).sentence() for table in tables}
    if len(set(said.values())) == 1:
        return [next(iter(said.values()))]
    return [f"In the table {name!r}: {words[0].lower()}{words[1:]}" for name, words in said.items()]


def _quantity(published: Published) -> int | None:
    found = published.metadata["records"].get("quantity")
    return None if found is None else int(found["most"])
