"""Random databases of a few users, and the noise-free part of a release on them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st

from crowdtally.core.counts import Counts, What
from crowdtally.core.domain import Domain
from crowdtally.core.records import Quantity, Records
from crowdtally.curator.bounding.sampling import HPA, SRA
from crowdtally.curator.counting.bounded import count
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.prepare import Prepared, prepare
from kit.remembering import RememberingEngine

ITEMS, CONTEXTS = 4, 3
DOMAIN = Domain(range(ITEMS), {"context": range(CONTEXTS)}, item="item")
PLAIN = Domain(range(ITEMS), item="item")
KEYS = (0, 1, 2**62 + 99, 2**63 - 1, 123456789123456789)

# Texts that some program or other takes for equal: they are different users.
ALIKE = ["1", "01", " 1", "1 ", "1.0", "a", "A", "\u00e9", "e\u0301", "", "NULL"]

Row = tuple[Any, Any, Any, Any]
"""User, item, context, id; any of them may be None."""
Kept = dict[Any, Counter[int]]
"""For each user how many records of which cell are kept."""


@dataclass(frozen=True)
class Shape:
    """The types of the columns that a curator cannot choose."""

    user: str = "int64"
    id: str | None = None
    """None where no record id is stored."""
    derived: bool = False
    """Whether ``ROLES`` are declared as well."""

    def table(self, rows: Sequence[Row]) -> pa.Table:
        kinds = (self.user, "int64", "int64", self.id or "int64")
        names = ("user", "item", "context", "id")
        columns = zip(*rows, strict=True) if rows else [()] * 4
        arrays = [
            pa.array(list(values), pa.type_for_alias(kind))
            for values, kind in zip(columns, kinds, strict=True)
        ]
        return pa.table(dict(zip(names, arrays, strict=True)))

    def records(self, source: object, domain: Domain) -> Records:
        contexts = {axis.name: None for axis in domain.contexts}
        declared = Records(source, "user", "item", contexts, "id" if self.id else None)
        return replace(declared, **ROLES) if self.derived else declared


@dataclass(frozen=True)
class Quantified(Shape):
    """Records without an id; what else would be their id says how often each counts."""

    most: int = 3

    def records(self, source: object, domain: Domain) -> Records:
        declared = super().records(source, domain)
        return replace(declared, quantity=Quantity("id", self.most))


SHAPES = (
    Shape(),
    Shape(id="int64"),
    Shape("string"),
    Shape("string", id="string"),
)
TRIED = [
    SHAPES[1], SHAPES[2], *(pytest.param(one, marks=pytest.mark.long) for one in SHAPES[::3])
]  # fmt: skip
"""The same for a test: with ids and without, users that are numbers and texts; others are long."""
DERIVED = (Shape("string", derived=True), Shape("string", id="int64", derived=True))
ROLES: dict[str, Any] = {
    "where": "item <> 1 OR (id % 3 = 0 AND 10 // (context - 1) < 5)",
    "item_expression": "3 - item",
    "contexts": {"context": "hour(to_timestamp(context * 3600)) - 5"},
    "timezone": "Asia/Kolkata",  # where it is half past five, six and seven then
    "types": {"item": "int64", "context": "int64", "id": "int64"},
}
"""Records that a condition chooses, with an item that is computed and hours of another zone."""


class Counting:
    """Bounds and counts one database after another, all of one shape; a context manager."""

    def __init__(self, shape: Shape, domain: Domain = DOMAIN) -> None:
        self.shape, self._domain, self.engine = shape, domain, RememberingEngine()

    def __enter__(self) -> Self:
        self.engine.__enter__()
        records = self.shape.records(self.shape.table([]), self._domain)
        self.prepared = self.engine.prepare(records, self._domain)
        return self

    def __exit__(self, *error: Any) -> None:
        self.engine.__exit__(*error)

    def kept(self, rows: Sequence[Row], rule: Any, key: int, what: What) -> Kept:
        """What a rule keeps of each user."""
        self.engine.replace(rows)
        return kept_by(self.engine, self.prepared, rule, key, what)

    def counts(
        self, rows: Sequence[Row], rule: Any, key: int, what: What, *, pairs: bool = False
    ) -> tuple[Counts, Counts]:
        """The tables that a release counts."""
        self.engine.replace(rows)
        return count(
            self.engine, self.prepared, rule, key=key, what=what, pairs=pairs, times=rule.times
        ).found


def kept_of(source: object, shape: Shape, rule: Any, key: int, what: What) -> Kept:
    """What a rule keeps of each user, by an engine as a release opens one."""
    with DuckDBEngine() as engine:
        prepared = prepare(engine, shape.records(source, DOMAIN), DOMAIN)
        return kept_by(engine, prepared, rule, key, what)


def kept_by(engine: Any, prepared: Prepared, rule: Any, key: int, what: What) -> Kept:
    cells = prepared.domain.size
    kept = rule.keep(engine, prepared.rows, cells=cells, key=key, what=what)
    columns = engine.columns(kept.rows)
    found: Kept = defaultdict(Counter)
    for user, cell in zip(columns["user"].tolist(), columns["cell"].tolist(), strict=True):
        found[str(user)][cell] += 1  # in a frame, which declares no types, ids are text
    return dict(found)


def in_domain(rows: Sequence[Row]) -> dict[Any, Counter[int]]:
    """Each user's records that can be counted, by cell: what the rules may choose from."""
    found: dict[Any, Counter[int]] = defaultdict(Counter)
    for user, item, context, _ in rows:
        if user is not None and item in range(ITEMS) and context in range(CONTEXTS):
            found[str(user)][item * CONTEXTS + context] += 1
    return dict(found)


