"""Public lists of values from files and from the command line."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

import numpy as np

from crowdtally.curator.engine import columns
from crowdtally.curator.engine.duckdb import DuckDBEngine
from crowdtally.curator.engine.duckdb_errors import translated
from crowdtally.curator.engine.own_lists import refuse_own_list
from crowdtally.curator.engine.sources import locate
from crowdtally.errors import InputError, UsageError
from crowdtally.values.domain import Axis
from crowdtally.values.records import Records
from crowdtally.values.sql import quoted

_RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)")
_LONGEST_RANGE = 10_000_000


def read_list(
    source: object, name: str, column: str | None = None, *, apart_from: Records | None = None
) -> Axis:
    """The public list in one column of a file or frame, in the file's order.

    Args:
        source: what ``locate`` takes.
        name: the axis the list is for.
        column: where it stands; by default the column called ``name``, else the only one.
        apart_from: the records that the list is for, whose own values it must not be.
    """
    located = locate(source)
    if apart_from is not None:
        refuse_own_list(name, located.origin, apart_from)
    label = located.label or "the list"
    with DuckDBEngine() as engine:
        schema = engine.open(located, "list")
        column = column or _default_column(schema, name, label)
        columns.require(column, schema, "the list", label)
        kind = columns.kind_of(schema[column].type)
        if kind is None:
            raise InputError(
                f"column {column!r} of {label} has type {schema[column].type}: a list of values "
                "must be text or integers."
            )
        target = "VARCHAR" if kind == "text" else "BIGINT"
        engine.define("typed", f"SELECT CAST({quoted(column)} AS {target}) AS value FROM list")
        with translated(f"reading {label}"):
            values = engine.column("typed", "value")
    if values is None:
        raise InputError(f"the list in {label} ({column}) contains a null: remove it.")
    if located.kind == "csv":
        return Axis.plainest(name, values.tolist(), origin=located.origin)
    return Axis(name, values, origin=located.origin)


def _default_column(schema: Collection[str], name: str, label: str) -> str:
    if name in schema:
        return name
    if len(schema) == 1:
        return next(iter(schema))
    raise UsageError(
        f"{label} has several columns and none called {name!r}: say which holds the list, as "
        f"FILE:COLUMN. There are: {', '.join(schema)}."
    )


def split_file(text: str) -> tuple[str, str | None]:
    """``FILE[:COLUMN]`` into its parts; a file whose name has a colon wins."""
    file, colon, column = text.rpartition(":")
    if not colon or Path(text).exists() or "/" in column:
        return text, None
    return file, column


def parse_values(text: str, apart_from: Records | None = None) -> Axis:
    """``NAME=a,b,c``, ``NAME=0..120`` or ``NAME=@FILE[:COLUMN]``.

    >>> parse_values("hour=0..23").values[-1], parse_values("sex=F,M").kind
    (np.int64(23), 'text')
    """
    name, equals, listed = text.partition("=")
    if not equals or not name.strip() or not listed.strip():
        raise UsageError(
            f"a list of values is NAME=a,b,c or NAME=0..120 or NAME=@FILE[:COLUMN]: "
            f"received {text!r}."
        )
    name, listed = name.strip(), listed.strip()
    if listed.startswith("@"):
        file, column = split_file(listed[1:])
        return read_list(file, name, column, apart_from=apart_from)
    ends = _RANGE.fullmatch(listed)
    if ends:
        first, last = int(ends[1]), int(ends[2])
        if not 0 < last - first + 1 <= _LONGEST_RANGE or max(abs(first), abs(last)) >= 2**63:
            raise UsageError(
                f"the range {listed!r} of {name!r} is empty or too long: at most {_LONGEST_RANGE} "
                "values, the smaller end first."
            )
        return Axis(name, np.arange(first, last + 1, dtype=np.int64))
    values = [value.strip() for value in listed.split(",")]
    if "" in values:
        raise UsageError(
            f"the list of values for {name!r} has an empty value between two commas or at an end: "
            f"received {listed!r}. Remove the comma, or give the list as {name}=@FILE."
        )
    return Axis.plainest(name, values)
