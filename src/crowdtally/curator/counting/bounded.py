"""Counts of bounded and of scaled records, in parts that fit the memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.counts import Counts, What
from crowdtally.core.domain import Domain
from crowdtally.core.integers import group_equal
from crowdtally.core.layout import Pairs, grid
from crowdtally.curator.bounding.rules import EveryRow, SamplingRule, pairs_l1, pairs_l2_squared
from crowdtally.curator.bounding.scaling import DPSense
from crowdtally.records.engine import (
    Dropped,
    Engine,
    Kept,
    MemoryFullError,
    Rows,
    carried,
    census,
    grouped,
    held_sum,
    standing_on,
)
from crowdtally.records.matching import cell_numbers
from crowdtally.records.prepare import Prepared

Found = TypeVar("Found")
_MOST_DOUBLINGS = 8
"""How often the work is halved again before the memory counts as full."""


@dataclass(frozen=True)
class Read(Generic[Found]):
    """Exact counts from one read of all records. Private, never released as they are."""

    found: Found
    dropped: Dropped


def dropped_in(engine: Engine, rows: Rows) -> Dropped:
    """Count dropped rows: of all rows, or of an aggregate that carries their numbers."""
    return Dropped.of(engine.arrays(census(rows)))


def computed(engine: Engine, kept: Kept, rows: Rows) -> tuple[Rows, Dropped]:
    """What a rule keeps of ``rows``, and how many of them are dropped, by one pass if it can be."""
    if kept.census is None:
        return kept.rows, dropped_in(engine, rows)
    if kept.shared is None:
        return kept.rows, Dropped.of(engine.arrays(kept.census))
    held = engine.materialise(kept.shared, "shared")
    bounded, counted = (standing_on(use, kept.shared, held) for use in (kept.rows, kept.census))
    return bounded, Dropped.of(engine.arrays(counted))


class Parts:
    """Parts of the rows by user, where the memory would not hold them at once.

    A context manager: work that does not fit is done again, in twice as many parts. The number of
    parts decides nothing, because the work is a function of the rows (a key is drawn before)::

        parts = Parts(engine)
        while not parts.done:
            with parts:
                found = [work(rows) for rows in parts.of(prepared.rows)]
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._number = engine.parts()
        self._doublings = 0
        self.done = False

    def of(self, rows: Rows) -> list[Rows]:
        if self._number == 1:
            return [rows]
        number = self._engine.hash(0, [rows.user]) % self._number
        return [rows.filter(number == part) for part in range(self._number)]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> bool:
        self.done = error is None
        again = isinstance(error, MemoryFullError) and self._doublings < _MOST_DOUBLINGS
        if again:
            self._number, self._doublings = 2 * self._number, self._doublings + 1
        return again


Cells = tuple[NDArray[Any], NDArray[np.int64]]
"""Ascending numbers of cells, and their counts."""


