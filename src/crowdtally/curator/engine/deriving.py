"""What a record is about: columns and row-wise expressions, as values to match with the lists.

And which rows are records at all: those for which the condition holds. All of it is computed from
one row, before bounding.
"""

from __future__ import annotations

from crowdtally.core.domain import Axis, Domain, OpenDomain
from crowdtally.core.records import Records
from crowdtally.core.registry import quoted
from crowdtally.curator.engine import columns
from crowdtally.curator.engine.canonical import SourceColumn
from crowdtally.curator.engine.engine import Engine
from crowdtally.curator.engine.expressions import (
    WHERE,
    Tree,
    columns_of,
    of_context,
    of_item,
    row_expression,
    written,
)
from crowdtally.curator.engine.joining import Joined
from crowdtally.curator.engine.needing import needed_types
from crowdtally.errors import CrowdtallyError, InputError, did_you_mean


def matched(
    engine: Engine, records: Records, lists: Domain | OpenDomain, joined: Joined
) -> dict[str, str]:
    """The columns that name a cell, under names of our own: each as its list's kind.

    One without a public list has the type that a schema declares, else it is text.
    """
    return {
        f"axis_{number}": _axis(engine, records, name, axis, joined)
        for number, (name, axis) in enumerate(_axes(records, lists))
    }


def _axes(records: Records, lists: Domain | OpenDomain) -> list[tuple[str, Axis | None]]:
    """The columns that name a cell, with their lists; items are called as the records do."""
    if isinstance(lists, OpenDomain):
        return [(name, lists.lists.get(name)) for name in lists.columns]
    found: list[tuple[str, Axis | None]] = [(axis.name, axis) for axis in lists.axes]
    if lists.has_items:
        found[0] = (str(records.item), lists.items)
    return found


def _axis(engine: Engine, records: Records, name: str, axis: Axis | None, joined: Joined) -> str:
    is_item = name == records.item
    text = records.item_expression if is_item else records.contexts.get(name)
    if text is not None:
        what = of_item(name) if is_item else of_context(name)
        value, sql_type = _derived(engine, text, what, joined)
        kind = columns.kind_of(sql_type) or "text" if axis is None else axis.kind
        return columns.matchable(value, sql_type, kind, name)
    column = _column(name, "the item" if is_item else "a context", records, joined)
    if axis is None:
        return columns.discovered(name, column)
    columns.refuse_hopeless(axis, column)
    return columns.matchable(quoted(name), column.type, axis.kind, name)


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
    _check_columns(tree, what, joined)
    sql = written(tree)
    try:
        engine.check_row_wise(sql, what, joined.clause)
    except InputError as error:
        raise (needed_types(engine, tree, what, joined) or error) from None
    # A value that the expression cannot take is a fault of one record: null, outside the domain.
    value = f"TRY({sql})"
    try:
        engine.define("probe", f"SELECT {value} AS value FROM {joined.clause}")
        return value, engine.schema("probe")["value"]
    except InputError as error:
        raise needed_types(engine, tree, what, joined) or _uncomputable(what, error) from error
    except CrowdtallyError as error:
        raise _uncomputable(what, error) from error


def _uncomputable(what: str, error: CrowdtallyError) -> CrowdtallyError:
    return type(error)(f"{what} cannot be computed from the columns: {error}")


def _check_columns(tree: Tree, what: str, joined: Joined) -> None:
    """Refuse columns that are not there, and values that depend on an inferred type."""
    known = {name.lower(): column for name, column in joined.columns.items()}
    for column in columns_of(tree):
        if column.lower() not in known:
            raise InputError(
                f"{what} reads column {column!r}, which does not exist. "
                f"{did_you_mean(column, joined.columns)}"
            )
        found = known[column.lower()]
        if not found.declared and found.type != "VARCHAR":
            raise InputError(
                f"{what} reads column {column!r}, whose values are lists or others without a text. "
                "Where types are inferred from the rows, expressions read text alone: give the "
                "records as a Parquet file, or store what you need of it in a column of its own."
            )
