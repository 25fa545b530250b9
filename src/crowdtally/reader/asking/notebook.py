"""A top list as a notebook shows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crowdtally.reader.asking.answering import shown
from crowdtally.showing import table

_HEADS = ("rank", "item", "count", "noise interval")
_SAMPLED = ("stands for", "standard error")


def top_table(lines: Sequence[Any], counted: str) -> str:
    """The first lines (``TopItem``) of a list, and how many more there are."""
    sampled = any(line.estimate != line.count for line in lines)
    heads = _HEADS + (_SAMPLED if sampled else ())
    rows = (_cells(line)[: len(heads)] for line in lines)
    right = tuple(head for head in heads if head != "item")
    return table(
        f"Top list: noisy numbers of {counted}", heads, rows, total=len(lines), right=right
    )


def _cells(line: Any) -> tuple[object, ...]:
    interval = ""
    if line.low is not None and line.high is not None:
        interval = f"{shown(line.low)} … {shown(line.high)}"
    counts = shown(line.count), interval, shown(line.estimate), shown(line.standard_error)
    return (line.rank, line.item, *counts)
