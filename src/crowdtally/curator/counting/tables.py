"""Bounded records → exact counts of items and of items in context, from one and the same sample."""

from __future__ import annotations

from typing import Protocol

from crowdtally.curator.counting.cells import Cells, cells_of, fold, tally, total
from crowdtally.curator.counting.reading import Read, computed, dropped_in, in_parts
from crowdtally.curator.engine.census import Dropped, carried
from crowdtally.curator.engine.engine import Engine
from crowdtally.curator.engine.prepare import Prepared
from crowdtally.curator.engine.relations import Kept, Rows
from crowdtally.values.counts import Counts, What
from crowdtally.values.domain import Domain
from crowdtally.values.layout import Pairs, grid

Two = tuple[Counts, Counts]


class Sampling(Protocol):
    """A rule that keeps some of each user's records."""

    @property
    def limit(self) -> int:
        """The most rows of one user that are kept."""

    def keep(self, engine: Engine, rows: Rows, *, cells: int, key: int, what: What) -> Kept:
        """(user, cell[, id]) → (user, cell), bounded; a function of each user's own records.

        Rows without a user or without a cell are among those given, and are never kept.
        """


def count(engine: Engine, prepared: Prepared, rule: Sampling, *, key: int, what: What) -> Read[Two]:
    """Item counts and item×context counts; equal tables where there are no contexts."""
    domain, width = prepared.domain, prepared.domain.contexts_size
    apart = what == "users" and width > 1

    def one(rows: Rows) -> tuple[Cells, Cells, Dropped]:
        cut = rule.keep(engine, rows, cells=domain.size, key=key, what=what)
        kept, dropped = computed(engine, cut, rows)  # (user, cell), bounded
        if not apart:
            edges = tally(engine, kept, domain)
            return fold(edges, width), edges, dropped
        kept = engine.materialise(kept, "kept")
        items = tally(engine, _items_met(kept, width, what), domain)
        return items, tally(engine, kept, domain), dropped

    items, edges, dropped = zip(*in_parts(engine, prepared, one), strict=True)
    counts = _counts(domain, total(items), total(edges), rule.limit)
    return Read(counts, Dropped.total(dropped))


def count_rows(engine: Engine, prepared: Prepared) -> Read[Two]:
    """The same where each row is one person, or as many as its weight says: nothing to bound.

    One person changes each table by 1.
    """
    domain, rows = prepared.domain, prepared.rows
    times = rows.weight.sum().cast("int64") if "weight" in rows.columns else rows.count()
    each = rows.group_by("cell").agg(times=times, **carried(rows, rows.cell))
    each = engine.materialise(each, "persons")  # (cell, times), with what has no cell
    inside = each.filter(each.cell.notnull()).select("cell", "times")
    edges = cells_of(engine.columns(inside), "times", domain)
    counts = _counts(domain, fold(edges, domain.contexts_size), edges, 1)
    return Read(counts, dropped_in(engine, each))


def count_pairs(
    engine: Engine, prepared: Prepared, rule: Sampling, *, key: int, what: What
) -> Read[Two]:
    """Item counts, and counts of unordered pairs of different items of one user.

    Pairs are formed from the *kept* records, so one user adds at most l(l−1)/2 of them.
    """
    domain, width, limit = prepared.domain, prepared.domain.contexts_size, rule.limit

    def one(rows: Rows) -> tuple[Cells, Cells, Dropped]:
        cut = rule.keep(engine, rows, cells=domain.size, key=key, what=what)
        kept, dropped = computed(engine, cut, rows)  # (user, cell), bounded
        met = engine.materialise(_items_met(kept, width, what), "met")  # (user, cell of an item)
        return tally(engine, met, domain), tally(engine, _pairs(met), domain), dropped

    items, pairs, dropped = zip(*in_parts(engine, prepared, one), strict=True)
    counts = (
        Counts(len(domain.items), *total(items), limit),
        Counts(Pairs(domain.items).size, *total(pairs), limit * (limit - 1) // 2),
    )
    return Read(counts, Dropped.total(dropped))


def _counts(domain: Domain, items: Cells, edges: Cells, bound: int) -> Two:
    first = domain.axes[:1] if domain.has_items else domain.axes
    return Counts(grid(first).size, *items, bound), Counts(domain.size, *edges, bound)


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
