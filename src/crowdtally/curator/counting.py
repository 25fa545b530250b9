"""Bounded records → exact counts of items and of items in context, from one and the same sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from crowdtally.curator.engine.engine import Engine
from crowdtally.curator.engine.prepare import Prepared, cell_numbers
from crowdtally.curator.engine.relations import Rows
from crowdtally.values.counts import Counts, What
from crowdtally.values.domain import Domain
from crowdtally.values.layout import Pairs, grid

Cells = tuple[NDArray[Any], NDArray[np.int64]]
"""Cell numbers, ascending, and their counts."""


class Sampling(Protocol):
    """A rule that keeps some of each user's records."""

    @property
    def limit(self) -> int:
        """The most rows of one user that are kept."""

    def keep(self, engine: Engine, rows: Rows, *, cells: int, key: int, what: What) -> Rows:
        """(user, cell[, id]) → (user, cell), bounded; a function of each user's own records."""


def count(
    engine: Engine, prepared: Prepared, rule: Sampling, *, rows: int, key: int, what: What
) -> tuple[Counts, Counts]:
    """Item counts and item×context counts; equal tables where there are no contexts.

    ``rows`` only sizes the work: the result does not depend on it.
    """
    domain, width = prepared.domain, prepared.domain.contexts_size
    edges: list[Cells] = []
    items: list[Cells] = []
    apart = what == "users" and width > 1
    for kept in _kept(engine, prepared, rule, rows=rows, key=key, what=what):
        if apart:
            kept = engine.materialise(kept, "kept")
            items.append(_tally(engine, _items_met(kept, width), domain))
        edges.append(_tally(engine, kept, domain))
    edge_cells = _sum(edges)
    item_cells = _sum(items) if apart else _fold(edge_cells, width)
    return _counts(domain, item_cells, edge_cells, rule.limit)


def count_rows(engine: Engine, prepared: Prepared) -> tuple[Counts, Counts]:
    """The same where each row is one person, or as many as its weight says: nothing to bound.

    One person changes each table by 1.
    """
    domain, table = prepared.domain, prepared.table
    times = table.weight.sum().cast("int64") if "weight" in table.columns else table.count()
    found = engine.columns(table.group_by("cell").agg(times=times))
    edge_cells = cells_of(found, "times", domain)
    return _counts(domain, _fold(edge_cells, domain.contexts_size), edge_cells, 1)


def _counts(domain: Domain, items: Cells, edges: Cells, bound: int) -> tuple[Counts, Counts]:
    first = domain.axes[:1] if domain.has_items else domain.axes
    return (
        Counts(grid(first).size, *items, bound),
        Counts(domain.size, *edges, bound),
    )


def count_pairs(
    engine: Engine, prepared: Prepared, rule: Sampling, *, rows: int, key: int, what: What
) -> tuple[Counts, Counts]:
    """Item counts, and counts of unordered pairs of different items of one user.

    Pairs are formed from the *kept* records, so one user adds at most l(l−1)/2 of them.
    """
    domain, width, limit = prepared.domain, prepared.domain.contexts_size, rule.limit
    items: list[Cells] = []
    pairs: list[Cells] = []
    for kept in _kept(engine, prepared, rule, rows=rows, key=key, what=what):
        met = _items_met(kept, width) if what == "users" else kept
        met = engine.materialise(met.select("user", item=(met.cell // width).cast("int64")), "met")
        items.append(_tally(engine, met.select("user", cell=met.item), domain))
        other = met.view()
        both = met.inner_join(other, [met.user == other.user, met.item < other.item])
        number = (both.item_right * (both.item_right - 1) // 2 + both.item).cast("int64")
        pairs.append(_tally(engine, both.select(both.user, cell=number), domain))
    return (
        Counts(len(domain.items), *_sum(items), limit),
        Counts(Pairs(domain.items).size, *_sum(pairs), limit * (limit - 1) // 2),
    )


def _kept(
    engine: Engine, prepared: Prepared, rule: Sampling, *, rows: int, key: int, what: What
) -> Iterator[Rows]:
    """The kept records, in parts by user where they would not fit the memory at once."""
    parts = engine.parts(rows)
    for part in range(parts):
        table = prepared.table
        if parts > 1:
            table = table.filter(engine.hash(0, [table.user]) % parts == part)
        yield rule.keep(engine, table, cells=prepared.domain.size, key=key, what=what)


def _items_met(kept: Rows, width: int) -> Rows:
    """A user who met one item in two contexts is one user of that item."""
    return kept.select("user", cell=(kept.cell // width).cast("int64")).distinct()


def _tally(engine: Engine, table: Rows, domain: Domain) -> Cells:
    found = engine.columns(table.group_by("cell").agg(times=table.count()))
    return cells_of(found, "times", domain)


def cells_of(columns: Mapping[str, NDArray[Any]], value: str, domain: Domain) -> Cells:
    """The fetched columns as ascending cells and their values, zeros left out."""
    numbers = cell_numbers(columns["cell"], domain)
    cells, values = _fold((numbers, np.asarray(columns[value], dtype=np.int64)), 1)
    return cells[values != 0], values[values != 0]


def _sum(parts: list[Cells]) -> Cells:
    cells = np.concatenate([cells for cells, _ in parts])
    values = np.concatenate([values for _, values in parts])
    return _fold((cells, values), 1)


def _fold(cells: Cells, width: int) -> Cells:
    """Add up the cells that fall together when numbers are divided by ``width``."""
    order = np.argsort(cells[0], kind="stable")
    numbers, values = cells[0][order] // width, cells[1][order]
    if len(numbers) == 0:
        return numbers, values
    starts = np.flatnonzero(np.concatenate(([True], numbers[1:] != numbers[:-1])))
    return numbers[starts], np.add.reduceat(values, starts)
