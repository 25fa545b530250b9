"""A top list as a prompt and a notebook show it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from crowdtally.core.display import one_line, paragraph, plainly, table
from crowdtally.reader.asking.answering import shown
from crowdtally.reader.asking.printing import believed_interval, chance_of, interval_of, whole

_TOLD = "beside noise"
_FEW = 3


def top_line(lines: Sequence[Any], counted: str) -> str:
    """The first of them with their estimates, and how many more there are."""
    first = [f"{line.item!r} {whole(line.estimate)}" for line in lines[:_FEW]]
    more = f" … and {len(lines) - len(first):,} more" if len(lines) > len(first) else ""
    return one_line(f"<TopList of {len(lines):,}, {counted}: {', '.join(first)}{more}>")


def top_table(
    lines: Sequence[Any], counted: str, notes: Iterable[str], labelled: Sequence[str] = ()
) -> str:
    """The first lines (``TopItem``) of a list, how many more there are, and notes below."""
    names = [name for name, have in _COLUMNS.items() if have(lines)]
    heads = ("rank", "item", *labelled, *names, _TOLD)
    rows = (
        (
            line.rank,
            plainly(line.item),
            *(plainly(getattr(line, name) or "") for name in labelled),
            *(_CELLS[name](line) for name in names),
            _told(line),
        )
        for line in lines
    )
    right = tuple(head for head in heads if head not in ("item", *labelled, _TOLD))
    believed = "estimate" in names
    caption = f"Top list: {'estimated' if believed else 'noisy'} numbers of {counted}"
    made = table(caption, heads, rows, total=len(lines), right=right)
    return made + "".join(map(paragraph, notes))


def _told(line: Any) -> str:
    if line.floor is None:  # there is no noisy count that could be above it
        return "told apart" if line.above_floor else "not told apart from noise"
    return "above the noise floor" if line.above_floor else "not told apart from noise"


def _are_believed(lines: Sequence[Any]) -> bool:
    return any(line.median is not None for line in lines)


def _have_chances(lines: Sequence[Any]) -> bool:
    return any(line.chance_in_top is not None for line in lines)


def _are_noisy(lines: Sequence[Any]) -> bool:
    return not lines or any(line.count is not None for line in lines)


def _are_sampled(lines: Sequence[Any]) -> bool:
    return not _are_believed(lines) and any(line.estimate != line.count for line in lines)


_COLUMNS: Mapping[str, Callable[[Sequence[Any]], bool]] = {
    "estimate": _are_believed,
    "95% within": _are_believed,
    "chance in top": _have_chances,
    "count": _are_noisy,
    "noise interval": _are_noisy,
    "stands for": _are_sampled,
    "standard error": _are_sampled,
}
"""The columns in their order, and which lists have them."""
_CELLS: Mapping[str, Callable[[Any], str]] = {
    "estimate": lambda line: whole(line.estimate),
    "95% within": believed_interval,
    "chance in top": lambda line: (
        "" if line.chance_in_top is None else chance_of(line.chance_in_top)
    ),
    "count": lambda line: "" if line.count is None else shown(line.count),
    "noise interval": lambda line: interval_of(line.low, line.high),
    "stands for": lambda line: shown(line.estimate),
    "standard error": lambda line: shown(line.standard_error),
}