def tally(engine: Engine, rows: Rows, domain: Domain, most: int = 1) -> Cells:
    """How many rows each cell has.

    With ``most``, cells are numbered by cell and quantity, and each row counts as often as it says.
    """
    times = rows.count()
    if most > 1:
        rows = rows.select(cell=(rows.cell // most).cast("int64"), quantity=rows.cell % most + 1)
        times = rows.quantity.sum().cast("int64")
    return cells_of(engine.columns(rows.group_by("cell").agg(times=times)), "times", domain)


def cells_of(columns: Mapping[str, NDArray[Any]], value: str, domain: Domain) -> Cells:
    """The fetched columns as ascending cells and their values, zeros left out."""
    numbers = cell_numbers(columns["cell"], domain)
    cells, values = fold((numbers, np.asarray(columns[value], dtype=np.int64)), 1)
    return cells[values != 0], values[values != 0]


def total(parts: Sequence[Cells]) -> Cells:
    if len(parts) == 1:
        return parts[0]
    cells = np.concatenate([cells for cells, _ in parts])
    values = np.concatenate([values for _, values in parts])
    return fold((cells, values), 1)


def fold(cells: Cells, width: int) -> Cells:
    """Add up the cells that fall together when numbers are divided by ``width``."""
    together = group_equal(cells[0] // width)
    return together.numbers, together.sums(cells[1])


Two = tuple[Counts, Counts]
Tally = tuple[Cells, Cells, Dropped]


def count(
    engine: Engine,
    prepared: Prepared,
    rule: SamplingRule,
    *,
    key: int,
    what: What,
    pairs: bool = False,
    times: int = 1,
) -> Read[Two]:
    """Item counts and item×context counts; equal tables where there are no contexts.

    With ``pairs``, instead of the latter, unordered pairs of different items of one user, formed
    from the *kept* records: one user adds at most l(l−1)/2. ``times`` is the most that a kept
    record counts, by its quantity.
    """
    domain, parts, tallies = prepared.domain, Parts(engine), list[Tally]()
    told, cells = prepared.rows_told_by(times), domain.size * times
    while not parts.done:
        with parts:
            tallies = []
            for rows in parts.of(told):
                cut = rule.keep(engine, rows, cells=cells, key=key, what=what)
                kept, dropped = computed(engine, cut, rows)  # (user, cell), bounded
                if pairs:
                    items = _items_met(kept, domain.contexts_size, what)
                    met = engine.materialise(items, "met")  # (user, cell of an item)
                    found = tally(engine, met, domain), tally(engine, _pairs(met), domain)
                else:
                    found = _items_and_edges(engine, kept, domain, what, times)
                tallies.append((*found, dropped))
    first, second, dropped_in_parts = zip(*tallies, strict=True)
    counts = _counts(domain, total(first), total(second), rule.limit * times, what, pairs=pairs)
    return Read(counts, Dropped.total(dropped_in_parts))


def _items_and_edges(
    engine: Engine, kept: Rows, domain: Domain, what: What, times: int
) -> tuple[Cells, Cells]:
    width = domain.contexts_size
    if what == "records" or width == 1:
        edges = tally(engine, kept, domain, times)
        return fold(edges, width), edges
    kept = engine.materialise(kept, "kept")
    return tally(engine, _items_met(kept, width, what), domain), tally(engine, kept, domain)


def count_rows(engine: Engine, prepared: Prepared, rule: EveryRow | None = None) -> Read[Two]:
    """The same where rows have no id: each counts once, or as often as its weight says."""
    rule = rule or EveryRow()
    domain, rows = prepared.domain, prepared.rows
    times = rows.weight.sum().cast("int64") if "weight" in rows.columns else rows.count()
    each = rows.group_by("cell").agg(times=times, **carried(rows, rows.cell))
    each = engine.materialise(each, "persons")  # (cell, times), with what has no cell
    inside = each.filter(each.cell.notnull()).select("cell", "times")
    edges = cells_of(engine.columns(inside), "times", domain)
    items = fold(edges, domain.contexts_size)
    first = grid(domain.axes[:1] if domain.has_items else domain.axes)
    counts = tuple(
        Counts(cells.size, *found, rule.l1_bound, squared=rule.squared_in(cells.names))
        for cells, found in ((first, items), (grid(domain.axes), edges))
    )
    return Read((counts[0], counts[1]), dropped_in(engine, each))


def count_scaled(
    engine: Engine, prepared: Prepared, rule: DPSense, size: int, *, width: int = 1
) -> Read[Counts]:
    """(user, cell) → rows scaled to θ → the counts of a table of ``size`` cells, in units of 1/g.

    ``width`` is how many cells of the domain make one of the table: those of an item, or 1.
    """
    same = engine.materialise(grouped(prepared.rows_by(width)), "same")
    weights = rule.weights(engine, same)  # (cell, weight)
    found = weights.group_by("cell").agg(total=held_sum(weights.weight))
    cells, values = cells_of(engine.columns(found), "total", prepared.domain)
    squared = rule.l2_squared("users" if rule.cap == 1 else "records")
    counts = Counts(size, cells, values, rule.l1_bound, rule.unit, squared=squared)
    return Read(counts, dropped_in(engine, same))


def _counts(
    domain: Domain, items: Cells, others: Cells, bound: int, what: What, *, pairs: bool = False
) -> Two:
    """Both tables; a user who counts once in a cell is in at most as many cells as the bound."""
    first = domain.axes[:1] if domain.has_items else domain.axes
    squared = bound if what == "users" else bound**2
    of_items = Counts(grid(first).size, *items, bound, squared=squared)
    if pairs:
        size, most = Pairs(domain.items).size, pairs_l1(bound)
        return of_items, Counts(size, *others, most, squared=pairs_l2_squared(bound, what))
    return of_items, Counts(domain.size, *others, bound, squared=squared)


def _items_met(kept: Rows, width: int, what: What) -> Rows:
    """Of each record its item; a user who met one item in two contexts is one user of it."""
    items = kept.select("user", cell=(kept.cell // width).cast("int64"))
    return items.distinct() if what == "users" else items


def _pairs(met: Rows) -> Rows:
    """(user, item) → (user, pair) for each pair of different items, numbered as ``Pairs`` does."""
    other = met.view()
    both = met.inner_join(other, [met.user == other.user, met.cell < other.cell])
    number = (both.cell_right * (both.cell_right - 1) // 2 + both.cell).cast("int64")
    return both.select(both.user, cell=number)
