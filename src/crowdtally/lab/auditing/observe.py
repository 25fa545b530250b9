"""What an attacker sees of many releases of one request: a matrix of named integers, a row a run.

Everything here is computed from what is released, so it is post-processing: an event of the matrix
is an event of the releases, and costs nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

from crowdtally.core.layout import Layout, Listed
from crowdtally.curator.converse import Released
from crowdtally.curator.questions import Bound
from crowdtally.curator.request.method import CHOOSE, TOTAL
from crowdtally.format import NoisyTable

ABSENT = -(1 << 62)
"""The value of a cell that was not published; below every other value."""
LARGEST = 1 << 60
"""Values are clipped to ± this, so that sums and differences of two fit and none is ABSENT."""
_MOST_CELLS = 256
_THOUSANDTHS = 1000

Matrix = NDArray[np.int64]
"""A row for each run, a column for each name."""
Read = Callable[[Released], int]


class Runs(NamedTuple):
    """Runs of two neighbouring databases, as :meth:`Columns.matrix` has them."""

    with_user: Matrix
    without: Matrix
    """Of the same database without her."""


@dataclass(frozen=True)
class Column:
    """One number that every release of the request has."""

    name: str
    """In words: ``items[a]``, ``bound of items``."""
    part: str
    """The table that it is of, or ``choose`` or ``total``."""
    key: Any = None
    """The number of a cell, or its label where the release itself found the labels."""
    read: Read | None = None
    """Reads the number from a run; None for a cell."""


@dataclass(frozen=True)
class Columns:
    """The columns of a request, in order; fixed on training runs, the same for all others."""

    columns: tuple[Column, ...] = ()

    @classmethod
    def seen_in(cls, *batches: Sequence[Released], most_cells: int = _MOST_CELLS) -> Columns:
        """All columns that these training runs show, of both databases.

        Of a table with more than ``most_cells`` cells, only those published most often.
        """
        runs = [run for batch in batches for run in batch]
        columns: list[Column] = []
        for name in dict.fromkeys(table.name for run in runs for table in run.tables):
            tables = [table for run in runs if (table := _table(run, name)) is not None]
            columns.extend(_table_columns(name, tables, most_cells))
        columns.extend(_bound_columns(runs))
        if _other(runs[0]) != ABSENT:
            columns.append(Column("the mass of the others", TOTAL, read=_other))
        return cls(tuple(columns))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def choices(self) -> tuple[int, ...]:
        """The numbers of the columns that show a private choice."""
        return tuple(at for at, column in enumerate(self.columns) if column.part == CHOOSE)

    def matrix(self, runs: Sequence[Released]) -> Matrix:
        """The runs as rows; a cell that a run did not publish is :data:`ABSENT`."""
        values = np.full((len(runs), len(self.columns)), ABSENT, dtype=np.int64)
        cells: dict[str, dict[Any, int]] = {}
        for place, column in enumerate(self.columns):
            if column.read is None:
                cells.setdefault(column.part, {})[column.key] = place
            else:
                values[:, place] = [_clipped(column.read(run)) for run in runs]
        for name, places in cells.items():
            _fill(values, [_table(run, name) for run in runs], places)
        return values


def bounds_of(run: Released) -> Mapping[str, Bound]:
    """The bounds of tables; none where a method has none."""
    bounds: Mapping[str, Bound] = getattr(run.facts, "bounds", {})
    return bounds


def _other(run: Released) -> int:
    """The mass of other cells, of a discovery."""
    other: Mapping[str, Any] | None = getattr(run.facts, "other", None)
    return int(other["count"]) if other else ABSENT


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
        yield Column(f"{name}[{_label(layout, key)}]", name, key)
    yield from _whole_columns(name, tables)


def _whole_columns(name: str, tables: Sequence[NoisyTable]) -> Iterator[Column]:
    if any(_leaves_out(table) for table in tables):
        read = _of_table(name, lambda table: len(table.values))
        yield Column(f"published cells of {name}", name, read=read)
    if any(_descents(table) for table in tables):
        yield Column(f"cells out of their order in {name}", name, read=_of_table(name, _descents))
    if any(_threshold(table) != ABSENT for table in tables):
        read = _of_table(name, _threshold)
        yield Column(f"thousandths of the threshold of {name}", name, read=read)


def _bound_columns(runs: Sequence[Released]) -> Iterator[Column]:
    """The bounds: one that these runs all share may still be another one in a later run."""
    for name in dict.fromkeys(name for run in runs for name in bounds_of(run)):
        of = {f"bound of {name}": _of_bound(name, lambda bound: bound.limit)}
        if any(bounds_of(run)[name].scaling != 1 for run in runs if name in bounds_of(run)):
            of |= {
                f"numerator of the scaling of {name}":
                    _of_bound(name, lambda bound: bound.scaling.numerator),
                f"denominator of the scaling of {name}":
                    _of_bound(name, lambda bound: bound.scaling.denominator),
            }  # fmt: skip
        yield from (Column(words, CHOOSE, read=read) for words, read in of.items())


def _of_table(name: str, number: Callable[[NoisyTable], int]) -> Read:
    def read(run: Released) -> int:
        table = _table(run, name)
        return ABSENT if table is None else number(table)

    return read


def _of_bound(name: str, number: Callable[[Bound], int]) -> Read:
    def read(run: Released) -> int:
        bounds = bounds_of(run)
        return number(bounds[name]) if name in bounds else ABSENT

    return read


def _leaves_out(table: NoisyTable) -> bool:
    return table.cells is not None or isinstance(table.layout, Listed)


def _keys(table: NoisyTable) -> Iterable[Any]:
    if isinstance(table.layout, Listed):
        columns = [values.tolist() for values in table.layout.values.values()]
        return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
    return () if table.cells is None else [int(cell) for cell in table.cells]


def _descents(table: NoisyTable) -> int:
    """How often a published cell comes after a later one; 0 unless the order itself leaks."""
    if table.cells is not None:
        return int(np.count_nonzero(table.cells[1:] < table.cells[:-1]))
    return sum(after < before for before, after in pairwise(_keys(table)))


def _threshold(table: NoisyTable) -> int:
    shown = table.facts.get("estimating_threshold")
    return ABSENT if shown is None else int(Fraction(shown) * _THOUSANDTHS)


def _label(layout: Layout, key: Any) -> str:
    if isinstance(layout, Listed):
        return str(key)
    kind = np.int64 if layout.size <= 1 << 63 else object
    named = layout.columns(np.array([key], dtype=kind))
    return ", ".join(str(values[0]) for values in named.values())


def _fill(values: Matrix, tables: Sequence[NoisyTable | None], places: Mapping[Any, int]) -> None:
    """Write the cells of each run's table into their columns."""
    shown = {row: table for row, table in enumerate(tables) if table is not None}
    is_whole = all(t.values.dtype == np.int64 and not _leaves_out(t) for t in shown.values())
    if shown and is_whole:
        keys = np.array(list(places), dtype=np.int64)
        cells = np.stack([table.values[keys] for table in shown.values()])
        values[np.ix_([*shown], [*places.values()])] = np.clip(cells, -LARGEST, LARGEST)
        return
    for row, table in shown.items():
        keys_of = _keys(table) if _leaves_out(table) else range(len(table.values))
        for key, value in zip(keys_of, table.values.tolist(), strict=True):
            if key in places:
                values[row, places[key]] = _clipped(value)


