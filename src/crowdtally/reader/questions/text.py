"""Answers as text and for notebooks: estimates first, then what was released."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from crowdtally.core.display import one_line, paragraph, plainly, table
from crowdtally.reader.estimates.estimator import NOISE
from crowdtally.reader.questions.noisy_sums import shown

_SMALL = 10
"""Estimates below are shown to a tenth."""
_WIDEST = 40
"""Letters of an item, a label or a category that are shown side by side."""


def printed(
    rows: Sequence[Any], floor: float | None, k: int | None = None, labelled: Sequence[str] = ()
) -> Iterator[str]:
    """The lines of a list: items above the noise floor first, each with its rank."""
    k = len(rows) if k is None else k
    above = [row for row in rows if row.above_floor]
    below = [row for row in rows if not row.above_floor]
    if not above:
        yield from _all_noise(below, floor)
    columns, (head, *names) = _columns_of(rows), names_of(rows, labelled)
    yield f"{columns(None, k)}  {head}"
    named = {id(row): name for row, name in zip(rows, names, strict=True)}
    yield from (f"{columns(row, k)}  {named[id(row)]}" for row in above)
    if above and below:
        yield _line_above_noise(floor)
    yield from (f"{columns(row, k)}  {named[id(row)]}" for row in below)


def names_of(rows: Sequence[Any], labelled: Sequence[str]) -> list[str]:
    """The heading, and then for each row its item and what a catalogue calls it, side by side."""
    if not labelled:
        return ["item", *(plainly(row.item) for row in rows)]
    columns = [["item", *(_clipped(row.item) for row in rows)]]
    columns += [[name, *(_clipped(getattr(row, name)) for row in rows)] for name in labelled]
    padded = [[f"{cell:<{max(map(len, column))}}" for cell in column] for column in columns]
    return ["  ".join(cells).rstrip() for cells in zip(*padded, strict=True)]


def _clipped(value: object) -> str:
    """A value as text that leaves room for others on its line."""
    text = "" if value is None else plainly(value)
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


def _columns_of(rows: Sequence[Any]) -> Callable[[Any, int], str]:
    if _are_believed(rows):
        noisy = any(row.count is not None for row in rows)
        return partial(_believed, chances=_have_chances(rows), noisy=noisy)
    return _sampled if any(row.estimate != row.count for row in rows) else _released


def sum_lines(answer: Any) -> Iterator[str]:
    counted, believed = answer.counted, answer.covers != NOISE
    if believed:
        yield (
            f"{whole(answer.estimate)} {counted}, estimated; 95% interval of {answer.covers} "
            f"{believed_interval(answer)}"
        )
    if answer.assumes:
        yield answer.estimate_words
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
    return "" if low is None or high is None else f"{shown(low)} … {shown(high)}"


def noisy_of(row: Any) -> str:
    """A noisy count with the half width of its noise interval."""
    if row.count is None:
        return ""
    return shown(row.count) + ("" if row.high is None else f" ± {shown(row.high - row.count)}")


def chance_of(chance: float | None) -> str:
    """In per cent, and never certain; empty where it is not known.

    >>> chance_of(1.0), chance_of(0.996), chance_of(0.42), chance_of(0.004)
    ('>99%', '>99%', '42%', '<1%')
    """
    if chance is None:
        return ""
    return ">99%" if chance > 0.99 else "<1%" if chance < 0.01 else f"{chance:.0%}"


def whole(value: float) -> str:
    """An estimate for people: to a tenth only where it is small.

    >>> whole(4231.6), whole(10.4), whole(3.62), whole(0.0)
    ('4232', '10', '3.6', '0')
    """
    return shown(round(value) if abs(value) >= _SMALL else value)


def believed_interval(row: Any) -> str:
    if row.estimate_low is None or row.estimate_high is None:
        return ""
    return f"{whole(row.estimate_low)} … {whole(row.estimate_high)}"


def _believed(row: Any, k: int, *, chances: bool, noisy: bool) -> str:
    """With the chances and the noisy counts, where there are any."""
    if row is None:
        cells = [f"{'rank':>4}", f"{'estimate':>10}", f"{'95% within':>17}"]
        chance, count = f"in top {k}", "noisy count"
    else:
        cells = [f"{row.rank:>4}", f"{whole(row.estimate):>10}", f"{believed_interval(row):>17}"]
        chance, count = chance_of(row.chance_in_top), noisy_of(row)
    cells += [f"{chance:>9}"] * chances + [f"{count:>17}"] * noisy
    return "  ".join(cells)


def _released(row: Any, k: int) -> str:
    if row is None:
        return f"{'rank':>4}  {'count':>10}  {'noise interval':>21}"
    return f"{row.rank:>4}  {shown(row.count):>10}  {interval_of(row.low, row.high):>21}"


def _sampled(row: Any, k: int) -> str:
    if row is None:
        heads = f"{'rank':>4}  {'count':>10}  {'noise interval':>21}"
        return f"{heads}  {'stands for':>14}  {'standard error':>14}"
    interval = interval_of(row.low, row.high)
    more = f"{shown(row.estimate):>14}  {shown(row.standard_error):>14}"
    return f"{row.rank:>4}  {shown(row.count):>10}  {interval:>21}  {more}"


# A top list as a prompt and a notebook show it.

_TOLD = "beside noise"
_FEW = 3


def top_line(lines: Sequence[Any], counted: str) -> str:
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
    "chance in top": lambda line: chance_of(line.chance_in_top),
    "count": lambda line: "" if line.count is None else shown(line.count),
    "noise interval": lambda line: interval_of(line.low, line.high),
    "stands for": lambda line: shown(line.estimate),
    "standard error": lambda line: shown(line.standard_error),
}
