"""Neighbouring databases for a request: the users who are hardest to hide from its method.

Nothing but the records is replaced: the domain, the method, every share and every table of the
request are the very objects that a release uses. A made-up record names its cell directly, so
what a declaration computes from a row (conditions, expressions, joins) is not attacked.

The pairs try the bound itself (at it, one over it, all of it in one cell, which moves one noisy
count by all that one user may move), every context of an item (two tables that share their noise
would show), distinct items (sums of rows that are scaled), a crowd whose own samples must not move,
and crowds that make a private choice swing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice, product
from math import ceil, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.counts import Counts
from crowdtally.core.domain import Axis, OpenDomain
from crowdtally.core.integers import positions
from crowdtally.core.layout import Crossed, Pairs, Picked
from crowdtally.core.records import Quantity, Records
from crowdtally.curator.bounding.scaling import Auto, DPSense, DPSenseS
from crowdtally.curator.converse import Released
from crowdtally.curator.request.method import CHOOSE
from crowdtally.curator.request.request import Request
from crowdtally.curator.table import AnyTable
from crowdtally.format import NoisyTable
from crowdtally.records.locate import Sources

# Made-up databases, and a request that reads one of them instead of its own records.


@dataclass(frozen=True)
class Record:
    user: int
    cell: tuple[int, ...]
    """Its place on every axis of the domain; any number where a column has no list."""
    quantity: int = 1


@dataclass(frozen=True)
class Pair:
    """Two neighbouring databases: the others, and the others with one user more."""

    words: str
    others: tuple[Record, ...]
    hers: tuple[Record, ...]
    keys: int = 4
    """How many sampling keys to run it with: privacy holds for each of them, and for their mix."""

    def database(self, *, with_user: bool) -> tuple[Record, ...]:
        return self.others + self.hers if with_user else self.others


def on_records(request: Request, records: Sequence[Record]) -> Request:
    import pyarrow as pa

    lists = _lists(request)
    user, quantity = _beside(lists, "user"), _beside(lists, "quantity")
    columns: dict[str, Any] = {user: pa.array([one.user for one in records], pa.int64())}
    for place, (name, axis) in enumerate(lists.items()):
        columns[name] = _values(axis, [one.cell[place] for one in records])
    counted = request.records.quantity
    if counted is not None:
        columns[quantity] = pa.array([one.quantity for one in records], pa.int64())
    made = Records(
        pa.table(columns),
        user=None if request.records.user is None else user,
        item=request.records.item,
        contexts=dict.fromkeys(request.records.contexts),
        attributes=request.records.attributes,
        quantity=None if counted is None else Quantity(quantity, counted.most),
        bounded_to=request.records.bounded_to,
        cells_once=request.records.cells_once,
    )
    return replace(request, sources=Sources(made))


def _lists(request: Request) -> dict[str, Axis | None]:
    """The columns that name a cell, with their lists."""
    lists = request.lists
    if isinstance(lists, OpenDomain):
        return {name: lists.lists.get(name) for name in lists.columns}
    return {axis.name: axis for axis in lists.axes}


def _values(axis: Axis | None, codes: list[int]) -> Any:
    import pyarrow as pa

    if axis is None:
        return pa.array([f"item {code}" for code in codes], pa.string())
    kind = pa.string() if axis.kind == "text" else pa.int64()
    return pa.array([axis.values[code] for code in codes], kind)


def _beside(names: Iterable[str], wanted: str) -> str:
    """A column's name that no axis has, upper and lower case being one."""
    taken = {name.lower() for name in names}
    while wanted in taken:
        wanted += "_"
    return wanted


# The pairs to try.

HER = 0
"""Her id; the others have larger ones."""
_MOST_RECORDS = 10_000
_MOST_OTHERS = 100_000
_CROWD = 40
_MANY = 100
"""Records of a user who has many."""
_PER_CONTEXT = 1_100
"""With so many users of each context, over ε, auto looks at contexts."""
_ODDS = 8
"""A choice leaks most where its candidate is rare: about one to so many."""

Cell = tuple[int, ...]


def pairs_of(request: Request) -> tuple[Pair, ...]:
    """The pairs to try on a request, each once."""
    found = {(pair.others, pair.hers): pair for pair in reversed([*_every(request)])}
    return tuple(reversed(found.values()))


def _every(request: Request) -> Iterator[Pair]:
    if request.discovery is not None:
        yield from _discovered(request)
    elif request.records.bounded_to is not None:
        yield from _bounded_elsewhere(request)
    elif request.records.user is None:
        yield _alone("one row", [_first(request)])
    elif isinstance(request.method.rule, Auto):
        yield from _left_to_auto(request)
    else:
        alone, among = list(_alone_in(request)), _among(request)
        # Among many her cell is always published, and shows all that she changes: this comes first
        # where cells are left out. A popularity would take more values there, each counted anew.
        shown = request.tables[0].publishing.leaves_out and request.popularity is None
        yield from [among, *alone] if shown else [*alone, among]
        if request.method.choose is not None:
            yield from swinging(request)


