"""Join, derive, match: records to (user, cell).

Everything here happens before bounding, row by row, so that it is part of what a record *is*.
Nothing after bounding may multiply or redefine records.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

import ibis
from sqlglot import exp

from crowdtally.core.domain import Axis, Domain, OpenDomain, columns_of
from crowdtally.core.records import Records
from crowdtally.core.registry import quoted
from crowdtally.errors import CrowdtallyError, InputError, did_you_mean
from crowdtally.records import columns
from crowdtally.records.columns import SourceColumn
from crowdtally.records.engine import Column, Engine, Rows, Types, cell_parts, either, smaller
from crowdtally.records.expressions import parse
from crowdtally.records.expressions.parse import WHERE, Tree
from crowdtally.records.locate import Sources
from crowdtally.records.matching import (
    PERSONS,
    Joined,
    identities,
    join,
    open_persons,
    refuse_own_list,
    with_cells,
    with_persons,
    with_values,
)
from crowdtally.records.types import TYPES

# Where an expression was refused: the types of text columns that it needs, by the expression and
# the columns' names alone. The records have no influence on it.

Lists = Domain | OpenDomain
_TRIED = ("int64", "float64", "timestamp", "timestamptz", "date", "bool")


def needed_types(engine: Engine, tree: Tree, what: str, joined: Joined) -> InputError | None:
    """A refusal that says which types to declare; None where none would help."""
    offered = {name.lower(): name for name, c in joined.columns.items() if c.type == "VARCHAR"}
    texts = [offered[name.lower()] for name in parse.columns_of(tree) if name.lower() in offered]
    for types in _candidates(tree, texts):
        if _fits(engine, tree, types, joined):
            options, named = typed_options(types), ", ".join(map(repr, types))
            # An expression that fits times without a zone fits those with one as well.
            if "timestamp" in types.values():
                options += " (timestamptz, where times have a zone)"
            return InputError(
                f"{what} needs another type than text for {named}. Columns of CSV files, frames "
                f"and views are text until their type is declared: add {options}."
            )
    return None


def typed_options(types: Types) -> str:
    """The options that declare these types, as they are typed in a shell.

    >>> typed_options({"rating": "int64", "the day": "date"})
    "--type rating=int64 --type 'the day=date'"
    """
    return " ".join(f"--type {shlex.quote(f'{name}={kind}')}" for name, kind in types.items())


def _candidates(tree: Tree, texts: list[str]) -> Iterator[dict[str, str]]:
    """One column alone, then all together; floats first where a number has a point."""
    has_point = any("." in one.name for one in tree.find_all(exp.Literal) if not one.is_string)
    tried = sorted(_TRIED, key=lambda kind: kind != "float64") if has_point else _TRIED
    for name in texts:
        yield from ({name: kind} for kind in tried)
    if len(texts) > 1:
        yield from (dict.fromkeys(texts, kind) for kind in tried)


def _fits(engine: Engine, tree: Tree, types: Types, joined: Joined) -> bool:
    wanted = {name.lower(): kind for name, kind in types.items()}

    def cast(node: Tree) -> Tree:
        if not isinstance(node, exp.Column) or node.name.lower() not in wanted:
            return node
        return exp.cast(node.copy(), TYPES[wanted[node.name.lower()]], dialect="duckdb")

    sql = tree.copy().transform(cast).sql(dialect="duckdb", identify=True)
    try:
        engine.define("probe", f"SELECT TRY({sql}) AS value FROM {joined.clause}")
    except CrowdtallyError:
        return False
    return True


# Columns and row-wise expressions as values to match with the lists, and the condition for which
# rows are records at all. All of it is computed from one row, before bounding.


def matched(engine: Engine, records: Records, lists: Lists, joined: Joined) -> dict[str, str]:
    """The columns that name a cell, under names of our own: each in the kind of its list.

    One without a public list has the type that a schema declares, else it is text.
    """
    return {
        f"axis_{number}": _axis(engine, records, name, axis, joined)
        for number, (name, axis) in enumerate(_axes(records, lists))
    }


def _axes(records: Records, lists: Lists) -> list[tuple[str, Axis | None]]:
    """The columns that name a cell, with their lists; the item has the records' name for it."""
    if isinstance(lists, OpenDomain):
        return [(name, lists.lists.get(name)) for name in lists.columns]
    axes: list[tuple[str, Axis | None]] = [(axis.name, axis) for axis in lists.axes]
    if lists.has_items:
        axes[0] = (str(records.item), lists.items)
    return axes


