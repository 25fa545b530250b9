"""A list of what is special, as text and as a notebook shows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from crowdtally.core.display import one_line, paragraph, plainly, table
from crowdtally.reader.asking.printing import chance_of, names_of, noisy_of, whole

_FEW = 3
_LONGEST = 40


def value_words(value: object) -> str:
    r"""A value of somebody's list within a sentence: on one line, and not longer than needed.

    >>> value_words("Friday"), value_words("a\nb"), len(value_words("x" * 10**5))
    ('Friday', "'a\\nb'", 40)
    """
    text = plainly(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def list_line(rows: Sequence[Any], by: str, where: str, counted: str) -> str:
    """The first of them, and how many more there are."""
    special = by == "special"
    first = [f"{row.item!r} {_times(row.lift) if special else whole(row.estimate)}" for row in rows]
    more = f" … and {len(rows) - _FEW:,} more" if len(rows) > _FEW else ""
    place = f" {where}" if where else ""
    told = f", {', '.join(first[:_FEW])}{more}" if rows else ""
    return one_line(f"<Recommendations of {len(rows):,}, {by}{place}, {counted}{told}>")


def special_lines(rows: Sequence[Any], k: int, labelled: Sequence[str] = ()) -> Iterator[str]:
    """The lines of a list of what is special: lifts first, then estimates and noisy counts."""
    if not rows:
        return
    noisy = any(row.count is not None for row in rows)
    head, *names = names_of(rows, labelled)
    heads = [f"{'rank':>4}", f"{'lift':>6}", f"{'95% within':>13}", f"{'special':>7}"]
    heads += [f"{f'in top {k}':>9}", f"{'estimate':>8}"] + [f"{'noisy count':>17}"] * noisy
    if rows[0].lift <= 1:
        yield "None of these items is believed to be more popular there than overall."
    yield "  ".join([*heads, head])
    for number, (row, name) in enumerate(zip(rows, names, strict=True)):
        if row.lift <= 1 and number and rows[number - 1].lift > 1:
            yield "---- items below are believed no more popular there than overall ----"
        cells = [f"{row.rank:>4}", f"{_times(row.lift):>6}", f"{_interval(row):>13}"]
        cells += [f"{chance_of(row.chance_special):>7}", f"{chance_of(row.chance_in_top):>9}"]
        cells += [f"{whole(row.estimate):>8}"] + [f"{noisy_of(row):>17}"] * noisy
        yield "  ".join([*cells, name])


def special_table(
    rows: Sequence[Any], where: str, notes: Iterable[str], labelled: Sequence[str] = ()
) -> str:
    """The first lines as a table, how many more there are, and notes below."""
    numbers = ("lift", "95% within", "special", "among the first", "estimate")
    cells = (
        (
            row.rank, plainly(row.item), *(plainly(getattr(row, one) or "") for one in labelled),
            _times(row.lift), _interval(row), chance_of(row.chance_special),
            chance_of(row.chance_in_top), whole(row.estimate),
        )
        for row in rows
    )  # fmt: skip
    heads = ("rank", "item", *labelled, *numbers)
    made = table(f"Special {where}", heads, cells, total=len(rows), right=("rank", *numbers))
    return made + "".join(map(paragraph, notes))


def _times(lift: float) -> str:
    """A lift to two or three digits.

    >>> _times(1.234), _times(12.34), _times(0.05)
    ('1.23', '12.3', '0.05')
    """
    return f"{lift:.2f}" if lift < 10 else f"{lift:.1f}"


def _interval(row: Any) -> str:
    return f"{_times(row.lift_low)} … {_times(row.lift_high)}"
