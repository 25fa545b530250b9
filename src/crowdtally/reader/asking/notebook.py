"""A top list as a prompt and a notebook show it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from crowdtally.reader.asking.answering import shown
from crowdtally.showing import one_line, paragraph, plainly, table

_HEADS = ("rank", "item", "count", "noise interval")
_SAMPLED = ("stands for", "standard error")
_TOLD = "beside noise"
_FEW = 3


def top_line(lines: Sequence[Any], counted: str) -> str:
    """The first of them with their counts, and how many more there are."""
    first = [f"{line.item!r} {shown(line.count)}" for line in lines[:_FEW]]
    more = f" … and {len(lines) - len(first):,} more" if len(lines) > len(first) else ""
    return one_line(f"<TopList of {len(lines):,}, {counted}: {', '.join(first)}{more}>")


def top_table(lines: Sequence[Any], counted: str, notes: Iterable[str]) -> str:
    """The first lines (``TopItem``) of a list, how many more there are, and notes below."""
    sampled = any(line.estimate != line.count for line in lines)
    heads = _HEADS + (_SAMPLED if sampled else ()) + (_TOLD,)
    rows = ((*_cells(line, sampled), _told(line)) for line in lines)
    right = tuple(head for head in heads if head not in ("item", _TOLD))
    caption = f"Top list: noisy numbers of {counted}"
    made = table(caption, heads, rows, total=len(lines), right=right)
    return made + "".join(map(paragraph, notes))


def _told(line: Any) -> str:
    return "above the noise floor" if line.above_floor else "not told apart from noise"


def _cells(line: Any, sampled: bool) -> tuple[object, ...]:
    interval = ""
    if line.low is not None and line.high is not None:
        interval = f"{shown(line.low)} … {shown(line.high)}"
    cells = (line.rank, plainly(line.item), shown(line.count), interval)
    return (*cells, shown(line.estimate), shown(line.standard_error)) if sampled else cells
