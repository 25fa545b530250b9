"""What the estimates of a release are estimates of: all records, or what bounding left of them."""

from __future__ import annotations

from crowdtally.format import Published
from crowdtally.format.load import what_counts
from crowdtally.format.manifest import TableFacts
from crowdtally.laws.interval import IntervalNoise
from crowdtally.reader.estimating.believed import TRUE
from crowdtally.reader.estimating.item_facts import MOST

_ONE_SAMPLE = ("sra", "hpa", "declared")
"""Rules that keep records, or drop them, the same ones for items and for items in contexts."""
_SOME_NOISE = 1e-6


NOISE = "the noise only"
"""What an interval covers that says nothing but how large the noise may be."""
_HEAVY = " Items that a few very active users make large can be farther off."


def is_bounded(published: Published) -> bool:
    """Whether records of one user may have been left out; not where each row is a person."""
    return published.guarantee.unit in ("user", "same-person")


def same_records(published: Published, items: TableFacts, edges: TableFacts) -> bool:
    """Whether an item's count is, before noise, the sum of its counts in contexts.

    So it is where both tables count the same kept records, each in one context. Distinct users are
    no sum: one may have an item in two contexts. Nor are rows that each table scaled by itself.
    """
    bounds = published.method.bounds
    told = [bounds.get(table.name) for table in (items, edges)]
    if is_bounded(published) and (
        published.counted != "records"
        or published.method.bounding not in _ONE_SAMPLE
        or told[0] != told[1]
    ):
        return False
    plain = all(
        table.is_dense and table.transform.kind == "none" and table.cells <= MOST
        for table in (items, edges)
    )
    return plain and min(items.law.std(), edges.law.std()) > _SOME_NOISE


def words(published: Published, table: TableFacts, covers: str, *, measured: bool = True) -> str:
    """What the estimates and their intervals cover, in a sentence; nothing of mere noise.

    Args:
        published: the release.
        table: the table that is asked.
        covers: what the intervals cover.
        measured: whether the release could tell how long users' rows are.
    """
    if covers == NOISE:
        return ""
    if covers == TRUE and isinstance(table.law, IntervalNoise):
        return "Estimates are of all users: nobody was left out. 95% intervals are of the noise."
    if covers == TRUE and is_bounded(published) and not measured:
        return (
            f"Estimates are of all {published.counted}, and rough: there are too few users to "
            "measure what bounding each user left out, so half is assumed. Their 95% intervals are "
            "no better than that guess."
        )
    if covers == TRUE and is_bounded(published):
        repeats = published.auto is not None and published.auto.repeats
        return (
            f"Estimates are of all {published.counted}: what bounding each user left out was "
            "measured too, and 95% intervals contain how uncertain that is."
            f"{_HEAVY if repeats else ''}"
        )
    if covers == TRUE:
        return "Estimates are of all rows; 95% intervals contain the noise."
    counted = what_counts(published, table).words()
    return (
        f"Estimates and their 95% intervals are of the bounded counts: {counted}. How much that "
        "leaves out cannot be known from this release."
    )
