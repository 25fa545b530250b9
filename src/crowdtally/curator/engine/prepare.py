"""Records → (user, cell): joined, derived, matched with the public lists.

Everything here happens before bounding, row by row, so that it is part of what a record *is*.
Nothing after bounding may multiply or redefine records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import ibis

from crowdtally.curator.engine import columns
from crowdtally.curator.engine.canonical import SourceColumn
from crowdtally.curator.engine.engine import Engine
from crowdtally.curator.engine.expressions import columns_of, row_expression
from crowdtally.curator.engine.joining import Joined, join
from crowdtally.curator.engine.located import Sources
from crowdtally.curator.engine.matching import with_cells
from crowdtally.curator.engine.own_lists import refuse_own_list
from crowdtally.curator.engine.relations import Column, Rows, either, smaller
from crowdtally.errors import CrowdtallyError, InputError, did_you_mean
from crowdtally.values.domain import Axis, Domain
from crowdtally.values.records import Records
from crowdtally.values.sql import quoted

_MOST_PERSONS = 2**33


@dataclass(frozen=True)
class Prepared:
    """Every record as an expression, bounded by nothing yet.

    A record outside the domain has no cell (null), a record of nobody no user: neither is ever
    kept or counted, but both are seen, so that the pass which counts can say how many there are.
    Where no public list of items exists, ``cell`` is the item itself.
    """

    rows: Rows
    """(user, cell[, id]), or (cell[, weight]) where each row is one person; and ``inexact``, where
    a value may be one that its column cannot vouch for."""
    lists: Domain | None
    """The domain; None where the items have no public list."""

    @property
    def domain(self) -> Domain:
        """The domain where there is one."""
        if self.lists is None:
            raise ValueError("items without a public list have no domain")
        return self.lists

    def width_of(self, size: int) -> int:
        """How many cells of the domain make one of a table of so many: those of an item, or 1."""
        return self.domain.size // size

    def rows_by(self, width: int) -> Rows:
        """All rows, their cells numbered as in a table of which each cell is ``width`` of these."""
        if width == 1:
            return self.rows
        return self.rows.mutate(cell=(self.rows.cell // width).cast("int64"))


def prepare(
    engine: Engine, records: Records, domain: Domain | None, sources: Sources | None = None
) -> Prepared:
    """Open the sources, check the declaration against their schema, build the expression."""
    sources = sources or Sources(records)
    source, joins = sources.records, sources.joins
    for axis in domain.axes if domain is not None else ():
        refuse_own_list(axis.name, axis.origin, sources)
    schema = engine.open(source, "source", keys=[key for _, key in joins])
    name = source.label or "the table"
    for column, role in _needed(records):
        columns.require(column, schema, role, name)
    joined = join(engine, joins, schema)
    selected = _identities(records, joined.columns)
    if domain is not None:
        selected |= _matched(engine, records, domain, joined)
    elif records.item is not None:
        selected["item"] = columns.discovered(records.item, joined.columns[records.item])
    selected |= _inexact(records, domain, joined.columns)
    if records.joins:
        selected["partner"] = joined.partner
    projection = ", ".join(f"{sql} AS {quoted(alias)}" for alias, sql in selected.items())
    engine.define("records", f"SELECT {projection} FROM {joined.clause}")
    return _match(engine, records, domain)


def _needed(records: Records) -> list[tuple[str, str]]:
    roles = [
        (records.user, "the user"),
        (records.item, "the item"),
        (records.record_id, "the record id"),
        (records.weight, "the weight"),
        *((key, "a join key") for _, key in records.joins),
    ]
    return [(column, role) for column, role in roles if column is not None]


def _identities(records: Records, schema: Mapping[str, SourceColumn]) -> dict[str, str]:
    """The user, the stored record id and the weight, under names of our own."""
    selected = {}
    for alias, column, role in (
        ("user", records.user, "the user"),
        ("id", records.record_id, "the record id"),
    ):
        if column is not None:
            selected[alias] = columns.identity(column, schema[column], role)
    if records.weight is not None:
        selected["weight"] = columns.whole_number(records.weight, schema[records.weight])
    return selected


def _inexact(
    records: Records, domain: Domain | None, schema: Mapping[str, SourceColumn]
) -> dict[str, str]:
    """Whether a row has a value, but none that its column can vouch for: see ``canonical``."""
    axes = () if domain is None else domain.axes
    derived = {name for name, text in records.contexts.items() if text is not None}
    used = {records.user, records.record_id, records.item, *(axis.name for axis in axes)} - derived
    ids = {records.user, records.record_id}
    texts = {
        name: (
            columns.identity(name, column, "an id")
            if name in ids
            else columns.stored(name, column)[0]
        )
        for name, column in schema.items()
        if name in used and not column.declared
    }
    lost = [f"({quoted(name)} IS NOT NULL AND {text} IS NULL)" for name, text in texts.items()]
    return {"inexact": f"CAST({' OR '.join(lost)} AS INTEGER)"} if lost else {}


def _matched(engine: Engine, records: Records, domain: Domain, joined: Joined) -> dict[str, str]:
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
    tree = row_expression(text, axis.name)
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


def _match(engine: Engine, records: Records, domain: Domain | None) -> Prepared:
    """Every record with its cell; null where a value, a partner or a weight is missing."""
    rows = engine.table("records")
    rows = rows.mutate(cell=rows.item) if domain is None else with_cells(engine, rows, domain)
    if records.joins:
        rows = rows.mutate(cell=_only(rows.partner, rows.cell))
    if "weight" in rows.columns:
        # A row that stands for nobody is a fault. One of more persons than there are is cut, not
        # dropped: one person more would otherwise take all of its persons away.
        rows = rows.mutate(
            cell=_only(rows.weight > 0, rows.cell), weight=smaller(rows.weight, _MOST_PERSONS)
        )
    names = ("user", "id", "weight", "cell", "inexact")
    return Prepared(rows.select(*(name for name in names if name in rows.columns)), domain)


def _only(condition: Column, value: Column) -> Column:
    """The value where the condition holds; else, and where it is not known, null."""
    return either(condition, value, ibis.null(value.type()))
