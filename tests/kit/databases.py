"""Tiny and random databases, their neighbours, and exact counts of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations_with_replacement, product
from typing import Any, Literal, Self
from unittest.mock import patch

import ibis
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
from crowdtally.records.engine import Kept
from crowdtally.records.prepare import Prepared, prepare

# ---- Tiny databases, all of a stated family, and their neighbours --------------------------------


Ids = Literal["none", "stored", "repeated", "quantities", "several"]
"""Whether records have a stored id: none; 0, 1, … within each user; or one and the same. Or what
the column says instead: quantities 3, 2, 1; or by which of her ids, 0 or 1, a user made it."""
History = tuple[int, ...]
"""One user's records: the cell of each."""
Database = tuple[History, ...]
"""The history of each user; an empty one is nobody."""
Row = tuple[int, int, int, int]
"""User, item, context, id."""

USERS = (1, 2, 3)


@dataclass(frozen=True)
class Space:
    """A public domain of items × contexts."""

    items: int
    contexts: int

    @property
    def cells(self) -> int:
        return self.items * self.contexts

    def rows(self, database: Database, ids: Ids) -> list[Row]:
        """The records as rows, user by user."""
        return [
            (user, *divmod(cell, self.contexts), _last(ids, place))
            for user, history in zip(USERS, database, strict=False)
            for place, cell in enumerate(history)
        ]


def _last(ids: Ids, place: int) -> int:
    return {"repeated": 7, "quantities": 3 - place, "several": place % 2}.get(ids, place)


def histories(cells: int, most: int) -> list[History]:
    """Every multiset of at most ``most`` cells."""
    return [h for n in range(most + 1) for h in combinations_with_replacement(range(cells), n)]


def databases(family: Sequence[History], users: int) -> list[Database]:
    """Every database of so many users, each with a history of the family, which has the empty one.

    So the family of databases is closed under taking a user away.
    """
    assert () in family
    return list(product(family, repeat=users))


def neighbours(database: Database) -> Iterator[Database]:
    """The database without one of its users, for each of them."""
    for user, history in enumerate(database):
        if history:
            yield (*database[:user], (), *database[user + 1 :])


# ---- An engine for thousands of tiny databases: each expression is compiled once -----------------


_RULES: tuple[Any, ...] = (SRA, HPA)


class RememberingEngine(DuckDBEngine):
    """Runs what production compiles, from a table whose rows can be replaced.

    Equal expressions share one prepared statement. DuckDB's optimizer, which takes longer than
    such a query, is off; tests of whole releases run with it on.
    """

    def __init__(self) -> None:
        super().__init__()
        self._statements: dict[object, str] = {}
        self._patches = [
            patch.object(ibis.udf.scalar, "builtin", _remembered(ibis.udf.scalar.builtin)),
            patch.object(ibis.udf.agg, "builtin", _remembered(ibis.udf.agg.builtin)),
            *(patch.object(rule, "keep", _remembered_rule(rule.keep)) for rule in _RULES),
        ]
        self._loaded: dict[object, ibis.Table] = {}
        self._connection.execute("SET threads = 1")
        self._connection.execute("PRAGMA disable_optimizer")

    def __enter__(self) -> Self:
        for patched in self._patches:
            patched.start()
        return self

    def __exit__(self, *error: Any) -> None:
        for patched in self._patches:
            patched.stop()
        super().__exit__(*error)

    def prepare(self, records: Records, domain: Domain | None) -> Prepared:
        """Prepare records that are held in memory, and keep them in a table of the engine's own."""
        prepared = prepare(self, records, domain)
        self._connection.execute("CREATE TABLE copied AS FROM source_held")
        self._connection.unregister("source_held")
        self._connection.execute("ALTER TABLE copied RENAME TO source_held")
        return prepared

    def replace(self, rows: Sequence[tuple[object, ...]]) -> None:
        """Replace all rows by these."""
        self._connection.execute("TRUNCATE source_held")
        if rows:
            marks = ", ".join(f"({', '.join('?' * len(row))})" for row in rows)
            values = [value for row in rows for value in row]
            self._connection.execute(f"INSERT INTO source_held VALUES {marks}", values)

    def load(self, name: str, columns: Mapping[str, Any]) -> ibis.Table:
        """Each content in a table of its own, so that an expression always means the same."""
        content = (name, *((column, _plain(values)) for column, values in columns.items()))
        if content not in self._loaded:
            self._loaded[content] = super().load(f"{name}_{len(self._loaded)}", columns)
        return self._loaded[content]

    def columns(self, expression: ibis.Table) -> dict[str, Any]:
        return dict(self._run(expression).fetchnumpy())

    def rows(self, expression: ibis.Table) -> list[tuple[Any, ...]]:
        """The result's rows."""
        return list(self._run(expression).fetchall())

    def materialise(self, expression: ibis.Table, name: str) -> ibis.Table:
        return expression

    def _run(self, expression: ibis.Table) -> Any:
        operation = expression.op()
        name = self._statements.get(operation)
        if name is None:
            name = self._statements[operation] = f"statement_{len(self._statements)}"
            self._connection.execute(f"PREPARE {name} AS {self.sql(expression)}")
        return self._connection.execute(f"EXECUTE {name}")


