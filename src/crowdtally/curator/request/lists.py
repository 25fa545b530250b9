"""Public lists of values from files and frames."""

from __future__ import annotations

from collections.abc import Collection

from crowdtally.core.domain import Axis
from crowdtally.core.records import Records
from crowdtally.errors import InputError, UsageError
from crowdtally.records import columns
from crowdtally.records.duckdb import DuckDBEngine, translated
from crowdtally.records.locate import Sources, locate
from crowdtally.records.matching import refuse_own_list


def read_list(
    source: object,
    name: str,
    column: str | None = None,
    *,
    apart_from: Records | Sources | None = None,
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
        others = Sources(apart_from) if isinstance(apart_from, Records) else apart_from
        refuse_own_list(name, located.origin, others)
    label = located.label or "the list"
    with DuckDBEngine() as engine:
        schema = engine.open(located, "list")
        column = column or _default_column(schema, name, label)
        columns.require(column, schema, "the list", label)
        value, sql_type = columns.own(column, schema[column])
        kind = columns.kind_of(sql_type)
        if kind is None:
            raise InputError(
                f"column {column!r} of {label} has type {sql_type}: a list of values "
                "must be text or integers."
            )
        target = "VARCHAR" if kind == "text" else "BIGINT"
        engine.define("typed", f"SELECT CAST({value} AS {target}) AS value FROM list")
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
