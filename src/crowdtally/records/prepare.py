"""Join, derive, match: records to (user, cell)."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import ibis
from sqlglot import exp

from crowdtally.core.domain import Axis, Domain, OpenDomain, columns_of
from crowdtally.core.records import Records
from crowdtally.core.registry import quoted
from crowdtally.errors import CrowdtallyError, InputError, did_you_mean
from crowdtally.records import columns
from crowdtally.records.columns import SourceColumn, own_of, text_of
from crowdtally.records.engine import Column, Engine, Rows, cell_parts, either, smaller
from crowdtally.records.expressions.parse import (
    WHERE,
    Tree,
    of_context,
    of_item,
    row_expression,
    written,
)
from crowdtally.records.expressions.parse import columns_of as expression_columns
from crowdtally.records.locate import LookUp, Sources
from crowdtally.records.matching import (
    PERSONS,
    identities,
    open_persons,
    refuse_own_list,
    with_cells,
    with_persons,
    with_values,
)
from crowdtally.records.types import TYPES

# Records joined with tables that say more about them: each record finds one partner, or none.
#
# A key that repeats in the table has no row there: which of its rows is meant, nobody knows. So
# what a record finds depends on the rows of its own key alone, and no row of the table decides
# whether there is a release. The proof is in ``identifying.md``.

_PARTNER = "\u001fpartner"
"""The joined table's key, under a name that nobody gives to a column."""


@dataclass(frozen=True)
class Joined:
    """The view ``source`` with its joins."""

    clause: str
    """What to write after FROM."""
    columns: Mapping[str, SourceColumn]
    partners: tuple[str, ...]
    """SQL for whether a record has a partner, for each join."""
    name: str = "the table"
    """What a message calls the records."""


def join(
    engine: Engine,
    joins: Iterable[LookUp],
    schema: Mapping[str, SourceColumn],
    types: Mapping[str, str],
    name: str = "the table",
) -> Joined:
    """Join the view ``source`` with each table, by the records' key column and the table's.

    ``types`` are those that the curator declares, of the columns of any of the tables.
    """
    clause, known, partners = quoted("source"), dict(schema), list[str]()
    for number, found in enumerate(joins):
        table, key, partner_key = f"join_{number}", found.declared.key, found.declared.partner_key
        label = found.table.label or "the joined table"
        offered = engine.open(found.table, table, [partner_key], types)
        columns.require(partner_key, offered, "the join key", label)
        by_text = _by_text(found, offered[partner_key], schema[key], label)
        mine, theirs = (text_of(k) if by_text else k for k in (key, partner_key))
        del offered[partner_key]  # equal to the records' own key, and perhaps of the same name
        _refuse_clash(offered, known, label)
        keyed = f"{table}_keyed"
        engine.define(keyed, _keyed_rows(table, theirs, offered))
        partner = f"{quoted(keyed)}.{quoted(_PARTNER)}"
        clause += f" LEFT JOIN {quoted(keyed)} ON {quoted('source')}.{quoted(mine)} = {partner}"
        partners.append(f"{partner} IS NOT NULL")
        known = offered | known
    return Joined(clause, known, tuple(partners), name)


def _keyed_rows(table: str, key: str, offered: Mapping[str, SourceColumn]) -> str:
    """The rows whose key is theirs alone, the key under our own name.

    Its own name would stand for two columns.
    """
    own = [own_of(name) for name, column in offered.items() if column.own is not None]
    kept = "".join(f", {quoted(name)}" for name in (*offered, *own))
    once = f"SELECT {quoted(key)} FROM {quoted(table)} GROUP BY {quoted(key)} HAVING count(*) = 1"
    return (
        f"SELECT {quoted(key)} AS {quoted(_PARTNER)}{kept} FROM {quoted(table)} "
        f"WHERE {quoted(key)} IN ({once})"
    )


def _refuse_clash(
    offered: Mapping[str, SourceColumn], known: Mapping[str, SourceColumn], label: str
) -> None:
    """Refuse a name for two columns; engines do not tell capitals apart."""
    taken = {name.lower() for name in known}
    clash = sorted(name for name in offered if name.lower() in taken)
    if clash:
        raise InputError(
            f"column {clash[0]!r} is in the records and in {label}: rename one of them."
        )


def _by_text(found: LookUp, theirs: SourceColumn, mine: SourceColumn, label: str) -> bool:
    """Whether keys meet by their texts instead of their values.

    They do where a type was inferred, and where one key is text and the other an integer: '7' is
    the text of 7, and '07', '7.0' and ' 7' are other texts. Turning the text into an integer
    instead would make several keys of one table equal to a single key of the other.
    """
    if not (theirs.declared and mine.declared) or columns.text_and_integer(theirs.type, mine.type):
        return True
    if not columns.same_key(theirs.type, mine.type):
        key, partner_key = found.declared.key, found.declared.partner_key
        other = "" if key == partner_key else f" {key!r}"
        raise InputError(
            f"the join key {partner_key!r} is {columns.shown(theirs.type)} in {label} but"
            f"{other} {columns.shown(mine.type)} in the records: store both in one type."
        )
    return False


# Which types an expression needs of columns that are text: what to declare, where it is refused.
#
# By the expression and the names of text columns alone: what the records hold has no say in it.

_TRIED = ("int64", "float64", "timestamp", "timestamptz", "date", "bool")


