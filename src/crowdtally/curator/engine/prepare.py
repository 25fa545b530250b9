"""Records → (user, cell): joined, derived, matched with the public lists.

Everything here happens before bounding, row by row, so that it is part of what a record *is*.
Nothing after bounding may multiply or redefine records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import ibis
import numpy as np
from numpy.typing import NDArray

from crowdtally.curator.engine import columns
from crowdtally.curator.engine.canonical import SourceColumn
from crowdtally.curator.engine.columns import quoted
from crowdtally.curator.engine.engine import Engine
from crowdtally.curator.engine.expressions import columns_of, row_expression
from crowdtally.curator.engine.joining import Joined, join
from crowdtally.curator.engine.located import Sources
from crowdtally.curator.engine.own_lists import refuse_own_list
from crowdtally.errors import CrowdtallyError, InputError, did_you_mean
from crowdtally.values.domain import Axis, Domain
from crowdtally.values.records import Records

WIDEST = 2**62
"""Cells up to which a cell's number is computed by the engine."""
_MOST_PERSONS = 2**33


@dataclass(frozen=True)
class Prepared:
    """In-domain records as an expression: columns ``user``, ``cell`` and, if stored, ``id``.

    Where no public list of items exists, ``cell`` is the item itself.
    """

    table: ibis.Table
    """(user, cell[, id]), or (cell[, weight]) where each row is one person; not yet bounded."""
    lists: Domain | None
    """The domain; None where the items have no public list."""
    all_rows: ibis.Table
    """Every record, for the curator's eyes: how many are dropped."""

    @property
    def domain(self) -> Domain:
        """The domain where there is one."""
        if self.lists is None:
            raise ValueError("items without a public list have no domain")
        return self.lists

    @property
    def has_id(self) -> bool:
        """Whether a stored record id tells a user's records apart."""
        return "id" in self.table.columns


@dataclass(frozen=True)
class Dropped:
    """How many rows will not be counted. For the curator's eyes, never in a release."""

    rows: int
    """All rows of the source."""
    without_user: int
    """Rows whose user is null."""
    outside: int
    """Rows with a user but an item or context outside the lists, or no partner in a join."""
    inexact: int = 0
    """Rows of both kinds that hold a value which a column without a schema cannot vouch for."""


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
    selected |= _inexact(records, domain, joined.columns) | {"partner": joined.partner}
    projection = ", ".join(f"{sql} AS {quoted(alias)}" for alias, sql in selected.items())
    engine.define("records", f"SELECT {projection} FROM {joined.clause}")
    return _match(engine, domain)


def count_dropped(engine: Engine, prepared: Prepared) -> Dropped:
    """Read every record once: damage shows before anything is charged; count what falls out."""
    rows, table = prepared.all_rows, prepared.table
    users = rows.user.count() if "user" in rows.columns else rows.count()
    # Plain counts are answered from a file's footer; only a value made of all others reads them.
    others = [rows[name] for name in ("user", "id", "weight", "item") if name in rows.columns]
    reads = {"read": engine.hash(0, others).bit_xor()} if others else {}
    if "inexact" in rows.columns:
        reads["inexact"] = rows.inexact.sum()
    found = engine.arrays(rows.aggregate(rows=rows.count(), users=users, **reads))
    totals = {name: int(column[0]) for name, column in found.items()}
    kept = int(engine.arrays(table.aggregate(kept=table.count()))["kept"][0])
    without_user, outside = totals["rows"] - totals["users"], totals["users"] - kept
    return Dropped(totals["rows"], without_user, outside, totals.get("inexact", 0))


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
    lost = [
        f"({quoted(name)} IS NOT NULL AND {quoted(column.twin)} IS NULL)"
        for name, column in schema.items()
        if name in used and column.twin is not None
    ]
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


def _match(engine: Engine, domain: Domain | None) -> Prepared:
    """Join the records with the lists; what has no partner there is outside the domain."""
    rows = engine.table("records")
    table = rows.filter(rows.partner)
    if "user" in rows.columns:
        table = table.filter(table.user.notnull())
    if "weight" in rows.columns:
        # What stands for nobody is a fault. More than there are people is cut, not dropped: one
        # person more would else take all of a row's persons away.
        table = table.filter(table.weight > 0)
        table = table.mutate(weight=ibis.least(table.weight, _MOST_PERSONS))
    stored = [name for name in ("user", "id", "weight") if name in rows.columns]
    if domain is None:
        known = table.filter(table.item.notnull())
        return Prepared(known.select(*stored, cell=known.item), None, rows)
    for number, axis in enumerate(domain.axes):
        listed = engine.load_axis(f"axis_{number}", axis)
        listed = listed.rename({f"value_{number}": "value", f"code_{number}": "code"})
        table = table.inner_join(listed, table[f"axis_{number}"] == listed[f"value_{number}"])
    codes = [table[f"code_{number}"] for number in range(len(domain.axes))]
    return Prepared(table.select(*stored, cell=_cell(codes, domain)), domain, rows)


def _cell(codes: list[ibis.Value], domain: Domain) -> ibis.Value:
    """The cell's number; where 64 bits do not hold all of them, the codes as text."""
    if domain.size > WIDEST:
        return ibis.literal(".").join([code.cast("string") for code in codes])
    cell = codes[0]
    for code, axis in zip(codes[1:], domain.axes[1:], strict=True):
        cell = cell * len(axis) + code
    return cell


def cell_numbers(cells: NDArray[Any], domain: Domain) -> NDArray[Any]:
    """The numbers of cells as they were fetched: 64-bit, or Python integers beyond that."""
    if domain.size <= WIDEST:
        return np.asarray(cells, dtype=np.int64)
    numbers = np.empty(len(cells), dtype=object)
    numbers[:] = [domain.cell([int(code) for code in text.split(".")]) for text in cells]
    return numbers
