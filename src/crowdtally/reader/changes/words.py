"""Changes as text, for a terminal and a notebook, and what must be said beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from crowdtally.core.display import one_line, paragraph, plainly, table
from crowdtally.core.numbers import show
from crowdtally.format import Published
from crowdtally.format.load import what_counts
from crowdtally.format.manifest import DISTINCT
from crowdtally.reader.changes.measured import Reading
from crowdtally.reader.changes.significance import Pair
from crowdtally.reader.estimates.estimator import is_bounded
from crowdtally.reader.questions.noisy_sums import shown
from crowdtally.reader.questions.text import interval_of, names_of, whole


def remarks(
    before: Published, after: Published, later: Reading, pairs: Sequence[Pair], fdr: float, of: str
) -> tuple[str, ...]:
    """All remarks, the most important first; ``later`` is what the later release measured."""
    return (
        *_called_back(before, after),
        f"False discovery rate {fdr:g}: of the items that are listed, a share of at most {fdr:g} "
        "has not changed, on average over releases. Intervals of changes are widened for having "
        "been chosen: on average, 5% of those listed miss.",
        *_about(before, later, pairs, of),
        *_doubts(before, after),
        *_together(before, after),
    )


def _called_back(before: Published, after: Published) -> Iterator[str]:
    for which, one in (("earlier", before), ("later", after)):
        if one.withdrawn is not None:
            yield f"The {which} release was {one.withdrawn}."


def _about(published: Published, reading: Reading, pairs: Sequence[Pair], of: str) -> Iterator[str]:
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
        if pairs[0].later.sampled:
            counted += "; which of them is chance, and counts as an error"
        yield f"Compared are bounded counts: {counted}. What was left out may differ."
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


_FEW = 3


def headline(changes: Any) -> str:
    what = "shares" if changes.of == "shares" else f"numbers of {changes.counted}"
    if not changes.discovered:
        return (
            f"No item rose or fell: of {changes.tested:,} items, none has {what} that differ by "
            "more than noise and sampling explain. That is no proof that nothing changed."
        )
    rose = sum(row.direction == "rose" for row in changes.rows)
    fell = len(changes.rows) - rose
    more = changes.discovered > len(changes.rows)
    first = f"; of the {len(changes.rows):,} surest" if more else ""
    return (
        f"Of {changes.tested:,} items, {changes.discovered:,} changed in their {what}{first}: "
        f"{rose:,} rose, {fell:,} fell."
    )


def printed(changes: Any) -> Iterator[str]:
    yield headline(changes)
    if changes.rows:
        head, *names = names_of(changes.rows, changes.labelled)
        yield (
            f"{'rank':>4}  {'':<4}  {'change':>10}  {'within':>17}  {'earlier':>8}  {'later':>8}  "
            f"{'q':>7}  {'noisy counts':>17}  {head}"
        )
        for row, name in zip(changes.rows, names, strict=True):
            yield f"{_cells(row)}  {name}"
    yield from changes.notes


def _cells(row: Any) -> str:
    return (
        f"{row.rank:>4}  {row.direction:<4}  {signed(row.change):>10}  {_within(row):>17}  "
        f"{_maybe(row.earlier):>8}  {_maybe(row.later):>8}  {chance(row.q_value):>7}  "
        f"{_noisy(row):>17}"
    )


def signed(value: float) -> str:
    """A change with its sign; small ones with as many digits as tell them from 0.

    >>> signed(12.34), signed(-3.0), signed(0.0123), signed(-1234.5)
    ('+12.3', '-3', '+0.012', '-1234.5')
    """
    text = shown(value) if abs(value) >= 1 else f"{value:.2g}"
    return text if value < 0 else f"+{text}"


def chance(value: float) -> str:
    """A small probability.

    >>> chance(0.0312), chance(0.00002), chance(0.0)
    ('0.031', '<0.0001', '<0.0001')
    """
    return "<0.0001" if value < 0.0001 else f"{value:.2g}"


def _within(row: Any) -> str:
    low, high = ("" if end is None else signed(end) for end in (row.change_low, row.change_high))
    return f"{low} … {high}"


def _maybe(value: float | None) -> str:
    return "" if value is None else whole(value)


def _noisy(row: Any) -> str:
    before, after = (
        "left out" if one is None else shown(one) for one in (row.earlier_count, row.later_count)
    )
    return f"{before} → {after}"


def change_line(changes: Any) -> str:
    first = [f"{row.item!r} {signed(row.change)}" for row in changes.rows[:_FEW]]
    more = len(changes.rows) - len(first)
    rest = f" … and {more:,} more" if more else ""
    what = f"<ChangeList of {len(changes.rows):,}, {changes.of}, FDR {changes.fdr:g}"
    return one_line(f"{what}: {', '.join(first)}{rest}>" if first else f"{what}>")


def change_table(changes: Any) -> str:
    numbers = ("rank", "change", "within", "earlier", "95% within", "later", "95% within ",
               "q", "noisy counts")  # fmt: skip
    heads = ("rank", "item", *changes.labelled, "direction", *numbers[1:])
    rows = (
        (
            row.rank,
            plainly(row.item),
            *(plainly(getattr(row, name) or "") for name in changes.labelled),
            row.direction,
            signed(row.change),
            _within(row),
            _maybe(row.earlier),
            interval_of(row.earlier_low, row.earlier_high),
            _maybe(row.later),
            interval_of(row.later_low, row.later_high),
            chance(row.q_value),
            _noisy(row),
        )
        for row in changes.rows
    )
    made = table(headline(changes), heads, rows, total=len(changes.rows), right=numbers)
    return made + "".join(map(paragraph, changes.notes))