def needed_types(engine: Engine, tree: Tree, what: str, joined: Joined) -> InputError | None:
    """A refusal that says which types to declare; None where none would help.

    Args:
        engine: on which the expression was refused.
        tree: the expression.
        what: what it is, for the message.
        joined: the columns that it reads.
    """
    offered = {name.lower(): name for name, c in joined.columns.items() if c.type == "VARCHAR"}
    texts = [offered[name.lower()] for name in expression_columns(tree) if name.lower() in offered]
    for types in _candidates(tree, texts):
        if _fits(engine, tree, types, joined):
            options, named = typed_options(types), ", ".join(map(repr, types))
            # What fits times without a zone fits those with one too: which they are, records say.
            if "timestamp" in types.values():
                options += " (timestamptz, where times have a zone)"
            return InputError(
                f"{what} needs another type than text for {named}. Columns of CSV files, frames "
                f"and views are text until their type is declared: add {options}."
            )
    return None


def typed_options(types: Mapping[str, str]) -> str:
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


def _fits(engine: Engine, tree: Tree, types: Mapping[str, str], joined: Joined) -> bool:
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


# What a record is about: columns and row-wise expressions, as values to match with the lists.
#
# And which rows are records at all: those for which the condition holds. All of it is computed
# from one row, before bounding.


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
    for column in expression_columns(tree):
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


# Records → (user, cell): joined, derived, matched with the public lists.
#
# Everything here happens before bounding, row by row, so that it is part of what a record *is*.
# Nothing after bounding may multiply or redefine records.

_MOST_PERSONS = 2**33
_KEY = "a join key, which is a column of the records themselves"


@dataclass(frozen=True)
class Prepared:
    """Every record as an expression, bounded by nothing yet.

    A row for which the condition does not hold is no record, and not among them.
    A record outside the domain has no cell (null), a record of nobody no user: neither is ever
    kept or counted, but both are seen, so that the pass which counts can say how many there are.
    Where a column has no public list, a cell is named by its values: ``cell``, ``cell_1``, ….
    """

    rows: Rows
    """(user, cell[, id][, quantity]), or (cell[, weight]) where each row is one person; and
    ``inexact``, where a value may be one that its column cannot vouch for."""
    lists: Domain | OpenDomain
    """The public lists, of all columns or of some."""
    matched: Rows
    """The same rows before what only explains them was left out: beside the above the place of
    each value in its list (``code_0``, …; ``axis_0``, … has the value), and whether each join
    found a partner (``partner_0``, …), and what a quantity says beyond the most that it counts
    (``said``). For the curator's eyes."""
    columns: Mapping[str, SourceColumn] = field(hash=False)
    """The columns that the records offer, with their joins."""

    @property
    def domain(self) -> Domain:
        if isinstance(self.lists, OpenDomain):
            raise ValueError("columns without a public list have no domain")
        return self.lists

    def width_of(self, size: int) -> int:
        """How many cells of the domain make one of a table of so many: those of an item, or 1."""
        return self.domain.size // size

    def rows_by(self, width: int) -> Rows:
        """All rows, their cells numbered as in a table of which each cell is ``width`` of these."""
        if width == 1:
            return self.rows
        return self.rows.mutate(cell=(self.rows.cell // width).cast("int64"))

    def rows_told_by(self, most: int) -> Rows:
        """All rows, their cells numbered by cell and quantity, 1 … ``most``: cell·most + q − 1.

        A rule then keeps records as ever, and what it keeps says how often each counts.
        """
        if most == 1:
            return self.rows
        told = self.rows.cell * most + (self.rows.quantity - 1)
        return self.rows.mutate(cell=told.cast("int64")).drop("quantity")


def prepare(
    engine: Engine,
    records: Records,
    lists: Domain | OpenDomain | None,
    sources: Sources | None = None,
) -> Prepared:
    """Open the sources, check the declaration against their schema, build the expression.

    Without ``lists`` no column has one: all of them are discovered.
    """
    lists = lists or OpenDomain.of(records)
    found = open_records(engine, records, lists, sources or Sources(records))
    return _match(engine, records, lists, *found)


def open_records(
    engine: Engine, records: Records, lists: Domain | OpenDomain, sources: Sources
) -> tuple[Rows | None, Mapping[str, SourceColumn]]:
    """Define the view ``records``, or refuse a declaration that does not fit the schema.

    No row of the records is read, nor of joined tables.

    Returns:
        Which ids are one person's, where a table says so; and the columns that are offered.
    """
    source, joins = sources.records, sources.joins
    for axis in lists.axes if isinstance(lists, Domain) else lists.listed:
        refuse_own_list(axis.name, axis.origin, sources)
    engine.in_zone(records.timezone)
    keys = [found.declared.key for found in joins]
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
    """Refuse a slip in a name: the column meant would stay text."""
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
    """Whether a row has a value, but none that its column can vouch for: see ``canonical``."""
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
    """The columns that are matched or counted themselves, instead of read by an expression."""
    used = set(columns_of(records))
    used -= {name for name, text in records.contexts.items() if text is not None}
    used -= {str(records.item)} if records.item_expression is not None else set()
    return used | ({records.quantity.column} if records.quantity is not None else set())


def _match(
    engine: Engine,
    records: Records,
    lists: Domain | OpenDomain,
    persons: Rows | None,
    offered: Mapping[str, SourceColumn],
) -> Prepared:
    """Every record with its cell; null where a value, a partner, a weight or quantity is missing.

    Its user is the person, where a table says who that is.
    """
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
        # A row that stands for nobody is a fault. One of more persons than there are is cut, not
        # dropped: one person more would otherwise take all of its persons away.
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
    """The value where the condition holds; else, and where it is not known, null."""
    return either(condition, value, ibis.null(value.type()))
