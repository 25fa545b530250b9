"""Records → (user, cell): joined, derived, matched with the public lists.

Everything here happens before bounding, row by row, so that it is part of what a record *is*.
Nothing after bounding may multiply or redefine records.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import ibis

from crowdtally.core.domain import Domain, OpenDomain, columns_of
from crowdtally.core.records import Records
from crowdtally.core.registry import quoted
from crowdtally.curator.engine import columns
from crowdtally.curator.engine.canonical import SourceColumn
from crowdtally.curator.engine.census import cell_parts
from crowdtally.curator.engine.deriving import condition, matched
from crowdtally.curator.engine.engine import Engine
from crowdtally.curator.engine.identifying import PERSONS, identities, open_persons, with_persons
from crowdtally.curator.engine.joining import Joined, join
from crowdtally.curator.engine.located import Sources
from crowdtally.curator.engine.matching import with_cells, with_values
from crowdtally.curator.engine.own_lists import refuse_own_list
from crowdtally.curator.engine.relations import Column, Rows, either, smaller
from crowdtally.errors import InputError, did_you_mean

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
        """The domain where there is one."""
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
