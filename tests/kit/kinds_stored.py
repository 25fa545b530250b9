"""Sources with a stored schema: files and databases that say of which type a column is."""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as parquet

from kit.kinds import Kind, Place, Rows, Schema, columns_of, spelled

_ARROW = {
    "integer": pa.int64(),
    "text": pa.string(),
    "mixed": pa.string(),
    "code": pa.dictionary(pa.int32(), pa.string()),
    "timestamp": pa.timestamp("us"),
    "decimal": pa.decimal128(12, 2),
}
_SQL = {
    "integer": "BIGINT",
    "text": "VARCHAR",
    "mixed": "VARCHAR",
    "timestamp": "TIMESTAMP",
    "decimal": "DECIMAL(12, 2)",
}
_TIMED = frozenset({"integer", "text", "code", "mixed", "timestamp", "decimal"})


def _stored(schema: Schema, rows: Rows) -> list[tuple[Any, ...]]:
    """The rows, with text in the columns that a schema declares as text."""
    texts = [kind in ("text", "mixed", "code") for kind in schema.values()]
    return [
        tuple(spelled(value) if text else value for value, text in zip(row, texts, strict=True))
        for row in rows
    ]


def declared_table(schema: Schema, rows: Rows) -> pa.Table:
    """The rows as an Arrow table of the declared types."""
    columns = columns_of(schema, _stored(schema, rows))
    return pa.table({name: pa.array(columns[name], _ARROW[kind]) for name, kind in schema.items()})


def write_csv(path: Path, schema: Schema, rows: Rows) -> Path:
    """The rows as CSV; what is missing is nothing between two commas."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([tuple(schema), *rows])
    return path


def _parquet(place: Place, schema: Schema, rows: Rows) -> Path:
    path = place.folder / f"{place.name()}.parquet"
    parquet.write_table(declared_table(schema, rows), path)
    return path


def _csv(place: Place, schema: Schema, rows: Rows) -> Path:
    return write_csv(place.folder / f"{place.name()}.csv", schema, rows)


def _duckdb_file(place: Place, schema: Schema, rows: Rows) -> Path:
    """A file with the table ``visits`` and the view ``seen`` of it."""
    path = place.folder / f"{place.name()}.duckdb"
    columns = columns_of(schema, _stored(schema, rows))
    with duckdb.connect(str(path)) as base:
        types = [_enum(columns[n]) if k == "code" else _SQL[k] for n, k in schema.items()]
        base.execute(f"CREATE TABLE visits ({_declared(schema, types)})")
        base.register("incoming", declared_table(schema, rows))
        base.execute("INSERT INTO visits FROM incoming")
        base.execute("CREATE VIEW seen AS FROM visits")
    return path


def _enum(values: Iterable[str | None]) -> str:
    """An ENUM of the values that there are, in their order: its numbers depend on all of them."""
    texts = ", ".join(f"'{text}'" for text in sorted({value for value in values if value}))
    return f"ENUM ({texts})"


def _declared(names: Iterable[str], types: Iterable[str]) -> str:
    return ", ".join(f'"{name}" {kind}' for name, kind in zip(names, types, strict=True))


def _sqlite(declare: dict[str, str]) -> Any:
    """A writer of SQLite tables whose columns are declared so; untyped where nothing is said."""

    def write(place: Place, schema: Schema, rows: Rows) -> str:
        path = place.folder / f"{place.name()}.db"
        types = [declare.get(kind, "") for kind in schema.values()]
        with closing(sqlite3.connect(path)) as base, base:
            base.execute(f"CREATE TABLE visits ({_declared(schema, types)})")
            marks = ", ".join("?" * len(schema))
            base.executemany(f"INSERT INTO visits VALUES ({marks})", rows)
        return f"sqlite://{path}#visits"

    return write


def _postgres(place: Place, schema: Schema, rows: Rows) -> str:
    import psycopg

    url, name = place.database(), place.name()
    columns = columns_of(schema, _stored(schema, rows))
    with psycopg.connect(url) as base:
        types = []
        for column, kind in schema.items():
            types.append(_SQL.get(kind, f"{name}_{column}"))
            if kind == "code":
                base.execute(f"CREATE TYPE {types[-1]} AS {_enum(columns[column])}")
        base.execute(f"CREATE UNLOGGED TABLE {name} ({_declared(schema, types)})")
        with base.cursor().copy(f"COPY {name} FROM STDIN") as copy:
            for row in _stored(schema, rows):
                copy.write_row(row)
    return f"{url}#{name}"


_TYPES = {"integer": "INTEGER", "text": "TEXT", "code": "TEXT", "mixed": "TEXT"}

STORED: dict[str, Kind] = {
    "parquet": Kind(_parquet, stored=True, types=_TIMED),
    "csv": Kind(_csv, stored=True, empty_is_null=True),
    "duckdb table": Kind(lambda *a: f"{_duckdb_file(*a)}#visits", stored=True, types=_TIMED),
    "duckdb view of a table": Kind(
        lambda *a: f"{_duckdb_file(*a)}#seen", stored=False, types=_TIMED, alike=True
    ),
    "sqlite": Kind(_sqlite(_TYPES), stored=True),
    "sqlite integers": Kind(
        _sqlite({**_TYPES, "mixed": "INTEGER"}), stored=True, mixed="integer", alike=True
    ),
    "sqlite untyped": Kind(
        _sqlite({}),
        stored=False,
        fractions=True,
        types=frozenset({"integer", "text", "code", "mixed", "number"}),
    ),
    "postgresql": Kind(_postgres, stored=True, types=_TIMED),
}
