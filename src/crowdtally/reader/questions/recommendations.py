"""A list of recommendations, as text and as a notebook shows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

from crowdtally.core.display import one_line, paragraph, plainly, table
from crowdtally.reader.answers.answer import AnswerList, AnswerRow
from crowdtally.reader.questions.text import (
    chance_of,
    names_of,
    noisy_of,
    printed,
    top_table,
    whole,
)
from crowdtally.reader.questions.top_list import TopItem

_FEW = 3
_LONGEST = 40


def value_words(value: object) -> str:
    r"""A value of a list within a sentence: on one line, and cut if it is long.

    >>> value_words("Friday"), value_words("a\nb"), len(value_words("x" * 10**5))
    ('Friday', "'a\\nb'", 40)
    """
    text = plainly(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def list_line(rows: Sequence[Any], by: str, where: str, counted: str) -> str:
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


POPULAR, SPECIAL = "popular", "special"
"""How a list can be ranked."""


@dataclass(frozen=True)
class Recommendation(AnswerRow):
    """One line of a list of recommendations."""

    rank: int
    """1 for the best: the largest estimate, or the largest lift."""
    item: str | int
    """The item."""
    estimate: float
    """What its count there is believed to be, from all that the release says; with ``raw``, or
    where cells have no estimates of their own, what ``count`` alone stands for."""
    estimate_low: float | None
    """The lower end of the 95% interval of the estimate; None where counts enter by weights."""
    estimate_high: float | None
    """Its upper end."""
    covers: str
    """What that interval covers: the true counts, the bounded counts, or the noise only."""
    median: float | None
    """As likely too large as too small; None with ``raw``."""
    chance_in_top: float | None
    """How likely the item is one of the k best by what the list goes by, among those that were not
    left out; None where that cannot be told."""
    lift: float | None
    """How many times as large the item's share is there as overall; from pairs, how many times as
    often it is used together with the other item as their popularity alone explains. None in a list
    of what is popular."""
    lift_low: float | None
    """The lower end of the 95% interval of the lift."""
    lift_high: float | None
    """Its upper end."""
    chance_special: float | None
    """The probability that the lift is above 1."""
    count: float | None
    """Its noisy count there, as released: it can be negative. None where there is none."""
    noise_std: float | None
    """Standard deviation of the noise in ``count``."""
    low: float | None
    """``count`` less the half width of the noise interval; None where counts enter by weights."""
    high: float | None
    """``count`` plus the same."""
    standard_error: float
    """How far ``estimate`` typically is from what it is an estimate of."""
    floor: float | None
    """The noise floor of the list: where nobody is counted, the largest count of all items exceeds
    it with a probability of at most 5%."""
    above_floor: bool
    """Whether ``count`` is above it, or what else was measured shows that somebody is counted."""

    @classmethod
    def of(
        cls,
        line: TopItem,
        lift: tuple[float, float, float] | None = None,
        chances: tuple[float, float] | None = None,
        *,
        rank: int | None = None,
    ) -> Recommendation:
        """A line of a top list, with its lift (and interval) and its chances, if any.

        ``chances``: to be special, and to be among the first.
        """
        known = {one.name: getattr(line, one.name) for one in fields(line)}
        known |= dict(zip(_LIFT, lift or (None,) * 3, strict=True))
        known |= {"chance_special": None}
        if chances is not None:
            known |= {"chance_special": chances[0], "chance_in_top": chances[1]}
        return cls(**(known if rank is None else known | {"rank": rank}))


_LIFT = ("lift", "lift_low", "lift_high")


@dataclass(frozen=True)
class Recommendations(AnswerList[Recommendation]):
    """The answer to ``recommend``: a sequence of :class:`Recommendation`."""

    rows: tuple[Recommendation, ...]
    """The items, best first; fewer than asked for where fewer are known."""
    by: str
    """How the list is ranked: ``popular`` or ``special``."""
    where: str
    """Where it holds, in words: values of contexts, or beside which item; empty for overall."""
    counted: str
    """What a count counts: records, users, or pairs of them."""
    floor: float | None
    """The noise floor, the same for all items; None where there are no noisy counts."""
    floor_words: str
    """What the floor is, in a sentence."""
    what_counts: str
    """What is counted of one user, and what noise intervals do not cover, in a sentence."""
    estimate_words: str
    """What the estimates are estimates of, in a sentence or two."""
    k: int
    """How many were asked for, at most as many as there are: ``chance_in_top`` refers to it."""
    remarks: tuple[str, ...] = ()
    """What else must be said: how lifts are meant, or why nothing is special."""

    @classmethod
    def row_type(cls) -> type[Recommendation]:
        return Recommendation

    @property
    def notes(self) -> list[str]:
        shows_noise = any(row.count is not None for row in self.rows)
        floor_words = self.floor_words if shows_noise and self.by == POPULAR else ""
        what_counts = self.what_counts if shows_noise else ""
        estimate_words = self.estimate_words if self.rows else ""
        return [one for one in (*self.remarks, estimate_words, floor_words, what_counts) if one]

    def __repr__(self) -> str:
        return list_line(self.rows, self.by, self.where, self.counted)

    def _repr_html_(self) -> str:
        if self.by == SPECIAL:
            return special_table(self.rows, self.where, self.notes, self.labelled)
        return top_table(self.rows, self.counted, self.notes, self.labelled)

    def __str__(self) -> str:
        if self.by == SPECIAL:
            lines = special_lines(self.rows, self.k, self.labelled)
        else:
            lines = printed(self.rows, self.floor, self.k, self.labelled)
        return "\n".join([*lines, *self.notes])
