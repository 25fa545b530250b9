"""Every kind of source, stored and guessed: each writes the same rows in its own way."""

from __future__ import annotations

import csv
import sqlite3
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any, Literal

import duckdb
import ibis
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

# ---- The kinds of source: each writes the same rows in its own way -------------------------------
#
# A column has a type that a schema could declare. A kind with a stored schema declares it; the
# other kinds are given plain Python values, and guess a type from what they find.


Type = Literal["integer", "text", "code", "mixed", "number", "timestamp", "decimal"]
"""``code``: text in a dictionary, a categorical or an ENUM, where the kind has one. ``mixed``:
integers, and text among them; a schema would say text. ``number``: integers, and floats among them;
no schema declares such an id."""
Schema = Mapping[str, Type]
Rows = Sequence[tuple[Any, ...]]


@dataclass(frozen=True, repr=False)
class Place:
    """Where sources are written; they live as long as it does."""

    folder: Path
    """A folder of its own."""
    database: Callable[[], str]
    """The URL of a PostgreSQL database, made when it is first asked for."""
    session: Callable[[], Any]
    """A Spark session, started likewise."""
    held: list[Any] = field(default_factory=list)
    """Connections that a source reads through."""
    numbers: Iterator[int] = field(default_factory=count)

    def name(self) -> str:
        """A name that no other source has."""
        return f"source_{next(self.numbers)}"


@dataclass(frozen=True)
class Kind:
    """A kind of source, and what its rows become on their way into it."""

    write: Callable[[Place, Schema, Rows], Any]
    """Writes the rows and returns what ``ct.read`` takes."""
    stored: bool
    """Whether a schema declares the types, so that no row can change them."""
    types: frozenset[str] = frozenset({"integer", "text", "code", "mixed"})
    """The column types it can hold."""
    mixed: Literal["text", "integer"] = "text"
    """What a stored schema declares for a mixed column."""
    empty_is_null: bool = False
    """Whether empty text is not told from a missing value."""
    whole_below: int | None = None
    """Whole numbers from here on are dropped, where the kind may turn them into floats."""
    fractions: bool = False
    """Whether a number with a fraction can be a user: where the column is declared as text."""
    on_spark: bool = False
    """Whether Spark reads it."""
    alike: bool = False
    """Whether another kind is read by nearly the same code: what is tried is then mostly `long`."""

    def holds(self, schema: Schema) -> bool:
        """Whether it can hold columns of these types."""
        return set(schema.values()) <= self.types


def marks(kind: Kind, title: str = "", core: Sequence[str] = (), seldom: Sequence[str] = ()) -> Any:
    """The marks of a test: `long` where another kind, or another case, shows nearly the same."""
    quick = title in core if kind.alike else title not in seldom
    return () if quick else pytest.mark.long


def columns_of(schema: Schema, rows: Rows) -> dict[str, list[Any]]:
    """The rows by column."""
    return {name: [row[place] for row in rows] for place, name in enumerate(schema)}


def spelled(value: Any) -> str | None:
    """A value as a text column holds it."""
    return None if value is None else str(value)


# ---- Sources with a stored schema: files and databases that say of which type a column is --------


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


# ---- Sources whose types were guessed from their values: frames, relations, views over a CSV -----


_ALL = frozenset({"integer", "text", "code", "mixed", "number", "timestamp", "decimal"})
_FROM_CSV = frozenset({"integer", "text", "mixed", "number"})
_CENTS = pa.decimal128(12, 2)


def _guessed(values: list[Any]) -> pa.Array:
    """A column of the narrowest type that holds every value; text holds all of them."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {Decimal}:
        return pa.array(values, _CENTS)
    if kinds <= {int} or kinds == {datetime}:
        return pa.array(values)
    if kinds <= {int, float}:
        return pa.array([None if v is None else float(v) for v in values])
    return pa.array([spelled(value) for value in values])


def guessed_table(schema: Schema, rows: Rows) -> pa.Table:
    """The rows as an Arrow table of guessed types."""
    columns = columns_of(schema, rows)
    table = pa.table({name: _guessed(values) for name, values in columns.items()})
    for place, (name, kind) in enumerate(schema.items()):
        if kind == "code":
            table = table.set_column(place, name, table[name].dictionary_encode())
    return table


def _pandas(_: Place, schema: Schema, rows: Rows) -> pd.DataFrame:
    """What pandas makes of lists: integers beside a missing value become floats."""
    frame = pd.DataFrame(columns_of(schema, rows))
    return frame.astype({name: "category" for name, kind in schema.items() if kind == "code"})


def _pandas_nullable(_: Place, schema: Schema, rows: Rows) -> pd.DataFrame:
    """Columns of pandas' own nullable types, which keep integers beside a missing value."""
    nullable = {pa.int64(): pd.Int64Dtype(), pa.float64(): pd.Float64Dtype(),
                pa.string(): pd.StringDtype()}  # fmt: skip
    frame: pd.DataFrame = guessed_table(schema, rows).to_pandas(types_mapper=nullable.get)
    return frame


