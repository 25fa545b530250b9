"""Changes as text: for a terminal, a prompt and a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from crowdtally.core.display import one_line, paragraph, plainly, table
from crowdtally.reader.asking.answering import shown
from crowdtally.reader.asking.printing import interval_of, names_of, whole

_FEW = 3


def headline(changes: Any) -> str:
    """How many items changed, out of how many."""
    what = "shares" if changes.of == "shares" else f"numbers of {changes.counted}"
    if not changes.discovered:
        return (
            f"No item rose or fell: of {changes.tested:,} items, none has {what} that differ by "
            "more than noise and sampling explain. That is no proof that nothing changed."
        )
    rose = sum(row.direction == "rose" for row in changes.rows)
    fell = len(changes.rows) - rose
    first = ""
    if changes.discovered > len(changes.rows):
        first = f"; of the {len(changes.rows):,} surest"
    return (
        f"Of {changes.tested:,} items, {changes.discovered:,} changed in their {what}{first}: "
        f"{rose:,} rose, {fell:,} fell."
    )


def printed(changes: Any) -> Iterator[str]:
    """The lines of a list, and its notes."""
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
    """The first of them, and how many more there are."""
    first = [f"{row.item!r} {signed(row.change)}" for row in changes.rows[:_FEW]]
    more = len(changes.rows) - len(first)
    rest = f" … and {more:,} more" if more else ""
    what = f"<ChangeList of {len(changes.rows):,}, {changes.of}, FDR {changes.fdr:g}"
    return one_line(f"{what}: {', '.join(first)}{rest}>" if first else f"{what}>")


def change_table(changes: Any) -> str:
    """The first lines of a list, how many more there are, and notes below."""
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
