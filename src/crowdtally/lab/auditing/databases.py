"""Made-up databases, and a request that reads one of them instead of its own records.

Nothing but the records is replaced: the domain, the method, every share and every table of the
request are the very objects that a release uses. A made-up record names its cell directly, so what
a declaration computes from a row (conditions, expressions, joins) is not attacked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from crowdtally.core.domain import Axis, OpenDomain
from crowdtally.core.records import Quantity, Records
from crowdtally.curator.request.request import Request
from crowdtally.records.locate import Sources


@dataclass(frozen=True)
class Record:
    """One made-up record."""

    user: int
    """Whose it is."""
    cell: tuple[int, ...]
    """Its place on every axis of the domain; any number where a column has no list."""
    quantity: int = 1
    """How often it counts, where records have a quantity."""


@dataclass(frozen=True)
class Pair:
    """Two neighbouring databases: the others, and the others with one user more."""

    words: str
    """Who she is, and who the others are."""
    others: tuple[Record, ...]
    """The records of everybody else."""
    hers: tuple[Record, ...]
    """All her records."""
    keys: int = 4
    """How many sampling keys to run it with: privacy holds for each of them, and for their mix."""

    def database(self, *, with_user: bool) -> tuple[Record, ...]:
        """One of the two."""
        return self.others + self.hers if with_user else self.others


def on_records(request: Request, records: Sequence[Record]) -> Request:
    """The same request on made-up records."""
    import pyarrow as pa

    names = _axes(request)
    user, quantity = _beside(names, "user"), _beside(names, "quantity")
    columns: dict[str, Any] = {user: pa.array([one.user for one in records], pa.int64())}
    for place, name in enumerate(names):
        columns[name] = _values(request, place, [one.cell[place] for one in records])
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


def _axes(request: Request) -> list[str]:
    return list(_lists(request))


def _lists(request: Request) -> dict[str, Axis | None]:
    """The columns that name a cell, with their lists."""
    lists = request.lists
    if isinstance(lists, OpenDomain):
        return {name: lists.lists.get(name) for name in lists.columns}
    return {axis.name: axis for axis in lists.axes}


def _values(request: Request, place: int, codes: list[int]) -> Any:
    import pyarrow as pa

    axis = list(_lists(request).values())[place]
    if axis is None:
        return pa.array([f"item {code}" for code in codes], pa.string())
    kind = pa.string() if axis.kind == "text" else pa.int64()
    return pa.array([axis.values[code] for code in codes], kind)


def _beside(names: Sequence[str], wanted: str) -> str:
    """A column's name that no axis has, upper and lower case being one."""
    taken = {name.lower() for name in names}
    while wanted in taken:
        wanted += "_"
    return wanted