def _bounded_elsewhere(request: Request) -> Iterator[Pair]:
    """As many rows as the publisher states, in one cell unless that is ruled out."""
    most = min(request.method.rule.limit, _MOST_RECORDS)
    if not request.records.cells_once:
        yield _alone(f"rows in one cell: {most}, as stated", [_first(request)] * most)
    cells = _cells(request, most)
    yield _alone(f"rows in different cells: {len(cells)}", cells)
    if request.domain is not None and request.domain.contexts:
        yield _alone("rows of one item, each in another context", _in_contexts(request, most))


def _left_to_auto(request: Request) -> Iterator[Pair]:
    """Users with little and with much, alone, and among so many that all steps are taken."""
    assert request.domain is not None
    yield _alone("one record", [_first(request)], request)
    yield _alone("many records in one cell", [_first(request)] * _MANY, request)
    every = _cells(request, min(_MANY, request.domain.size))
    yield _alone("a record in each of many cells", every, request)
    crowded = ceil(_PER_CONTEXT * request.domain.contexts_size / request.epsilon.value)
    others = min(crowded, _MOST_OTHERS)
    for number, words in ((12, "a few records or a dozen"), (3, "a few records")):
        crowd = tuple(
            Record(1 + user, every[(user * step + step) % len(every)])
            for user in range(others)
            for step in range(1, (number if user % 2 else 3) + 1)
        )
        among = f"among {others} with {words}"
        yield Pair(f"a user in each of many cells, {among}", crowd, _hers(every, request), keys=1)
        yield Pair(f"a user with one record, {among}", crowd, _hers(every[:1], request), keys=1)