def _pandas_arrow(_: Place, schema: Schema, rows: Rows) -> pd.DataFrame:
    """Columns of Arrow's types in a pandas frame."""
    frame: pd.DataFrame = guessed_table(schema, rows).to_pandas(types_mapper=pd.ArrowDtype)
    return frame


def _polars(_: Place, schema: Schema, rows: Rows) -> pl.DataFrame:
    frame = pl.DataFrame(columns_of(schema, rows), strict=False)
    casts: dict[str, Any] = {"code": pl.Categorical, "decimal": pl.Decimal(12, 2)}
    return frame.cast({name: casts[kind] for name, kind in schema.items() if kind in casts})


def _csv_view(place: Place, schema: Schema, rows: Rows) -> str:
    """A view over a CSV, whose types DuckDB guesses each time that it is read."""
    path = write_csv(place.folder / f"{place.name()}.csv", schema, rows)
    file = path.with_suffix(".duckdb")
    with duckdb.connect(str(file)) as base:
        known = "header = true, delim = ',', quote = '\"', escape = '\"'"
        base.execute(f"CREATE VIEW visits AS FROM read_csv('{path}', {known})")
    return f"{file}#visits"


def _relation(place: Place, schema: Schema, rows: Rows) -> Any:
    place.held.append(duckdb.connect())
    return place.held[-1].from_arrow(guessed_table(schema, rows))


def _ibis(place: Place, schema: Schema, rows: Rows) -> Any:
    """A table that Ibis was given: from where, nobody can tell by looking at it."""
    path = place.folder / f"{place.name()}.duckdb"
    with duckdb.connect(str(path)) as base:
        base.register("incoming", guessed_table(schema, rows))
        base.execute("CREATE TABLE visits AS FROM incoming")
    place.held.append(ibis.duckdb.connect(str(path), read_only=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Ibis's own calls to DuckDB
        return place.held[-1].table("visits")


def _spark_frame(place: Place, schema: Schema, rows: Rows) -> Any:
    plain: dict[str, Any] = {name: "text" if k == "code" else k for name, k in schema.items()}
    return place.session().createDataFrame(guessed_table(plain, rows))


GUESSED: dict[str, Kind] = {
    "duckdb view of a csv": Kind(
        _csv_view, stored=False, types=_FROM_CSV, empty_is_null=True, whole_below=2**53
    ),
    "duckdb relation": Kind(_relation, stored=False, types=_ALL, alike=True),
    "pandas": Kind(_pandas, stored=False, types=_ALL, whole_below=2**53),
    "pandas nullable": Kind(_pandas_nullable, stored=False, types=_ALL, alike=True),
    "pandas arrow": Kind(_pandas_arrow, stored=False, types=_ALL, alike=True),
    "polars": Kind(_polars, stored=False, types=_ALL),
    "arrow": Kind(lambda _, *a: guessed_table(*a), stored=False, types=_ALL, alike=True),
    "arrow reader": Kind(
        lambda _, *a: guessed_table(*a).to_reader(), stored=False, types=_ALL, alike=True
    ),
    "ibis": Kind(_ibis, stored=False, types=_ALL, alike=True),
}

ON_SPARK: dict[str, Kind] = {
    "spark frame": Kind(_spark_frame, stored=False, types=_ALL, on_spark=True),
    "parquet on spark": replace(STORED["parquet"], on_spark=True),
    "pandas sent to spark": replace(GUESSED["pandas"], on_spark=True),
}

KINDS = {**STORED, **GUESSED}
"""Every kind that needs no cluster."""
