"""What a record is about: columns and row-wise expressions, as values to match with the lists.

And which rows are records at all: those for which the condition holds. All of it is computed from
one row, before bounding.
"""

from __future__ import annotations

from crowdtally.curator.engine import columns
from crowdtally.curator.engine.canonical import SourceColumn
from crowdtally.curator.engine.engine import Engine
from crowdtally.curator.engine.expressions import (
    WHERE,
    columns_of,
    of_context,
    of_item,
    row_expression,
)
from crowdtally.curator.engine.joining import Joined
from crowdtally.errors import CrowdtallyError, InputError, did_you_mean
from crowdtally.values.domain import Domain
from crowdtally.values.records import Records


def matched(engine: Engine, records: Records, domain: Domain, joined: Joined) -> dict[str, str]:
    """The columns to match, under names of our own, each as its list's kind."""
    selected = {}
    for number, axis in enumerate(domain.axes):
        is_item = domain.has_items and number == 0
        text = records.item_expression if is_item else records.contexts.get(axis.name)
        if text is None:
            name = str(records.item) if is_item else axis.name
            column = _column(name, "the item" if is_item else "a context", records, joined)
            columns.refuse_hopeless(axis, column)
            value, sql_type = columns.stored(name, column)
        else:
            what = of_item(axis.name) if is_item else of_context(axis.name)
            value, sql_type = _derived(engine, text, what, joined)
        selected[f"axis_{number}"] = columns.matchable(value, sql_type, axis.kind, axis.name)
    return selected


def discovered(engine: Engine, records: Records, joined: Joined) -> str:
    """SQL for items without a public list."""
    name, text = str(records.item), records.item_expression
    if text is None:
        return columns.discovered(name, _column(name, "the item", records, joined))
    value, sql_type = _derived(engine, text, of_item(name), joined)
    folded = {known.lower(): column for known, column in joined.columns.items()}
    read = columns_of(row_expression(text, of_item(name)))
    # The kind is published. Where a type was inferred from the rows, one user could decide it.
    public = all(folded[column.lower()].declared for column in read)
    kind = (columns.kind_of(sql_type) if public else None) or "text"
    return columns.matchable(value, sql_type, kind, name)


def condition(engine: Engine, records: Records, joined: Joined) -> str:
    """What to write after the FROM clause, so that only records are left; nothing where all are.

    A row for which the condition is false or null, or cannot be computed, is not a record: no
    later step sees it, not even the one that counts what is dropped.
    """
    if records.where is None:
        return ""
    value, sql_type = _derived(engine, records.where, WHERE, joined)
    if sql_type != "BOOLEAN":
        raise InputError(
            f"{WHERE} must be true or false for each row, and has type {columns.shown(sql_type)}: "
            'compare it with something, for example "rating >= 4".'
        )
    return f" WHERE {value}"


def _column(name: str, role: str, records: Records, joined: Joined) -> SourceColumn:
    if name not in joined.columns and not records.joins:
        raise InputError(
            f"{joined.name} has no column {name!r} ({role}). {did_you_mean(name, joined.columns)} "
            "A column of another table comes with --join FILE:KEY."
        )
    columns.require(name, joined.columns, role, f"{joined.name}, with its joins,")
    return joined.columns[name]


def _derived(engine: Engine, text: str, what: str, joined: Joined) -> tuple[str, str]:
    """SQL for an expression that a person typed, and its type."""
    tree = row_expression(text, what)
    known = {name.lower() for name in joined.columns}
    for column in columns_of(tree):
        if column.lower() not in known:
            raise InputError(
                f"{what} reads column {column!r}, which does not exist. "
                f"{did_you_mean(column, joined.columns)}"
            )
    sql = tree.sql(dialect="duckdb", identify=True)  # quoted, no column can pass for a keyword
    engine.check_row_wise(sql, what)
    # A value that the expression cannot take is a fault of one record: null, outside the domain.
    value = f"TRY({sql})"
    try:
        engine.define("probe", f"SELECT {value} AS value FROM {joined.clause}")
        return value, engine.schema("probe")["value"]
    except CrowdtallyError as error:
        raise type(error)(f"{what} cannot be computed from the columns: {error}") from error
