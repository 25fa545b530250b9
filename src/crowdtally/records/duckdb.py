"""DuckDB as an engine, its compiler for Ibis expressions, and its errors in our words."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
from ibis.backends.sql.compilers.duckdb import DuckDBCompiler
from ibis.backends.sql.datatypes import DuckDBType
from numpy.typing import NDArray
from sqlglot import exp

from crowdtally.core import memory
from crowdtally.core.domain import Axis
from crowdtally.core.records import UTC
from crowdtally.core.registry import quoted
from crowdtally.errors import CrowdtallyError, InputError, UsageError
from crowdtally.records import csv, engine, matching
from crowdtally.records import open as opening
from crowdtally.records.columns import SourceColumn
from crowdtally.records.engine import NO_TYPES, Kept, MemoryFullError, Types, carried, census
from crowdtally.records.expressions.check import spans
from crowdtally.records.locate import Located
from crowdtally.records.open import Opened
from crowdtally.records.types import Stored, view_of


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """DuckDB's errors as ours, without the values that its messages quote."""
    try:
        yield
    except duckdb.Error as error:
        raise _translate(error, doing) from error


def _translate(error: duckdb.Error, doing: str) -> CrowdtallyError:
    text = str(error)
    ragged = re.search(r"CSV Error on Line: (\d+)", text)
    if ragged:
        expected = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text)
        detail = (
            f"has {expected[2]} fields where the header has {expected[1]}"
            if expected
            else "is not well-formed CSV (quotes or encoding)"
        )
        return InputError(f"while {doing}: line {ragged[1]}{_file(text)} {detail}: mend the file.")
    if isinstance(error, duckdb.OutOfMemoryException):
        return MemoryFullError(
            f"while {doing}: the engine ran out of memory; free memory or use a larger machine."
        )
    if "No space left" in text:
        return CrowdtallyError(f"while {doing}: the disk is full; free space and run again.")
    if isinstance(error, duckdb.CatalogException):
        missing = re.search(r"(Function|Type) with name \"?(\w+)\"? does not exist", text)
        what = f"the {missing[1].lower()} {missing[2]}" if missing else "a function, type or table"
        return UsageError(f"while {doing}: {what} does not exist; check its spelling.")
    if isinstance(error, duckdb.BinderException):
        return InputError(
            f"while {doing}: an expression does not fit the types of its columns; add a cast, such "
            "as CAST(column AS INTEGER)."
        )
    damage = duckdb.IOException, duckdb.InvalidInputException, duckdb.SerializationException
    # What DuckDB's Parquet reader throws at broken pages and footers has no class of its own.
    if isinstance(error, damage) or type(error) is duckdb.Error:
        return InputError(
            f"while {doing}: a file is damaged, cut off or not of the kind its name says; "
            "make it again or restore a good copy."
        )
    return CrowdtallyError(
        f"while {doing}: the engine stopped ({type(error).__name__}); --debug shows its own words."
    )


def _file(text: str) -> str:
    """The file that DuckDB's message names last, if it exists: a record may imitate the words."""
    named = re.findall(r"^ *file *= *(.+)$", text, flags=re.MULTILINE)
    return f" of {named[-1]!r}" if named and Path(named[-1]).is_file() else ""


class ExactDuckDBCompiler(DuckDBCompiler):  # type: ignore[misc]  # Ibis has no types
    """Divides whole numbers as whole numbers: Ibis divides floats, which err beyond 2^53."""

    __slots__ = ()

    def visit_FloorDivide(self, op: Any, *, left: Any, right: Any) -> Any:
        """The quotient rounded down; DuckDB's ``//`` rounds towards zero."""
        if not (op.left.dtype.is_integer() and op.right.dtype.is_integer()):
            return super().visit_FloorDivide(op, left=left, right=right)
        left, right = exp.paren(left), exp.paren(right)
        rest = exp.paren(exp.Mod(this=left, expression=right))
        above = exp.paren(exp.Add(this=rest, expression=right))
        rest = exp.paren(exp.Mod(this=above, expression=right))
        whole = exp.paren(exp.Sub(this=left, expression=rest))
        return exp.paren(exp.IntDiv(this=whole, expression=right))


compiler = ExactDuckDBCompiler()

# Ibis compiles expressions and DuckDB's own interface runs them, so that any releases of the two
# go together.

_OUTSIDE_TRY = "common_subexpressions,in_clause"
"""Optimisers that compute a part of an expression outside its TRY: a value that it cannot take
would stop the release instead of dropping its record."""
_BY_OTHER_ROWS = "statistics_propagation"
"""The optimiser that leaves out a part by a column's smallest and largest values: one user's value
would decide whether another's cast may fail."""
_SHORT = 8  # values; to search through more of them takes longer than a join
_PLACE_MACRO = "CREATE MACRO crowdtally_place(l, x) AS map(l, range(len(l)))[x]"
_LARGEST_HEAP = 100_000  # DuckDB refuses a million; with so many a window is no slower

Reach = Callable[[duckdb.DuckDBPyConnection, Located, str, Path], Opened]
"""What brings a source within DuckDB's reach: (connection, source, name, folder)."""


