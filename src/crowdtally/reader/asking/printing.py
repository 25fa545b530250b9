"""Answers as text: what is believed first, then what was released, and what is noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from crowdtally.reader.asking.answering import shown
from crowdtally.reader.estimating.covering import NOISE
from crowdtally.showing import plainly


def printed(rows: Sequence[Any], floor: float | None) -> Iterator[str]:
    """The lines of a list: items above the noise floor first, each with its rank.

    Args:
        rows: the list's :class:`TopItem` objects.
        floor: its noise floor; None where there are no noisy counts.
    """
    above = [row for row in rows if row.above_floor]
    below = [row for row in rows if not row.above_floor]
    if not above:
        yield from _all_noise(below, floor)
    columns = _believed if any(row.median is not None for row in rows) else _released
    if columns is _released and any(row.estimate != row.count for row in rows):
        columns = _sampled
    yield columns(None, len(rows))
    yield from (columns(row, len(rows)) for row in above)
    if above and below:
        yield _line_above_noise(floor)
    yield from (columns(row, len(rows)) for row in below)


def sum_lines(answer: Any) -> Iterator[str]:
    """The lines of a :class:`Sum`."""
    counted, believed = answer.counted, answer.covers != NOISE
    if believed:
        yield (
            f"{shown(answer.estimate)} {counted}, 95% of {answer.covers} within "
            f"{shown(answer.estimate_low)} … {shown(answer.estimate_high)}"
        )
    if answer.value is not None:
        noisy = "noisy sum " if believed else ""
        yield (
            f"{noisy}{shown(answer.value)} {counted}, standard error {shown(answer.standard_error)}"
        )
    if answer.low is not None and answer.high is not None:
        yield f"95% of the noise within {shown(answer.low)} … {shown(answer.high)}"
    cells = "1 cell" if answer.cells == 1 else f"{answer.cells} cells"
    if answer.value is None:
        yield f"over {cells}, estimated from the table {answer.table!r} and its contexts"
    else:
        yield f"over {cells} of the table {answer.table!r}"
        noisy = "the noisy sum is " if believed else ""
        yield f"{noisy}unbiased for {answer.unbiased_for}"
    yield answer.what_counts


def _line_above_noise(floor: float | None) -> str:
    number = "" if floor is None else f"{shown(floor)}: "
    return f"---- {number}the noise floor; items below are not told apart from noise ----"


def _all_noise(rows: Sequence[Any], floor: float | None) -> Iterator[str]:
    """What a list says first that has no item above the floor, if it has any item at all."""
    if not rows:
        return
    why = "" if floor is None else f": no count is above the noise floor, {shown(floor)}"
    yield f"None of these items is told apart from noise{why}."


def interval_of(low: float | None, high: float | None) -> str:
    """From one end to the other."""
    return "" if low is None or high is None else f"{shown(low)} … {shown(high)}"


def noisy_of(row: Any) -> str:
    """A noisy count with the half width of its noise interval."""
    if row.count is None:
        return ""
    return shown(row.count) + ("" if row.high is None else f" ± {shown(row.high - row.count)}")


def chance_of(chance: float) -> str:
    """In per cent; certain only where nothing else is left.

    >>> chance_of(1.0), chance_of(0.9996), chance_of(0.42), chance_of(0.0004), chance_of(0.0)
    ('100%', '>99%', '42%', '<1%', '0%')
    """
    if 0.99 < chance < 1:
        return ">99%"
    return "<1%" if 0 < chance < 0.01 else f"{chance:.0%}"


def _believed(row: Any, k: int) -> str:
    if row is None:
        heads = f"{'rank':>4}  {'estimate':>10}  {'95% within':>19}"
        return f"{heads}  {f'in top {k}':>9}  {'noisy count':>15}  item"
    interval = interval_of(row.estimate_low, row.estimate_high)
    chance = "" if row.chance_in_top is None else chance_of(row.chance_in_top)
    return (
        f"{row.rank:>4}  {shown(row.estimate):>10}  {interval:>19}  {chance:>9}  "
        f"{noisy_of(row):>15}  {plainly(row.item)}"
    )


def _released(row: Any, k: int) -> str:
    if row is None:
        return f"{'rank':>4}  {'count':>10}  {'noise interval':>21}  item"
    interval = interval_of(row.low, row.high)
    return f"{row.rank:>4}  {shown(row.count):>10}  {interval:>21}  {plainly(row.item)}"


def _sampled(row: Any, k: int) -> str:
    if row is None:
        heads = f"{'rank':>4}  {'count':>10}  {'noise interval':>21}"
        return f"{heads}  {'stands for':>14}  {'standard error':>14}  item"
    interval = interval_of(row.low, row.high)
    more = f"{shown(row.estimate):>14}  {shown(row.standard_error):>14}"
    return f"{row.rank:>4}  {shown(row.count):>10}  {interval:>21}  {more}  {plainly(row.item)}"