def _clipped(value: int) -> int:
    return value if value == ABSENT else min(max(int(value), -LARGEST), LARGEST)


# Events of a release: what an attacker looks for, in numbers and in words.

Comparison = Literal["at least", "at most", "exactly"]


class Statistic(Protocol):
    def of(self, matrix: Matrix) -> NDArray[np.int64]:
        """Its value in each run; ABSENT where it has none."""

    def words(self, names: tuple[str, ...]) -> str:
        """Its description, given the names of the columns."""


@dataclass(frozen=True)
class Single:
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
        first, second = matrix[:, self.first], matrix[:, self.second]
        both = (first != ABSENT) & (second != ABSENT)
        return np.where(both, first + self.sign * np.where(both, second, 0), ABSENT)

    def words(self, names: tuple[str, ...]) -> str:
        return f"{names[self.first]} {'+' if self.sign > 0 else '−'} {names[self.second]}"


def compared(values: NDArray[np.int64], comparison: Comparison, value: int) -> NDArray[np.bool_]:
    """Where the values compare so; a missing one is below every number."""
    if comparison == "at least":
        return values >= value
    return values <= value if comparison == "at most" else values == value


@dataclass(frozen=True)
class Condition:
    statistic: Statistic
    comparison: Comparison
    value: int
    may_be_absent: bool = False
    """Whether it was ever missing in training; only the words depend on it."""

    def holds(self, matrix: Matrix) -> NDArray[np.bool_]:
        return compared(self.statistic.of(matrix), self.comparison, self.value)

    def words(self, names: tuple[str, ...]) -> str:
        subject = self.statistic.words(names)
        if self.value == ABSENT:
            return f"{subject} is {'seen or not' if self.comparison == 'at least' else 'absent'}"
        absent = "absent or " if self.may_be_absent and self.comparison == "at most" else ""
        return f"{subject} is {absent}{self.comparison} {self.value}"