class DuckDBEngine:
    """One in-memory DuckDB with a private folder to spill to; close it after use."""

    def __init__(
        self, reach: Reach = opening.opened, settings: Mapping[str, str] | None = None
    ) -> None:
        self._reach = reach
        share, limited = memory.share(), dict[str, str]()
        if share is not None:  # DuckDB knows the machine's memory, and no limit on this process
            limited = {"threads": str(share.threads), "memory_limit": f"{share.memory >> 20} MiB"}
        self._folder = tempfile.TemporaryDirectory(prefix="crowdtally-")
        self._connection = duckdb.connect(
            ":memory:",
            config={
                "temp_directory": str(Path(self._folder.name) / "spill"),
                "autoinstall_known_extensions": "false",
                **limited,
                **(settings or {}),
            },
        )
        self._held: list[object] = []
        self._rows: dict[str, int] = {}
        # A context such as the weekday of a time stamp must not depend on the machine's zone.
        self.in_zone(UTC)
        self._connection.execute(f"SET disabled_optimizers = '{_OUTSIDE_TRY}'")
        self._connection.execute("SET enable_progress_bar = false")
        self._connection.execute(matching.DUCKDB_MACRO)
        self._connection.execute(_PLACE_MACRO)

    def __enter__(self) -> DuckDBEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._folder.cleanup()

    def open(
        self, located: Located, name: str, keys: Iterable[str] = (), types: Types = NO_TYPES
    ) -> dict[str, SourceColumn]:
        label = located.label or "the records"
        if located.needs_spark:
            raise UsageError(f"{located.label or 'a Spark DataFrame'} is read by --engine spark.")
        with translated(f"opening {label}"), self._copying_in_utc():
            source = self._reach(self._connection, located, name, Path(self._folder.name))
            self._held.append(source.keep)
            held = self._types(source.rows)
            self._rows[name] = opening.rows_of(self._connection, located, source, len(held))
            columns: dict[str, SourceColumn] = {}
            shown: dict[str, str] = {}
            for column, kind in held.items():
                stored = Stored(column, *opening.bare(column, kind), source.of(column))
                sql, columns[column] = view_of(stored, types.get(column), key=column in keys)
                shown |= sql
            plain = located.kind in ("parquet", "csv") and opening.all_plain(held)
            if plain and types.keys().isdisjoint(held):
                shown = {alias: sql for alias, sql in shown.items() if alias not in held}
                listed = ["*"]
            else:
                listed = []
            listed += [f"{sql} AS {quoted(alias)}" for alias, sql in shown.items()]
            self.define(name, f"SELECT {', '.join(listed)} FROM {source.rows}", label)
        return columns

    def in_zone(self, zone: str) -> None:
        self._zone = zone
        self._connection.execute(f"SET TimeZone = {csv.text(zone)}")

    @contextmanager
    def _copying_in_utc(self) -> Iterator[None]:
        """Copies of a database's rows must not depend on the zone that is asked for."""
        zone = self._zone
        self.in_zone(UTC)
        try:
            yield
        finally:
            self.in_zone(zone)

    def define(self, name: str, query: str, of: str = "the records") -> None:
        with translated(f"reading {of}"):
            self._connection.execute(f"CREATE OR REPLACE VIEW {quoted(name)} AS {query}")

    def schema(self, name: str) -> dict[str, str]:
        return self._types(quoted(name))

    def _types(self, rows: str) -> dict[str, str]:
        described = self._connection.execute(f"DESCRIBE FROM {rows}").fetchall()
        return {str(row[0]): str(row[1]) for row in described}

    def table(self, name: str) -> ibis.Table:
        types = {column: DuckDBType.from_string(kind) for column, kind in self.schema(name).items()}
        return ibis.table(types, name=name)

    def load_axis(self, name: str, axis: Axis) -> ibis.Table:
        return self.load(name, {"value": axis.values, "code": np.arange(len(axis))})

    def place_in(self, value: ibis.Value, axis: Axis) -> ibis.Value | None:
        """In a short list of texts: of a dictionary-encoded column each entry is looked up once."""
        if axis.kind != "text" or len(axis) > _SHORT:
            return None
        listed = ibis.literal(axis.values.tolist(), type="array<string>")
        place = ibis.udf.scalar.builtin(
            _place, signature=((listed.type(), value.type()), "int64"), name="crowdtally_place"
        )
        return place(listed, value)

    def load(self, name: str, columns: Mapping[str, NDArray[Any]]) -> ibis.Table:
        self._connection.register("incoming", dict(columns))
        self._connection.execute(f"CREATE OR REPLACE TABLE {quoted(name)} AS FROM incoming")
        self._connection.unregister("incoming")
        return self.table(name)

    def check_row_wise(self, sql: str, what: str, clause: str) -> None:
        """Refuse parts of dates that are asked of an interval or of a time of day."""
        names, arguments = spans(sql)
        with translated("reading the columns"):
            types = self._types(f"(SELECT {arguments} FROM {clause})").values() if names else ()
        for name, kind in zip(names, types, strict=True):
            if kind == "INTERVAL" or re.match(r"TIME(?!STAMP)", kind):
                raise InputError(
                    f"{what} asks {name}() of a value of type {kind}: it takes dates and times "
                    "with a date. Between two of them, date_diff('day', start, end) counts."
                )
        # From now on: a release without expressions has nothing that may fail, and keeps its speed.
        self._connection.execute(f"SET disabled_optimizers = '{_OUTSIDE_TRY},{_BY_OTHER_ROWS}'")
        self._refuse_constants(sql, what, clause)

    def _refuse_constants(self, sql: str, what: str, clause: str) -> None:
        """Refuse an expression that DuckDB cannot even plan, such as IF('x', a, b)."""
        try:
            self._connection.execute(f"EXPLAIN SELECT TRY({sql}) FROM {clause}").fetchall()
        except (duckdb.BinderException, duckdb.CatalogException):
            return  # a type that does not fit: a probe finds out what to declare
        except duckdb.Error as error:
            raise UsageError(
                f"{what} cannot be computed for any record: a constant in it is not of the type "
                "that is needed there, or a function does not take that type; cast it, such as "
                "CAST(column AS INTEGER)."
            ) from error

    def column(self, name: str, column: str) -> NDArray[np.int64] | NDArray[np.object_] | None:
        """A public list's values, in order; None where one is null."""
        fetched = self._connection.execute(f"SELECT {quoted(column)} FROM {quoted(name)}")
        values = fetched.fetchnumpy()[column]
        return None if isinstance(values, np.ma.MaskedArray) and values.mask.any() else values

    def arrow(self, query: str) -> Any:
        with translated("reading"):
            return self._connection.sql(query).to_arrow_table()

    def hash(self, key: int, columns: Sequence[ibis.Value]) -> ibis.Value:
        return matching.duckdb_hash(key, columns)

    def least(self, table: ibis.Table, limit: int) -> Kept:
        """Each user's ``limit`` smallest priorities, as ``engine.least`` defines them.

        DuckDB's ``min(x, n)`` keeps a small heap per user, where a window sorts all records. It
        returns priorities alone, so it serves only where they carry the cell. It ignores nulls; the
        rows are counted beside it.
        """
        if "cell" in table.columns or limit > _LARGEST_HEAP:
            return Kept(engine.least(table, limit))
        kept = ibis.udf.agg.builtin(
            _least, signature=((table.priority.type(), "int64"), "array<int64>"), name="min"
        )(table.priority, limit)
        lists = table.group_by("user").agg(priority=kept, **carried(table, table.priority))
        known = lists.filter(lists.user.notnull())
        rows = known.select("user", priority=known.priority.unnest())
        return Kept(rows, census(lists), lists)

    def arrays(self, expression: ibis.Table) -> dict[str, NDArray[np.int64]]:
        fetched = self.columns(expression)
        return {name: np.asarray(column, dtype=np.int64) for name, column in fetched.items()}

    def columns(self, expression: ibis.Table) -> dict[str, NDArray[Any]]:
        # DuckDB adds integers up in 128 bits, which NumPy would receive as floats.
        whole = [quoted(name) for name, kind in expression.schema().items() if kind.is_integer()]
        casts = ", ".join(f"CAST({name} AS BIGINT) AS {name}" for name in whole)
        columns = f"* REPLACE ({casts})" if casts else "*"
        with translated("counting the records"):
            query = f"SELECT {columns} FROM ({self.sql(expression)})"
            return dict(self._connection.execute(query).fetchnumpy())

    def materialise(self, expression: ibis.Table, name: str) -> ibis.Table:
        with translated("bounding the records"):
            self._connection.execute(
                f"CREATE OR REPLACE TEMP TABLE {quoted(name)} AS {self.sql(expression)}"
            )
        return ibis.table(expression.schema(), name=name)

    def forget(self) -> None:
        """Drop all temporary tables; no expression may use one afterwards."""
        tables = "SELECT table_name FROM duckdb_tables() WHERE temporary"
        for (name,) in self._connection.execute(tables).fetchall():
            self._connection.execute(f"DROP TABLE {quoted(name)}")

    def store(self, expression: ibis.Table, path: Path) -> None:
        """Write to a Parquet file, for other engines to count."""
        with translated("reading the records"):
            self._connection.execute(
                f"COPY ({self.sql(expression)}) TO {csv.text(str(path))} (FORMAT parquet)"
            )

    def parts(self) -> int:
        query = "SELECT current_setting('memory_limit')"
        with translated("reading"):
            ((limit,),) = self._connection.execute(query).fetchall()
        return opening.parts(self._rows.get("source", 0), opening.in_bytes(str(limit)))

    @staticmethod
    def sql(expression: ibis.Table) -> str:
        return str(compiler.to_sqlglot(expression).sql(dialect="duckdb"))


# Names for Ibis to call.
def _least(priority, limit): ...  # type: ignore[no-untyped-def]
def _place(listed, value): ...  # type: ignore[no-untyped-def]