def _remembered(builtin: Callable[..., Any]) -> Callable[..., Any]:
    """Declare a function of the engine once, so that expressions that call it can be equal."""
    declared: dict[object, Any] = {}

    def declare(function: Any, *, name: str, signature: Any) -> Any:
        if (name, signature) not in declared:
            declared[name, signature] = builtin(function, name=name, signature=signature)
        return declared[name, signature]

    return declare


def _remembered_rule(keep: Callable[..., Kept]) -> Callable[..., Kept]:
    """Build the expression of an equal rule on an equal table once: it is a pure function."""
    built: dict[object, Kept] = {}

    def remembered(rule: Any, engine: DuckDBEngine, rows: ibis.Table, **given: Any) -> Kept:
        fields = (_plain(value) for value in vars(rule).values())
        known = (*fields, id(engine), rows.op(), *given.values())
        if known not in built:
            built[known] = keep(rule, engine, rows, **given)
        return built[known]

    return remembered


def _plain(value: Any) -> object:
    return tuple(value.tolist()) if isinstance(value, np.ndarray) else value


# ---- Random databases of a few users, and the noise-free part of a release on them ---------------


ITEMS, CONTEXTS = 4, 3
DOMAIN = Domain(range(ITEMS), {"context": range(CONTEXTS)}, item="item")
PLAIN = Domain(range(ITEMS), item="item")
KEYS = (0, 1, 2**62 + 99, 2**63 - 1, 123456789123456789)

# Texts that some program or other takes for equal: they are different users.
ALIKE = ["1", "01", " 1", "1 ", "1.0", "a", "A", "\u00e9", "e\u0301", "", "NULL"]

RowRandom = tuple[Any, Any, Any, Any]
"""User, item, context, id; any of them may be None."""
KeptRandom = dict[Any, Counter[int]]
"""For each user how many records of which cell are kept."""


@dataclass(frozen=True)
class Shape:
    """The types of the columns that a curator cannot choose."""

    user: str = "int64"
    id: str | None = None
    """None where no record id is stored."""
    derived: bool = False
    """Whether ``ROLES`` are declared as well."""

    def table(self, rows: Sequence[RowRandom]) -> pa.Table:
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

    def kept(self, rows: Sequence[RowRandom], rule: Any, key: int, what: What) -> KeptRandom:
        """What a rule keeps of each user."""
        self.engine.replace(rows)
        return kept_by(self.engine, self.prepared, rule, key, what)

    def counts(
        self, rows: Sequence[RowRandom], rule: Any, key: int, what: What, *, pairs: bool = False
    ) -> tuple[Counts, Counts]:
        """The tables that a release counts."""
        self.engine.replace(rows)
        return count(
            self.engine, self.prepared, rule, key=key, what=what, pairs=pairs, times=rule.times
        ).found


def kept_of(source: object, shape: Shape, rule: Any, key: int, what: What) -> KeptRandom:
    """What a rule keeps of each user, by an engine as a release opens one."""
    with DuckDBEngine() as engine:
        prepared = prepare(engine, shape.records(source, DOMAIN), DOMAIN)
        return kept_by(engine, prepared, rule, key, what)


def kept_by(engine: Any, prepared: Prepared, rule: Any, key: int, what: What) -> KeptRandom:
    cells = prepared.domain.size
    kept = rule.keep(engine, prepared.rows, cells=cells, key=key, what=what)
    columns = engine.columns(kept.rows)
    found: KeptRandom = defaultdict(Counter)
    for user, cell in zip(columns["user"].tolist(), columns["cell"].tolist(), strict=True):
        found[str(user)][cell] += 1  # in a frame, which declares no types, ids are text
    return dict(found)


def in_domain(rows: Sequence[RowRandom]) -> dict[Any, Counter[int]]:
    """Each user's records that can be counted, by cell: what the rules may choose from."""
    found: dict[Any, Counter[int]] = defaultdict(Counter)
    for user, item, context, _ in rows:
        if user is not None and item in range(ITEMS) and context in range(CONTEXTS):
            found[str(user)][item * CONTEXTS + context] += 1
    return dict(found)


def l1_distance(one: Counts, other: Counts) -> int:
    return int(np.abs(one.dense() - other.dense()).sum())


def without(rows: Sequence[RowRandom], user: object) -> list[RowRandom]:
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
def databases_random(shape: Shape) -> st.SearchStrategy[list[RowRandom]]:
    """Rows of a few users, some without a user, some outside the lists, in any order."""
    some = st.lists(users(shape), min_size=1, max_size=4, unique=True)
    return some.flatmap(lambda chosen: st.lists(_row(shape, chosen), max_size=20))


def _row(shape: Shape, chosen: list[Any]) -> st.SearchStrategy[RowRandom]:
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
                HPA(limit, popularity=popularity),
            ]
        )
    )


_POPULARITIES = ((5, 5, 5, 5), (9, -3, 4, 0), (0, 1, 1, 2**62))
keys = st.sampled_from(KEYS)
whats: st.SearchStrategy[What] = st.sampled_from(["records", "users"])
