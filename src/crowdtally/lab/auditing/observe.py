"""Columns, events, what they are worth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

from crowdtally.core.layout import Layout, Listed
from crowdtally.curator.converse import Released
from crowdtally.curator.questions import Bound
from crowdtally.curator.request.method import CHOOSE, TOTAL
from crowdtally.format import NoisyTable

# What an attacker sees of many releases of one request: a matrix of named integers, a row a run.
#
# Everything here is computed from what is released, so it is post-processing: an event of the
# matrix is an event of the releases, and costs nothing.

ABSENT = -(1 << 62)
"""Stands for the value of a cell that was not published; below every value."""
LARGEST = 1 << 60
"""Values are held within ± this, so that sums and differences of two fit and none is ABSENT."""
_MOST_CELLS = 256
_THOUSANDTHS = 1000

Matrix = NDArray[np.int64]
"""A row for each run, a column for each name."""


@dataclass(frozen=True)
class Column:
    """One number that every release of the request has."""

    name: str
    """In words: ``items[a]``, ``bound of items``."""
    part: str
    """The table that it is of, or ``choose`` or ``total``."""
    kind: str
    """``cell``, ``published``, ``descents``, ``threshold``, ``bound``, ``numerator``,
    ``denominator`` or ``other``."""
    key: Any = None
    """For a cell its number, or its label where the release itself found the labels."""


@dataclass(frozen=True)
class Columns:
    """The columns of a request, in order; fixed on training runs, the same for all others."""

    columns: tuple[Column, ...]

    @classmethod
    def seen_in(cls, *batches: Sequence[Released], most_cells: int = _MOST_CELLS) -> Columns:
        """All columns that these runs show.

        Args:
            batches: training runs, of both databases.
            most_cells: of a table with more cells, only those published most often are columns.
        """
        runs = [run for batch in batches for run in batch]
        columns: list[Column] = []
        for name in dict.fromkeys(table.name for run in runs for table in run.tables):
            tables = [table for run in runs for table in run.tables if table.name == name]
            columns.extend(_table_columns(name, tables, most_cells))
        columns.extend(_bound_columns(runs))
        if other_of(runs[0]) is not None:
            columns.append(Column("the mass of the others", TOTAL, "other"))
        return cls(tuple(columns))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts that have a column, each once."""
        return tuple(dict.fromkeys(column.part for column in self.columns))

    @property
    def choices(self) -> tuple[int, ...]:
        """The numbers of the columns that tell what was chosen privately."""
        return tuple(at for at, column in enumerate(self.columns) if column.part == CHOOSE)

    def of_part(self, *parts: str) -> Columns:
        """Only what these parts released.

        A part alone keeps its own share of ε if nothing that was released before it decides what it
        counts; else run it with the earlier releases held fixed, the same for both databases.
        """
        return Columns(tuple(column for column in self.columns if column.part in parts))

    def matrix(self, runs: Sequence[Released]) -> Matrix:
        """The runs as rows; a cell that a run did not publish is :data:`ABSENT`."""
        found = np.full((len(runs), len(self.columns)), ABSENT, dtype=np.int64)
        for name, places in self._cells_by_table().items():
            tables = [_table(run, name) for run in runs]
            there = [row for row, table in enumerate(tables) if table is not None]
            rows = found[there]
            shown = [table for table in tables if table is not None]
            _fill(rows, shown, {self.columns[place].key: place for place in places})
            found[there] = rows
        for place, column in enumerate(self.columns):
            if column.kind != "cell":
                read = _READERS[column.kind]
                found[:, place] = [_held(read(run, column.part, column.key)) for run in runs]
        return found

    def _cells_by_table(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for place, column in enumerate(self.columns):
            if column.kind == "cell":
                found.setdefault(column.part, []).append(place)
        return found


def bounds_of(run: Released) -> Mapping[str, Bound]:
    """The bounds of tables; none where a method has none."""
    found: Mapping[str, Bound] = getattr(run.facts, "bounds", {})
    return found


def other_of(run: Released) -> Mapping[str, Any] | None:
    """The mass of other cells, of a discovery."""
    return getattr(run.facts, "other", None)


def _table(run: Released, name: str) -> NoisyTable | None:
    """None in a run that has no such table: which tables there are may depend on noise."""
    return next((table for table in run.tables if table.name == name), None)


def _table_columns(name: str, tables: Sequence[NoisyTable], most: int) -> Iterator[Column]:
    layout = tables[0].layout
    seen = Counter(key for table in tables for key in _keys(table))
    if not isinstance(layout, Listed) and layout.size <= most:
        seen.update(range(layout.size))
    # Ties are broken by the keys themselves, so that the same runs always have the same columns.
    ranked = sorted(seen, key=lambda key: (-seen[key], str(key)))[:most]
    for key in sorted(ranked, key=str if isinstance(layout, Listed) else int):
        yield Column(f"{name}[{_label(layout, key)}]", name, "cell", key)
    yield from _whole_columns(name, tables)


def _whole_columns(name: str, tables: Sequence[NoisyTable]) -> Iterator[Column]:
    """What is seen of a table as a whole."""
    if any(_leaves_out(table) for table in tables):
        yield Column(f"published cells of {name}", name, "published")
    if any(_descents(table) for table in tables):
        yield Column(f"cells out of their order in {name}", name, "descents")
    if any(table.facts.get("estimating_threshold") is not None for table in tables):
        yield Column(f"thousandths of the threshold of {name}", name, "threshold")


def _bound_columns(runs: Sequence[Released]) -> Iterator[Column]:
    """The bounds: one that these runs all share may still be another one in a later run."""
    for name in dict.fromkeys(name for run in runs for name in bounds_of(run)):
        yield Column(f"bound of {name}", CHOOSE, "bound", name)
        if any(bounds_of(run)[name].scaling != 1 for run in runs if name in bounds_of(run)):
            yield Column(f"numerator of the scaling of {name}", CHOOSE, "numerator", name)
            yield Column(f"denominator of the scaling of {name}", CHOOSE, "denominator", name)


def _leaves_out(table: NoisyTable) -> bool:
    return table.cells is not None or isinstance(table.layout, Listed)


def _keys(table: NoisyTable) -> Iterable[Any]:
    if isinstance(table.layout, Listed):
        columns = [values.tolist() for values in table.layout.values.values()]
        return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
    return () if table.cells is None else [int(cell) for cell in table.cells]


def _descents(table: NoisyTable) -> int:
    """How often a published cell comes after a later one; 0 unless the order itself tells."""
    if table.cells is not None:
        return int(np.count_nonzero(table.cells[1:] < table.cells[:-1]))
    return sum(after < before for before, after in pairwise(_keys(table)))


def _label(layout: Layout, key: Any) -> str:
    if isinstance(layout, Listed):
        return str(key)
    kind = np.int64 if layout.size <= 1 << 63 else object
    named = layout.columns(np.array([key], dtype=kind))
    return ", ".join(str(values[0]) for values in named.values())


def _fill(found: Matrix, tables: Sequence[NoisyTable], places: Mapping[Any, int]) -> None:
    """Write the cells' values into their columns."""
    in_words = all(table.values.dtype == np.int64 for table in tables)
    if in_words and not any(_leaves_out(table) for table in tables):
        keys = np.fromiter(places, dtype=np.int64, count=len(places))
        columns = np.fromiter(places.values(), dtype=np.int64, count=len(places))
        values = np.stack([table.values[keys] for table in tables])
        found[:, columns] = np.clip(values, -LARGEST, LARGEST)
        return
    for row, table in enumerate(tables):
        keys_of = _keys(table) if _leaves_out(table) else range(len(table.values))
        for key, value in zip(keys_of, table.values.tolist(), strict=True):
            if key in places:
                found[row, places[key]] = _held(value)


def _held(value: int) -> int:
    return value if value == ABSENT else min(max(int(value), -LARGEST), LARGEST)


def _of_table(read: Callable[[NoisyTable], int]) -> Callable[[Released, str, Any], int]:
    def found(run: Released, part: str, _: Any) -> int:
        table = _table(run, part)
        return ABSENT if table is None else read(table)

    return found


def _of_bound(read: Callable[[Bound], int]) -> Callable[[Released, str, Any], int]:
    def found(run: Released, _: str, name: Any) -> int:
        bounds = bounds_of(run)
        return read(bounds[name]) if name in bounds else ABSENT

    return found


def _threshold(table: NoisyTable) -> int:
    shown = table.facts.get("estimating_threshold")
    return ABSENT if shown is None else int(Fraction(shown) * _THOUSANDTHS)


_READERS: dict[str, Callable[[Released, str, Any], int]] = {
    "published": _of_table(lambda table: len(table.values)),
    "descents": _of_table(_descents),
    "threshold": _of_table(_threshold),
    "bound": _of_bound(lambda bound: bound.limit),
    "numerator": _of_bound(lambda bound: bound.scaling.numerator),
    "denominator": _of_bound(lambda bound: bound.scaling.denominator),
    "other": lambda run, _, __: int((other_of(run) or {"count": ABSENT})["count"]),
}

# Events of a release: what an attacker looks for, in numbers and in words.

Comparison = Literal["at least", "at most", "exactly"]


class Statistic(Protocol):
    """One number for each run."""

    def of(self, matrix: Matrix) -> NDArray[np.int64]:
        """Its value in each run; ABSENT where it has none."""

    def words(self, names: tuple[str, ...]) -> str:
        """What it is, given what the columns are called."""


@dataclass(frozen=True)
class Single:
    """A column itself."""

    column: int

    def of(self, matrix: Matrix) -> NDArray[np.int64]:
        return matrix[:, self.column]

    def words(self, names: tuple[str, ...]) -> str:
        return names[self.column]


@dataclass(frozen=True)
class Combined:
    """The sum or the difference of two columns; it has no value where either has none."""

    first: int
    second: int
    sign: Literal[1, -1]
    """1 for the sum, −1 for the difference."""

    def of(self, matrix: Matrix) -> NDArray[np.int64]:
        """First ± second."""
        first, second = matrix[:, self.first], matrix[:, self.second]
        both = (first != ABSENT) & (second != ABSENT)
        return np.where(both, first + self.sign * np.where(both, second, 0), ABSENT)

    def words(self, names: tuple[str, ...]) -> str:
        """The names with a sign between."""
        return f"{names[self.first]} {'+' if self.sign > 0 else '−'} {names[self.second]}"


@dataclass(frozen=True)
class Condition:
    """A statistic compared with a number."""

    statistic: Statistic
    comparison: Comparison
    """How. A missing value is below every number."""
    value: int
    may_be_absent: bool = False
    """Whether it was ever missing in training; only the words depend on it."""

    def holds(self, matrix: Matrix) -> NDArray[np.bool_]:
        values = self.statistic.of(matrix)
        if self.comparison == "at least":
            return values >= self.value
        return values <= self.value if self.comparison == "at most" else values == self.value

    def words(self, names: tuple[str, ...]) -> str:
        subject = self.statistic.words(names)
        if self.value == ABSENT:
            return f"{subject} is {'seen or not' if self.comparison == 'at least' else 'absent'}"
        absent = "absent or " if self.may_be_absent and self.comparison == "at most" else ""
        return f"{subject} is {absent}{self.comparison} {self.value}"


@dataclass(frozen=True)
class Event:
    """All of its conditions hold."""

    conditions: tuple[Condition, ...]
    """The conditions; without any it always happens."""

    @property
    def is_plain(self) -> bool:
        """Whether it is about single columns: of two events as good, a reader likes this one."""
        return all(isinstance(condition.statistic, Single) for condition in self.conditions)

    def holds(self, matrix: Matrix) -> NDArray[np.bool_]:
        held = np.ones(len(matrix), dtype=np.bool_)
        for condition in self.conditions:
            held &= condition.holds(matrix)
        return held

    def words(self, names: tuple[str, ...]) -> str:
        return " and ".join(condition.words(names) for condition in self.conditions) or "anything"


# What an event that was seen so often in training is worth on held-out runs, about.
#
# Only the search uses it; nothing that is certified rests on it. So it may be quick: Byar's
# bounds instead of exact ones, for whole arrays of events at once.

Counted = NDArray[np.int64]
"""How often each of many events was seen."""
Aim = Literal["epsilon", "delta"]
"""What is to be as large as possible: ε at the claimed δ, or δ at the claimed ε."""
_LUCK = 0.3
"""How much of the uncertainty of training is added to that of held-out runs."""


@dataclass(frozen=True)
class Stakes:
    """What will be certified, and on how many runs."""

    held_out: tuple[int, int]
    """Held-out runs with the user, and without."""
    alpha: float
    """The error probability of the one event that will be certified."""
    delta: float
    claim: float
    """The claimed ε."""
    aim: Aim = "epsilon"
    """Which of the two is certified."""

    @property
    def worth(self) -> float:
        """What one more condition must add to be worth its words."""
        return (self.claim if self.aim == "epsilon" else self.delta) / 100

    def promises(
        self, seen: tuple[Counted, Counted], runs: tuple[int, int]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The bound that can be hoped for, if the event speaks for the user, and if against her.

        Args:
            seen: how often the events were seen in training, with the user and without.
            runs: how many training runs there were of either.
        """
        for_her = self._bound(0, seen[0], runs[0], 1, seen[1], runs[1])
        return for_her, self._bound(1, seen[1], runs[1], 0, seen[0], runs[0])

    def _bound(
        self, side: int, seen: Counted, runs: int, other: int, seen_other: Counted, runs_other: int
    ) -> NDArray[np.float64]:
        z = float(-special.ndtri(self.alpha / 2))
        low = _byar(seen / runs, _joint(self.held_out[side], runs), -z)
        high = _byar(seen_other / runs_other, _joint(self.held_out[other], runs_other), z)
        if self.aim == "delta":
            return np.asarray(low - np.exp(self.claim) * high)
        return np.asarray(np.log(np.maximum(low - self.delta, 1e-300) / high))


def _joint(held_out: int, runs: int) -> float:
    """A little less certain than held-out runs: what few training runs show may be luck."""
    return 1 / (1 / held_out + _LUCK / runs)


def _byar(share: NDArray[np.float64], runs: float, z: float) -> NDArray[np.float64]:
    """Byar's bound for a Poisson count, also a good one for none at all; narrower by √(1−share)."""
    count = np.maximum(share * runs + (z > 0), 1e-9)
    reach = z * np.sqrt(1 - share) / (3 * np.sqrt(count))
    root = np.maximum(1 - 1 / (9 * count) + reach, 0)
    return np.asarray(np.minimum(count * root**3 / runs, 1.0))
