"""Sources whose types were guessed from their values: frames, relations, views over a CSV."""

from __future__ import annotations

import warnings
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any

import duckdb
import ibis
import pandas as pd
import polars as pl
import pyarrow as pa

from kit.kinds import Kind, Place, Rows, Schema, columns_of, spelled
from kit.kinds_stored import STORED, write_csv

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