def _axis(engine: Engine, records: Records, name: str, axis: Axis | None, joined: Joined) -> str:
    is_item = name == records.item
    text = records.item_expression if is_item else records.contexts.get(name)
    if text is not None:
        what = parse.of_item(name) if is_item else parse.of_context(name)
        value, sql_type = _derived(engine, text, what, joined)
        kind = columns.kind_of(sql_type) or "text" if axis is None else axis.kind
        return columns.matchable(value, sql_type, kind, name)
    column = _column(name, "the item" if is_item else "a context", records, joined)
    if axis is None:
        return columns.discovered(name, column)
    columns.refuse_hopeless(axis, column)
    return columns.matchable(quoted(name), column.type, axis.kind, name)


def condition(engine: Engine, records: Records, joined: Joined) -> str:
    """SQL to write after the FROM clause: the WHERE clause, if there is a condition.

    A row for which it is false or null, or cannot be computed, is not a record: no later step sees
    it, not even the count of dropped rows.
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
    tree = parse.row_expression(text, what)
    _check_columns(tree, what, joined)
    sql = parse.written(tree)
    try:
        engine.check_row_wise(sql, what, joined.clause)
    except InputError as error:
        raise (needed_types(engine, tree, what, joined) or error) from None
    # An error is of one record alone: it becomes null, outside the domain.
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
    for column in parse.columns_of(tree):
        if column.lower() not in known:
            raise InputError(
                f"{what} reads column {column!r}, which does not exist. "
                f"{did_you_mean(column, joined.columns)}"
            )
        source = known[column.lower()]
        if not source.declared and source.type != "VARCHAR":
            raise InputError(
                f"{what} reads column {column!r}, whose values are lists or others without a text. "
                "Where types are inferred from the rows, expressions read text alone: give the "
                "records as a Parquet file, or store what you need of it in a column of its own."
            )


_MOST_PERSONS = 2**33
_KEY = "a join key, which is a column of the records themselves"


@dataclass(frozen=True)
class Prepared:
    """Every record as an expression, before bounding.

    The cell is null outside the domain, and the user may be null: such a record is never kept or
    counted, but the pass that counts sees it, and so knows how many there are. Where a column has
    no public list, its values name a cell: ``cell``, ``cell_1``, ….
    """

    rows: Rows
    """(user, cell[, id][, quantity]), or (cell[, weight]) where each row is one person; and
    ``inexact``, where a value of a column of inferred type may be lost."""
    lists: Lists
    """The public lists, of all columns or of some."""
    matched: Rows
    """The same rows for the curator's eyes, with each value (``axis_0``, …), its place in its list
    (``code_0``, …), whether each join found a partner (``partner_0``, …), and a quantity before its
    cut (``said``)."""
    columns: Mapping[str, SourceColumn] = field(hash=False)
    """The columns that the records offer, with their joins."""

    @property
    def domain(self) -> Domain:
        if isinstance(self.lists, OpenDomain):
            raise ValueError("columns without a public list have no domain")
        return self.lists

    def width_of(self, size: int) -> int:
        """How many cells of the domain make one cell of a table with ``size`` cells."""
        return self.domain.size // size

    def rows_by(self, width: int) -> Rows:
        """All rows, numbered by the cells of a table in which one cell is ``width`` of these."""
        if width == 1:
            return self.rows
        return self.rows.mutate(cell=(self.rows.cell // width).cast("int64"))

    def rows_told_by(self, most: int) -> Rows:
        """All rows, their cells numbered by cell and quantity, 1 … ``most``: cell·most + q − 1.

        A rule keeps these cells like any other, and each says how often it counts.
        """
        if most == 1:
            return self.rows
        number = self.rows.cell * most + (self.rows.quantity - 1)
        return self.rows.mutate(cell=number.cast("int64")).drop("quantity")


def prepare(
    engine: Engine, records: Records, lists: Lists | None, sources: Sources | None = None
) -> Prepared:
    """Open the sources, check the declaration, build the expression; None discovers all columns."""
    lists = lists or OpenDomain.of(records)
    persons, offered = open_records(engine, records, lists, sources or Sources(records))
    return _match(engine, records, lists, persons, offered)


def open_records(
    engine: Engine, records: Records, lists: Lists, sources: Sources
) -> tuple[Rows | None, Mapping[str, SourceColumn]]:
    """Define the view ``records``, or refuse a declaration that does not fit the schema.

    No row of the records or of joined tables is read. Returns the table of which ids are one
    person's, if there is one, and the columns that are offered.
    """
    source, joins = sources.records, sources.joins
    for axis in lists.axes if isinstance(lists, Domain) else lists.listed:
        refuse_own_list(axis.name, axis.origin, sources)
    engine.in_zone(records.timezone)
    keys = [look_up.declared.key for look_up in joins]
    schema = engine.open(source, "source", keys, records.types)
    name = source.label or "the table"
    for column, role in _needed(records):
        columns.require(column, schema, role, name)
    joined = join(engine, joins, schema, records.types, name)
    same = sources.same_person
    persons = None if same is None else open_persons(engine, records, same)
    _refuse_unknown_types(records, joined, () if same is None else engine.schema(PERSONS))
    selected = identities(records, joined.columns)
    selected |= matched(engine, records, lists, joined)
    selected |= _inexact(records, joined.columns)
    selected |= {f"partner_{number}": sql for number, sql in enumerate(joined.partners)}
    projection = ", ".join(f"{sql} AS {quoted(alias)}" for alias, sql in selected.items())
    taken = condition(engine, records, joined)
    engine.define("records", f"SELECT {projection} FROM {joined.clause}{taken}")
    return persons, joined.columns


def _refuse_unknown_types(records: Records, joined: Joined, persons: Collection[str]) -> None:
    """Refuse a mistyped name: the column that was meant would stay text."""
    known = {*joined.columns, *(join.partner_key for join in records.joins)}
    for name in records.types:
        if name not in known and name in persons:
            raise InputError(
                f"--type declares {name!r}, a column of the table of --same-person alone: there "
                "only ids have a type, and a person is called as the text says. Leave it out."
            )
        if name not in known:
            raise InputError(
                f"--type declares a column {name!r}, which does not exist. "
                f"{did_you_mean(name, joined.columns)}"
            )


def _needed(records: Records) -> list[tuple[str, str]]:
    roles = [
        *((column, "the user") for column in records.user_columns),
        (records.record_id, "the record id"),
        (records.weight, "the weight"),
        (records.quantity.column if records.quantity else None, "the quantity"),
        *((join.key, _KEY) for join in records.joins),
    ]
    return [(column, role) for column, role in roles if column is not None]


def _inexact(records: Records, schema: Mapping[str, SourceColumn]) -> dict[str, str]:
    """SQL for whether a row has a value without a canonical text or id, which may be lost."""
    ids = {*records.user_columns, records.record_id}
    texts = {
        name: (columns.identity(name, column, "an id") if name in ids else quoted(name))
        for name, column in schema.items()
        if name in ids | _read_as_they_are(records) and not column.declared
    }
    lost = [
        f"({columns.own(name, schema[name])[0]} IS NOT NULL AND {text} IS NULL)"
        for name, text in texts.items()
    ]
    return {"inexact": f"CAST({' OR '.join(lost)} AS INTEGER)"} if lost else {}


def _read_as_they_are(records: Records) -> set[str]:
    """The columns that are matched or counted directly, not through an expression."""
    used = set(columns_of(records))
    used -= {name for name, text in records.contexts.items() if text is not None}
    used -= {str(records.item)} if records.item_expression is not None else set()
    return used | ({records.quantity.column} if records.quantity is not None else set())


def _match(
    engine: Engine,
    records: Records,
    lists: Lists,
    persons: Rows | None,
    offered: Mapping[str, SourceColumn],
) -> Prepared:
    """Every record with its cell: null where a value, partner, weight or quantity is missing."""
    rows = engine.table("records")
    if persons is not None:
        rows = with_persons(rows, persons)
    if isinstance(lists, Domain):
        rows = with_cells(engine, rows, lists)
    else:
        rows = with_values(engine, rows, lists)
    for number in range(len(records.joins)):
        rows = rows.mutate(cell=_only(rows[f"partner_{number}"], rows.cell))
    if "weight" in rows.columns:
        # A weight below 1 is a fault. One above any number of persons is cut: if its row were
        # dropped, one person more would take all of its persons away.
        rows = rows.mutate(
            cell=_only(rows.weight > 0, rows.cell),
            weight=smaller(rows.weight, _MOST_PERSONS),
            weighs=rows.weight > 0,
        )
    if records.quantity is not None:
        rows = rows.mutate(
            cell=_only(rows.quantity > 0, rows.cell),
            quantity=smaller(rows.quantity, records.quantity.most),
            said=smaller(rows.quantity, _MOST_PERSONS),
            counts=rows.quantity > 0,
        )
    names = ("user", "id", "weight", *cell_parts(rows), "quantity", "inexact")
    kept = rows.select(*(name for name in names if name in rows.columns))
    return Prepared(kept, lists, rows, offered)


def _only(condition: Column, value: Column) -> Column:
    """The value where the condition is true; null where it is false or null."""
    return either(condition, value, ibis.null(value.type()))