def _alone_in(request: Request) -> Iterator[Pair]:
    """Users at the bound and over it, where nobody else is."""
    most = min(request.method.rule.limit, _MOST_RECORDS)
    cap = getattr(request.method.rule, "most", most)
    # Once in the last cell: if occupied cells were published first, the order would show it.
    bounds = (most, f"{most}, the bound", _first), (most + 1, "one more than the bound", _last)
    for number, words, place in bounds:
        once = [place(request)] * number
        # One item makes no pair.
        if (cap >= number or request.method.what == "records") and not request.method.pairs:
            yield _alone(f"records in one cell: {words}", once, request)
        spread = list(islice(cycle(_cells(request, number)), number))
        yield _alone(f"records of different cells: {words}", spread, request)
    if request.domain is not None and request.domain.contexts:
        yield _alone("records of one item in every context", _in_contexts(request, most), request)
    if request.measured:
        every = _cells(request, _MOST_RECORDS)
        yield _alone("once in every cell, which moves all counts the same way", every, request)
        yield _alone("once in every other cell", every[::2], request)
    if isinstance(request.method.rule, DPSense):
        cells = _cells(request, min(most + 1, max(1, _MOST_RECORDS // cap)))
        full = [cell for cell in cells for _ in range(cap)]
        yield _alone("as many records as the cap in each of several cells", full, request)


def _alone(words: str, cells: Sequence[Cell], request: Request | None = None) -> Pair:
    return Pair(f"a user alone, {words}", (), _hers(cells, request))


def _hers(cells: Sequence[Cell], request: Request | None) -> tuple[Record, ...]:
    quantity = request.records.quantity if request is not None else None
    return tuple(Record(HER, cell, quantity.most if quantity else 1) for cell in cells)


def _among(request: Request) -> Pair:
    """Others of whom a sample is kept: it may not change with her, whatever the key."""
    most = min(request.method.rule.limit, _MOST_RECORDS)
    cells = _cells(request, 4)
    crowd = [
        Record(1 + user, cells[(user + place) % len(cells)])
        for user in range(_CROWD)
        for place in range(min(most, 100) + len(cells))
    ]
    # As many of her records are kept however many she has; nothing else may depend on the rest.
    words = f"a user far over the bound, in one cell, among {_CROWD} who are over it"
    return Pair(words, tuple(crowd), _hers([_first(request)] * (most + 100), request), keys=1)


def _discovered(request: Request) -> Iterator[Pair]:
    """Cells of hers alone, and at the threshold; each in two records, which must count once."""
    assert request.discovery is not None
    rule, columns = request.discovery.tables[-1].rule, request.discovery.domain.columns
    # They differ in a column without a list, where any number of values can be.
    free = columns.index(request.discovery.domain.discovered[0])
    before, after = (0,) * free, (0,) * (len(columns) - free - 1)
    for cells, more in ((rule.limit, ""), (rule.limit + 1, ", one more than the bound")):
        new = [(*before, number, *after) for number in range(min(cells, _MOST_RECORDS))]
        hers = _hers([cell for cell in new for _ in range(2)], None)
        met = new[: _MOST_OTHERS // rule.threshold]
        crowd = [Record(1 + user, cell) for user, cell in enumerate(met * rule.threshold)]
        if crowd:
            words = f"a user with items that as many others have as must have them{more}"
            yield Pair(words, tuple(crowd), hers)
        yield Pair(f"a user alone, with items that nobody else has{more}", (), hers)


def swinging(request: Request) -> Iterator[Pair]:
    """Crowds at which one user moves some candidates up and others down."""
    rule, table = request.method.rule, request.tables[0]
    if isinstance(rule, DPSenseS):
        yield _rows_of_one(request)
        return
    noise = table.cells.size / table.epsilon.value  # the scores set it against the crowd
    choices = len(request.tables) if isinstance(rule, DPSense) else 1
    margin = 2 * log(_ODDS) / (float(request.part(CHOOSE).value) / choices)
    if request.method.choose == "rank":
        others = max(ceil(noise), ceil(2 * noise - margin))
        long, hers = 2, rule.limit + 1
    else:
        others = max(0, ceil(noise - margin))
        long, hers = rule.limit, rule.limit
    if others * long > _MOST_OTHERS:
        return
    crowd = [Record(1 + user, cell) for user in range(others) for cell in _row(request, long)]
    words = f"a user with a row of {hers} among {others} with rows of {long}"
    yield Pair(words, tuple(crowd), _hers(_row(request, hers), request))


def _rows_of_one(request: Request) -> Pair:
    """DPSense-S: one user in each cell, and one in all of them, whose row is scaled down."""
    cells = _cells(request, 64)
    crowd = tuple(Record(1 + place, cell) for place, cell in enumerate(cells))
    words = f"a user with each of {len(cells)} cells, where one other user has each"
    return Pair(words, crowd, _hers(cells, None))


def _row(request: Request, total: int) -> list[Cell]:
    """Records of one user whose row has this sum, in as few cells as the cap allows."""
    cap = getattr(request.method.rule, "most", total)
    cells = _cells(request, -(-total // cap))
    return [cells[place // cap % len(cells)] for place in range(total)]


def _first(request: Request) -> Cell:
    return _cells(request, 1)[0]


def _last(request: Request) -> Cell:
    assert request.domain is not None
    return tuple(len(axis) - 1 for axis in request.domain.axes)


def _in_contexts(request: Request, number: int) -> list[Cell]:
    assert request.domain is not None
    every = product((0,), *(range(len(axis)) for axis in request.domain.contexts))
    return list(islice(cycle(every), number))


def _cells(request: Request, number: int) -> list[Cell]:
    """Up to so many different cells: different items first, then their contexts."""
    assert request.domain is not None
    first, *rest = (len(axis) for axis in request.domain.axes)
    cells = ((item, *place) for place in product(*map(range, rest)) for item in range(first))
    return list(islice(cells, number))


# An attacker looks at those cells of a large table that one user can have changed.

_SMALL = 64
"""Of tables up to this size all cells are looked at."""

Touched = Mapping[str, NDArray[np.int64]]


def touched_cells(request: Request, pair: Pair) -> Touched:
    """For each table that is not small: the numbers of the published values of her cells."""
    ranked = [request.popularity] if request.popularity is not None else []
    return {
        table.name: _published(request, table, pair)
        for table in (*ranked, *request.tables)
        if table.layout.size > _SMALL
    }


def _published(request: Request, table: AnyTable, pair: Pair) -> NDArray[np.int64]:
    assert request.domain is not None
    if isinstance(table.cells, Pairs):
        items = sorted({record.cell[0] for record in pair.hers})
        numbers = [j * (j - 1) // 2 + i for j in items for i in items if i < j]
    else:
        width = request.domain.size // table.cells.size
        numbers = [request.domain.cell(record.cell) // width for record in pair.hers]
    cells, values = np.unique(np.array(numbers, dtype=np.int64), return_counts=True)
    counts = Counts(table.cells.size, cells, values, max(len(numbers), 1))
    made = table.transform.apply(counts, table.cells)
    return np.sort(made.cells.astype(np.int64))


def seen_of(released: Released, touched: Touched) -> Released:
    """The release with large tables cut down to these cells, and chosen items by their names."""
    tables = [_named(table) for table in released.tables]
    return replace(released, tables=tuple(_cut(table, touched.get(table.name)) for table in tables))


def _named(table: NoisyTable) -> NoisyTable:
    """A table of chosen items as one of all items, of which some were published.

    Which items are chosen differs from run to run: a number must mean the same item in each.
    """
    layout = table.layout
    if isinstance(layout, Picked):
        return replace(table, layout=layout.of, cells=layout.places)
    if isinstance(layout, Crossed) and isinstance(layout.first, Picked):
        width = layout.second.size
        cells = layout.first.places[:, None] * width + np.arange(width)
        return replace(table, layout=Crossed(layout.first.of, layout.second), cells=cells.ravel())
    return table


def _cut(table: NoisyTable, cells: NDArray[np.int64] | None) -> NoisyTable:
    if cells is None:
        return table
    if table.cells is None:
        return replace(table, cells=cells, values=table.values[cells])
    place, found = positions(table.cells, cells)
    return replace(table, cells=cells[found], values=table.values[place[found]])
