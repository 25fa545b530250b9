"""A top list as text: what is noise, the line above it, what is counted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from crowdtally.reader.asking.answering import shown

if TYPE_CHECKING:
    from crowdtally.reader.asking.top import TopItem, TopList


def printed(found: TopList) -> Iterator[str]:
    """The lines of a list: items above the noise floor first, each with its rank."""
    floor = shown(found.floor)
    above = [row for row in found.rows if row.above_floor]
    below = [row for row in found.rows if not row.above_floor]
    if below and not above:
        yield (
            f"None of these items is told apart from noise: no count is above the noise floor, "
            f"{floor}."
        )
    sampled = any(row.estimate != row.count for row in found.rows)
    more = f"  {'stands for':>14}  {'standard error':>14}" if sampled else ""
    yield f"{'rank':>4}  {'count':>10}  {'noise interval':>21}{more}  item"
    for row in above:
        yield _line(row, sampled)
    if above and below:
        yield f"---- {floor}: the noise floor; items below are not told apart from noise ----"
    for row in below:
        yield _line(row, sampled)
    yield found.floor_words
    yield found.what_counts


def _line(row: TopItem, sampled: bool) -> str:
    interval = more = ""
    if row.low is not None and row.high is not None:
        interval = f"{shown(row.low)} … {shown(row.high)}"
    if sampled:
        more = f"  {shown(row.estimate):>14}  {shown(row.standard_error):>14}"
    return f"{row.rank:>4}  {shown(row.count):>10}  {interval:>21}{more}  {row.item}"
