"""The noise floor of a top list: what pure noise would rarely exceed, from public numbers alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from crowdtally.format.manifest import TableFacts
from crowdtally.laws.base import Terms, as_counts
from crowdtally.reader.asking.answering import shown
from crowdtally.reader.asking.boxes import Parts, Summed


def floor_of(table: TableFacts, items: int, question: Summed) -> float:
    """The count that the largest of a list exceeds with at most 5% where nobody is counted.

    Args:
        table: the table that is asked.
        items: how many items the public list has, published or not: each is a line. No two lines
            have a cell in common, so they are independent.
        question: what is summed for one item.
    """
    law = table.law
    floor = law.floor(items, _terms(table, question))
    if table.discovery_threshold is not None:
        # No cell there is pure noise, and none is below the threshold.
        floor = max(floor, table.discovery_threshold - 1)
    return float(as_counts(floor, law.unit)) if law.unit != 1 else floor


def floor_of_cells(table: TableFacts, cells: int) -> float:
    """The same for so many cells of a table, each a line by itself."""
    return float(as_counts(table.law.floor(cells), table.law.unit))


def floor_words(table: TableFacts, items: int, floor: float) -> str:
    """What the floor of a list is, in a sentence."""
    if table.discovery_threshold is not None:
        return (
            f"Noise floor {shown(floor)}: each {_cell(table)} here has a user, and was released "
            f"because its noisy number of users is at least {table.discovery_threshold}; the "
            f"largest noise on {items} items exceeds the floor with a probability of at most 5%."
        )
    largest = "that count" if items == 1 else f"the largest of {items} such counts"
    return (
        f"Noise floor {shown(floor)}: where nobody is counted, {largest} exceeds it with a "
        "probability of at most 5%."
    )


def _cell(table: TableFacts) -> str:
    return "item in context" if table.axes[1:] else "item"


def _terms(table: TableFacts, question: Summed) -> Terms:
    summary = table.summary
    if summary is None:
        return Terms(_weights(question.parts))
    # Which cells a priority sample keeps, and below which nodes a tree goes on, others decide too.
    others_decide = summary.size is not None or summary.drops_orphans
    return Terms(_weights(question.parts), summary.keeping, by_itself=not others_decide)


def _weights(parts: Sequence[Parts]) -> tuple[tuple[float, int], ...]:
    """The products of the axes' weights, and how many cells have each."""
    found: Counter[float] = Counter({1.0: 1})
    for part in parts:
        if part.rows is None or part.rows.weights is None:
            own = {1.0: int(part.squares)}
        else:
            own = dict(Counter(part.rows.weights.tolist()))
        together: Counter[float] = Counter()
        for weight, times in found.items():
            for other, more in own.items():
                together[weight * other] += times * more
        found = together
    return tuple(found.items())
