"""The noise-free part of a release on a source of any kind: who is kept, and what is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import prod
from typing import Any, NamedTuple

import crowdtally as ct
from crowdtally.core.counts import Counts, What
from crowdtally.core.layout import Layout, grid
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.counting.bounded import count
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.prepare import Prepared, prepare
from kit.crowds import Cell, Database
from kit.histories import kept_by
from kit.kinds import Kind, Place

KEY = 424_242_424_242_424_242
"""The sampling key of every test: privacy must hold for each fixed one."""


Kept = dict[str, Counter[int]]
"""For each user, by text, how many records of which cell are kept."""
Before = Callable[[Kind, Database], Kept]
"""What is kept of a crowd before anybody joins it."""


def declared(
    place: Place, kind: Kind, database: Database, beside: Kind | None = None
) -> ct.Records:
    """The records, written into a source of this kind and declared; joined tables likewise.

    ``beside`` is the kind of the joined tables, where it is another.
    """
    write = (beside or kind).write
    joins = [(write(place, one.schema, one.rows), one.keys) for one in database.lookups]
    roles: dict[str, Any] = {
        "user": database.user, "item": database.item, "contexts": list(database.contexts),
        "record_id": database.record_id, "joins": joins,
    }  # fmt: skip
    source = kind.write(place, database.schema, database.rows)
    return ct.read(source, **(roles | dict(database.roles)))


def domain(database: Database) -> ct.Domain:
    """The public lists, as Python gives them."""
    return ct.Domain(database.items, dict(database.contexts), item=database.item)


@contextmanager
def prepared(
    place: Place, kind: Kind, database: Database, beside: Kind | None = None
) -> Iterator[tuple[Any, Prepared]]:
    """An engine that holds the records, prepared as a release prepares them."""
    written, lists = declared(place, kind, database, beside), domain(database)
    with engine_for(place, kind) as engine:
        yield engine, prepare(engine, written, lists)


def engine_for(place: Place, kind: Kind) -> Any:
    """The engine that reads this kind."""
    if not kind.on_spark:
        return DuckDBEngine()
    from kit.cluster import engine_beside

    return engine_beside(place.session())


def sampled(
    place: Place, kind: Kind, database: Database, limit: int, beside: Kind | None = None
) -> Kept:
    """What is kept of each user, at most ``limit`` records."""
    with prepared(place, kind, database, beside) as (engine, ready):
        kept = kept_by(engine, ready, SRA(limit), KEY, "records")
    return {str(user): cells for user, cells in kept.items()}


def tallies(kept: Kept, database: Database) -> tuple[Counter[int], Counter[int]]:
    """The bounded counts of items, and of items in context."""
    width = prod(map(len, database.contexts.values()))
    edges: Counter[int] = Counter()
    for cells in kept.values():
        edges.update(cells)
    items: Counter[int] = Counter()
    for cell, times in edges.items():
        items[cell // width] += times
    return items, edges


def distance(one: Counter[int], other: Counter[int]) -> int:
    """The L1 distance of two tables."""
    return sum(abs(one[cell] - other[cell]) for cell in one.keys() | other.keys())


class Counted(NamedTuple):
    """Two tables by the texts of their cells."""

    items: Counter[Cell]
    edges: Counter[Cell]


def counted(place: Place, kind: Kind, database: Database) -> tuple[Counted, Counted]:
    """The counts of records, and those of users, when nobody is cut."""
    most = len(database.rows) + 1

    def tables(what: What) -> Counted:
        found = count(engine, ready, SRA(most), key=KEY, what=what).found
        layouts = grid([ready.domain.items]), grid(ready.domain.axes)
        return Counted(*map(_named, found, layouts))

    with prepared(place, kind, database) as (engine, ready):
        return tables("records"), tables("users")


def _named(counts: Counts, layout: Layout) -> Counter[Cell]:
    """A table by the texts of its cells."""
    assert counts.size == layout.size
    columns = [column.tolist() for column in layout.columns(counts.cells).values()]
    names = [tuple(map(str, cell)) for cell in zip(*columns, strict=True)]
    return Counter(dict(zip(names, counts.values.tolist(), strict=True)))


def bounded(one: Kept, other: Kept, database: Database, limit: int) -> bool:
    """Whether no table of two databases is farther apart than the bound."""
    pairs = zip(tallies(one, database), tallies(other, database), strict=True)
    return all(distance(before, after) <= limit for before, after in pairs)