def l1_distance(one: Counts, other: Counts) -> int:
    return int(np.abs(one.dense() - other.dense()).sum())


def without(rows: Sequence[Row], user: object) -> list[Row]:
    """The neighbouring database that lacks all records of one user."""
    return [row for row in rows if row[0] != user]


# ---- strategies ----------------------------------------------------------------------------------


def users(shape: Shape) -> st.SearchStrategy[Any]:
    if shape.user == "string":
        return st.sampled_from(ALIKE)
    return st.sampled_from([1, 2, 3, 7, -7, 0, 2**40, 2**63 - 1])


def ids(shape: Shape) -> st.SearchStrategy[Any]:
    """Few different ids, so that some repeat; and nulls."""
    plain: st.SearchStrategy[Any] = st.integers(0, 9)
    if shape.id == "string":
        plain = plain.map(lambda number: f"r{number}")
    return st.one_of(st.none(), plain)


@cache
def databases(shape: Shape) -> st.SearchStrategy[list[Row]]:
    """Rows of a few users, some without a user, some outside the lists, in any order."""
    some = st.lists(users(shape), min_size=1, max_size=4, unique=True)
    return some.flatmap(lambda chosen: st.lists(_row(shape, chosen), max_size=20))


def _row(shape: Shape, chosen: list[Any]) -> st.SearchStrategy[Row]:
    return st.tuples(
        st.sampled_from([*chosen, *chosen, *chosen, None]),
        st.sampled_from([*range(ITEMS), *range(ITEMS), ITEMS, None]),
        st.sampled_from([*range(CONTEXTS), *range(CONTEXTS), CONTEXTS, None]),
        ids(shape),
    )


@st.composite
def rules(draw: st.DrawFn, largest: int = 4) -> Any:
    """A sampling rule: one line for each that exists."""
    limit = draw(st.integers(1, largest))
    popularity = np.array(draw(st.sampled_from(_POPULARITIES)), dtype=np.int64)
    return draw(
        st.sampled_from(
            [
                SRA(limit),
                HPA(limit, popularity),
            ]
        )
    )


_POPULARITIES = ((5, 5, 5, 5), (9, -3, 4, 0), (0, 1, 1, 2**62))
keys = st.sampled_from(KEYS)
whats: st.SearchStrategy[What] = st.sampled_from(["records", "users"])
