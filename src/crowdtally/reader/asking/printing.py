"""A top list as text: what is noise, and the line above it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from crowdtally.reader.asking.answering import shown
from crowdtally.showing import plainly


def printed(rows: Sequence[Any], floor: float) -> Iterator[str]:
    """The lines of a list: items above the noise floor first, each with its rank.

    Args:
        rows: the list's :class:`TopItem` objects.
        floor: its noise floor.
    """
    above = [row for row in rows if row.above_floor]
    below = [row for row in rows if not row.above_floor]
    line = f"---- {shown(floor)}: the noise floor; items below are not told apart from noise ----"
    if not above:
        yield from _all_noise(below, floor)
    sampled = any(row.estimate != row.count for row in rows)
    more = f"  {'stands for':>14}  {'standard error':>14}" if sampled else ""
    yield f"{'rank':>4}  {'count':>10}  {'noise interval':>21}{more}  item"
    yield from (_line(row, sampled) for row in above)
    yield from [line] if above and below else []
    yield from (_line(row, sampled) for row in below)


def _all_noise(rows: Sequence[Any], floor: float) -> Iterator[str]:
    """What a list says first that has no item above the floor, if it has any item at all."""
    if rows:
        yield (
            "None of these items is told apart from noise: no count is above the noise floor, "
            f"{shown(floor)}."
        )


def _line(row: Any, sampled: bool) -> str:
    interval = more = ""
    if row.low is not None:
        interval = f"{shown(row.low)} … {shown(row.high)}"
    if sampled:
        more = f"  {shown(row.estimate):>14}  {shown(row.standard_error):>14}"
    return f"{row.rank:>4}  {shown(row.count):>10}  {interval:>21}{more}  {plainly(row.item)}"
