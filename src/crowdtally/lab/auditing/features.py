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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.layout import Layout, Listed
from crowdtally.curator.converse import Bound, Released
from crowdtally.curator.request.method import CHOOSE, TOTAL
from crowdtally.format import NoisyTable

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
    """What each column is."""

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
        if runs[0].other is not None:
            columns.append(Column("the mass of the others", TOTAL, "other"))
        return cls(tuple(columns))

    @property
    def names(self) -> tuple[str, ...]:
        """Each in words."""
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
    for name in dict.fromkeys(name for run in runs for name in run.bounds):
        yield Column(f"bound of {name}", CHOOSE, "bound", name)
        if any(run.bounds[name].scaling != 1 for run in runs if name in run.bounds):
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
    keys = list(_keys(table))
    return sum(after < before for before, after in pairwise(keys))


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def _label(layout: Layout, key: Any) -> str:
    if isinstance(layout, Listed):
        return str(key)
    kind = np.int64 if layout.size <= 1 << 63 else object
    named = layout.columns(np.array([key], dtype=kind))
    return ", ".join(str(values[0]) for values in named.values())


def _fill(found: Matrix, tables: Sequence[NoisyTable], places: Mapping[Any, int]) -> None:
    """Write the cells' values into their columns."""
    if not any(_leaves_out(table) for table in tables) and all(
        table.values.dtype == np.int64 for table in tables
    ):
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
        return read(run.bounds[name]) if name in run.bounds else ABSENT

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
    "other": lambda run, _, __: ABSENT if run.other is None else int(run.other["count"]),
}
