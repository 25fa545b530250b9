"""A top list as a prompt and a notebook show it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from crowdtally.reader.asking.answering import shown
from crowdtally.reader.asking.printing import believed_interval, chance_of, interval_of, whole
from crowdtally.showing import one_line, paragraph, plainly, table

_BELIEVED = ("estimate", "95% within", "chance in top")
_NOISY = ("count", "noise interval")
_SAMPLED = ("stands for", "standard error")
_TOLD = "beside noise"
_FEW = 3


def top_line(lines: Sequence[Any], counted: str) -> str:
    """The first of them with their estimates, and how many more there are."""
    first = [f"{line.item!r} {whole(line.estimate)}" for line in lines[:_FEW]]
    more = f" … and {len(lines) - len(first):,} more" if len(lines) > len(first) else ""
    return one_line(f"<TopList of {len(lines):,}, {counted}: {', '.join(first)}{more}>")


def top_table(lines: Sequence[Any], counted: str, notes: Iterable[str]) -> str:
    """The first lines (``TopItem``) of a list, how many more there are, and notes below."""
    believed = any(line.median is not None for line in lines)
    sampled = not believed and any(line.estimate != line.count for line in lines)
    heads = (
        "rank", "item", *(_BELIEVED if believed else ()), *_NOISY,
        *(_SAMPLED if sampled else ()), _TOLD,
    )  # fmt: skip
    rows = ((*_cells(line, believed, sampled), _told(line)) for line in lines)
    right = tuple(head for head in heads if head not in ("item", _TOLD))
    caption = f"Top list: {'estimated' if believed else 'noisy'} numbers of {counted}"
    made = table(caption, heads, rows, total=len(lines), right=right)
    return made + "".join(map(paragraph, notes))


def _told(line: Any) -> str:
    return "above the noise floor" if line.above_floor else "not told apart from noise"


def _cells(line: Any, believed: bool, sampled: bool) -> tuple[object, ...]:
    cells: list[object] = [line.rank, plainly(line.item)]
    if believed:
        chance = "" if line.chance_in_top is None else chance_of(line.chance_in_top)
        cells += [whole(line.estimate), believed_interval(line), chance]
    cells += ["" if line.count is None else shown(line.count), interval_of(line.low, line.high)]
    if sampled:
        cells += [shown(line.estimate), shown(line.standard_error)]
    return tuple(cells)
