"""Bounded records → exact counts of items and of items in context, from one and the same sample."""

from __future__ import annotations

from crowdtally.core.counts import Counts, What
from crowdtally.core.domain import Domain
from crowdtally.core.layout import Pairs, grid
from crowdtally.curator.bounding.dpsense import DPSense
from crowdtally.curator.bounding.pairs import pairs_l1, pairs_l2_squared
from crowdtally.curator.bounding.row import EveryRow
from crowdtally.curator.bounding.rule import SamplingRule
from crowdtally.curator.counting.cells import Cells, cells_of, fold, tally, total
from crowdtally.curator.counting.reading import Parts, Read, computed, dropped_in
from crowdtally.records.engine import Dropped, Engine, Rows, carried, grouped, held_sum
from crowdtally.records.prepare import Prepared

Two = tuple[Counts, Counts]
Tally = tuple[Cells, Cells, Dropped]
"""What one part of the records adds to each table, and what falls out of it."""


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

    With ``pairs``, instead of the latter: counts of unordered pairs of different items of one user.
    They are formed from the *kept* records, so one user adds at most l(l−1)/2 of them. With
    ``times``, a kept record counts as often as its quantity says, which is at most that.
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
                    found = _items_and_pairs(engine, kept, domain, what)
                else:
                    found = _items_and_edges(engine, kept, domain, what, times)
                tallies.append((*found, dropped))
    items, others, dropped_in_parts = zip(*tallies, strict=True)
    counts = _counts(domain, total(items), total(others), rule.limit * times, what, pairs=pairs)
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


def _items_and_pairs(engine: Engine, kept: Rows, domain: Domain, what: What) -> tuple[Cells, Cells]:
    met = engine.materialise(_items_met(kept, domain.contexts_size, what), "met")
    return tally(engine, met, domain), tally(engine, _pairs(met), domain)  # (user, cell of an item)


def count_rows(engine: Engine, prepared: Prepared, rule: EveryRow | None = None) -> Read[Two]:
    """The same where rows have no id: each counts once, or as often as its weight says.

    Without a rule each row is one person, or as many as its weight says.
    """
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
    """(user, cell) → rows scaled to θ → the counts of a table, in units of 1/g.

    Args:
        engine: what runs it.
        prepared: all records.
        rule: how rows are scaled.
        size: how many cells the table has.
        width: how many cells of the domain make one of the table: those of an item, or 1.
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
