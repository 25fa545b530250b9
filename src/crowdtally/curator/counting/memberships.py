"""Records → the distinct users of each cell: nobody is bounded, each counts once in a cell."""

from __future__ import annotations

from collections.abc import Sequence

from crowdtally.core.counts import Memberships
from crowdtally.curator.counting.cells import Cells, tally, total
from crowdtally.curator.counting.reading import Parts, Read, dropped_in
from crowdtally.records.engine import Dropped, Engine, Rows, countable, grouped
from crowdtally.records.prepare import Prepared


def distinct_users(
    engine: Engine, prepared: Prepared, sizes: Sequence[int]
) -> Read[list[Memberships]]:
    """(user, cell) → the distinct users of every cell, for each table of so many cells.

    A user of several cells of the domain that make one cell of a table is one user of it.
    """
    widths, parts = [prepared.width_of(size) for size in sizes], Parts(engine)
    found: list[list[Cells]] = []
    dropped: list[Dropped] = []
    while not parts.done:
        with parts:
            found, dropped = [], []
            for rows in parts.of(prepared.rows):
                same = engine.materialise(grouped(rows), "same")  # (user, cell, rows)
                met = countable(same).select("user", "cell")
                found.append([tally(engine, _by(met, w), prepared.domain) for w in widths])
                dropped.append(dropped_in(engine, same))
    tables = zip(sizes, zip(*found, strict=True), strict=True)
    counts = [Memberships.of(size, *total(cells)) for size, cells in tables]
    return Read(counts, Dropped.total(dropped))


def _by(met: Rows, width: int) -> Rows:
    """(user, cell), each once, with cells of which each is ``width`` of the domain's."""
    if width == 1:
        return met
    return met.select("user", cell=(met.cell // width).cast("int64")).distinct()
