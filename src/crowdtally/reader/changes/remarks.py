"""What must be said beside a list of changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from crowdtally.core.display import plainly
from crowdtally.core.numbers import show
from crowdtally.format import Published
from crowdtally.format.load import what_counts
from crowdtally.format.manifest import DISTINCT
from crowdtally.reader.axes import Axes
from crowdtally.reader.changes.reading import Reading
from crowdtally.reader.changes.testing import Pair
from crowdtally.reader.estimating.covering import is_bounded


def remarks(
    axes: Sequence[Axes], readings: Sequence[Reading], pairs: Sequence[Pair], fdr: float, of: str
) -> tuple[str, ...]:
    """All that must be said, most important first."""
    before, after = (one.published for one in axes)
    return (
        *_called_back(before, after),
        f"False discovery rate {fdr:g}: of the items that are listed, a share of at most {fdr:g} "
        "has not changed, on average over releases. Intervals of changes are widened for having "
        "been chosen: on average, 5% of those listed miss.",
        *_about(before, readings[1], pairs, of),
        *_doubts(before, after),
        *_together(before, after),
    )


def _called_back(before: Published, after: Published) -> Iterator[str]:
    for which, one in (("earlier", before), ("later", after)):
        note = one.withdrawn
        if note is not None:
            yield f"The {which} release was {note}."


def _about(published: Published, reading: Reading, pairs: Sequence[Pair], of: str) -> Iterator[str]:
    """What is compared, and what its errors are."""
    table = reading.table
    if of == "shares":
        yield (
            "Changes are in percentage points: shares are of the total of each release, whose "
            "noise counts too."
        )
    if table.name == "popularity":
        yield (
            f"Compared is the popularity, {published.method.popularity_records} records of each "
            "user taken at random: which records the other tables keep depends on its noise, so "
            "they differ where nothing changed."
        )
    elif table.law.per_cell or published.method.bounding == DISTINCT:
        yield "Counts are of all users: nobody was left out, and errors are those of the noise."
    elif published.auto is not None:
        yield (
            f"Counts are of all {published.counted}; errors are those of the noise, and of what "
            "bounding left out."
        )
    elif is_bounded(published):
        counted = what_counts(published, table).words()
        chance = (
            "; which of them is chance, and counts as an error" if pairs[0].later.sampled else ""
        )
        yield f"Compared are bounded counts: {counted}{chance}. What was left out may differ."
    if table.is_chosen:
        yield "Only items that both releases measured by themselves are compared."
    elif np.isnan(pairs[0].earlier.counts + pairs[0].later.counts).any():
        yield (
            "An item that one release left out changed only if every count that would have been "
            "left out says so."
        )


def _doubts(before: Published, after: Published) -> Iterator[str]:
    """What makes the releases of different records, or in another order."""
    said = [one.records.where for one in (before, after)]
    if said[0] != said[1]:
        words = ["none" if one is None else plainly(one) for one in said]
        yield f"Records met different conditions: {words[0]} earlier, {words[1]} later."
    times = [str(one.metadata.get("created") or "") for one in (before, after)]
    if all(times) and times[0] > times[1]:
        yield "The release that was given as the earlier one was made after the other."


def _together(before: Published, after: Published) -> Iterator[str]:
    """What both cost together, where they are about the same people."""
    names = [(one.metadata.get("charged") or {}).get("dataset") for one in (before, after)]
    if names[0] is None or names[0] != names[1]:
        return
    epsilons = [one.guarantee.epsilon for one in (before, after)]
    delta = before.guarantee.delta + after.guarantee.delta
    rarely = f" and δ = {show(delta)}" if delta else ""
    yield (
        f"Both were charged to the dataset {plainly(names[0])!r}: somebody who is in both is "
        f"protected by ε = {show(epsilons[0])} + {show(epsilons[1])} = "
        f"{show(epsilons[0] + epsilons[1])}{rarely}, not by that of one. Comparing them costs "
        "nothing more."
    )
