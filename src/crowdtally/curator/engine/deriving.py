"""What a record is about: columns and row-wise expressions, as values to match with the lists."""

from __future__ import annotations

from collections.abc import Mapping

from crowdtally.curator.engine import columns
from crowdtally.curator.engine.canonical import SourceColumn
from crowdtally.curator.engine.engine import Engine
from crowdtally.curator.engine.expressions import columns_of, row_expression
from crowdtally.curator.engine.joining import Joined
from crowdtally.errors import CrowdtallyError, InputError, did_you_mean
from crowdtally.values.domain import Axis, Domain
from crowdtally.values.records import Records


def matched(engine: Engine, records: Records, domain: Domain, joined: Joined) -> dict[str, str]:
    """The columns to match, under names of our own, each as its list's kind."""
    selected = {}
    for number, axis in enumerate(domain.axes):
        is_item = domain.has_items and number == 0
        text = None if is_item else records.contexts.get(axis.name)
        if text is None:
            column = str(records.item) if is_item else axis.name
            columns.require(column, joined.columns, "a context", "the table, with its joins,")
            columns.refuse_hopeless(axis, joined.columns[column])
            value, sql_type = columns.stored(column, joined.columns[column])
        else:
            value = _context(engine, text, axis, joined.columns)
            sql_type = _type_of(engine, value, joined.clause, axis.name)
        selected[f"axis_{number}"] = columns.matchable(value, sql_type, axis.kind, axis.name)
    return selected


def _type_of(engine: Engine, expression: str, clause: str, name: str) -> str:
    try:
        engine.define("probe", f"SELECT {expression} AS value FROM {clause}")
        return engine.schema("probe")["value"]
    except CrowdtallyError as error:
        raise type(error)(f"{name!r} cannot be computed from the columns: {error}") from error


def _context(engine: Engine, text: str, axis: Axis, schema: Mapping[str, SourceColumn]) -> str:
    tree = row_expression(text, f"the expression of context {axis.name!r}")
    for column in columns_of(tree):
        if column.lower() not in {name.lower() for name in schema}:
            raise InputError(
                f"the expression of context {axis.name!r} reads column {column!r}, which does not "
                f"exist. {did_you_mean(column, schema)}"
            )
    sql = tree.sql(dialect="duckdb", identify=True)  # quoted, no column can pass for a keyword
    engine.check_row_wise(sql, axis.name)
    # A value that the expression cannot take is a fault of one record: null, outside the domain.
    return f"TRY({sql})"