@dataclass(frozen=True)
class Event:
    """All of its conditions hold; without any it always happens."""

    conditions: tuple[Condition, ...]

    @property
    def is_plain(self) -> bool:
        """Whether it is about single columns: of two events as good, this one is clearer."""
        return all(isinstance(condition.statistic, Single) for condition in self.conditions)

    def holds(self, matrix: Matrix) -> NDArray[np.bool_]:
        held = np.ones(len(matrix), dtype=np.bool_)
        for condition in self.conditions:
            held &= condition.holds(matrix)
        return held

    def words(self, names: tuple[str, ...]) -> str:
        return " and ".join(condition.words(names) for condition in self.conditions) or "anything"


# How much an event that was seen so often in training will certify on held-out runs, about.
#
# Only the search uses it; nothing that is certified rests on it. So it may be quick: Byar's
# bounds instead of exact ones, for whole arrays of events at once.

Counted = NDArray[np.int64]
"""How often each of many events was seen."""
Aim = Literal["epsilon", "delta"]
"""Certify ε at the claimed δ, or δ at the claimed ε."""
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

    @property
    def worth(self) -> float:
        """How much one more condition must add."""
        return (self.claim if self.aim == "epsilon" else self.delta) / 100

    def promises(
        self, seen: tuple[Counted, Counted], runs: tuple[int, int]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The bound to hope for, if the event is likelier with the user, and if without her.

        ``seen`` is how often the events were seen in so many training runs, with the user and
        without.
        """
        for_her = self._bound(seen, runs, self.held_out)
        return for_her, self._bound(seen[::-1], runs[::-1], self.held_out[::-1])

    def _bound(
        self, seen: tuple[Counted, Counted], runs: tuple[int, int], held_out: tuple[int, int]
    ) -> NDArray[np.float64]:
        z = float(-special.ndtri(self.alpha / 2))
        low = _byar(seen[0] / runs[0], _joint(held_out[0], runs[0]), -z)
        high = _byar(seen[1] / runs[1], _joint(held_out[1], runs[1]), z)
        if self.aim == "delta":
            return np.asarray(low - np.exp(self.claim) * high)
        return np.asarray(np.log(np.maximum(low - self.delta, 1e-300) / high))


def _joint(held_out: int, runs: int) -> float:
    """A few runs less than the held-out ones: what few training runs show may be chance."""
    return 1 / (1 / held_out + _LUCK / runs)


def _byar(share: NDArray[np.float64], runs: float, z: float) -> NDArray[np.float64]:
    """Byar's bound for a Poisson count, also a good one for none at all; narrower by √(1−share)."""
    count = np.maximum(share * runs + (z > 0), 1e-9)
    reach = z * np.sqrt(1 - share) / (3 * np.sqrt(count))
    root = np.maximum(1 - 1 / (9 * count) + reach, 0)
    return np.asarray(np.minimum(count * root**3 / runs, 1.0))
