"""Whose record it is, its partners in joined tables, its cell, and the hash that orders records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from inspect import Parameter, Signature
from operator import and_
from typing import Any

import ibis
import ibis.expr.datatypes as dt
import numpy as np
from numpy.typing import NDArray

from crowdtally.core.domain import Axis, Domain, OpenDomain
from crowdtally.core.records import Origin, Records, SamePerson
from crowdtally.core.registry import quoted
from crowdtally.errors import InputError, UsageError
from crowdtally.records import columns
from crowdtally.records.columns import SourceColumn, own_of, text_of
from crowdtally.records.engine import Column, Engine, Rows, Types, either
from crowdtally.records.locate import Located, LookUp, Sources

# ``identifying.md`` proves what follows about users and persons.

PERSONS = "same_person"  # the view of the table that says which ids are one person's


def identities(records: Records, schema: Mapping[str, SourceColumn]) -> dict[str, str]:
    """SQL for the user, the stored record id, the weight and the quantity, by names of our own."""
    selected = {}
    if records.user is not None:
        selected["user"] = _user(records, schema)
    if records.record_id is not None:
        stored = schema[records.record_id]
        selected["id"] = columns.identity(records.record_id, stored, "the record id")
    if records.weight is not None:
        selected["weight"] = columns.whole_number(records.weight, schema[records.weight])
    if records.quantity is not None:
        column = records.quantity.column
        selected["quantity"] = columns.quantity(column, schema[column])
    return selected


def _user(records: Records, schema: Mapping[str, SourceColumn]) -> str:
    """One column in its own type; ids that are combined or looked up as their canonical text."""
    if len(records.user_columns) == 1 and records.same_person is None:
        (user,) = records.user_columns
        return columns.identity(user, schema[user], "the user")
    return _combined(records.user_columns, schema)


def _combined(names: tuple[str, ...], schema: Mapping[str, SourceColumn]) -> str:
    """One text for the ids together: different for different ids, null where one of them is."""
    parts = [columns.identity_text(name, schema[name], "the user") for name in names]
    if len(parts) == 1:
        return parts[0]
    # Its length stands before each part, so that 'a' + 'bc' is not 'ab' + 'c'. A null makes all
    # null.
    return " || ".join(f"CAST(length({part}) AS VARCHAR) || ':' || {part}" for part in parts)


def open_persons(engine: Engine, records: Records, located: Located) -> Rows:
    """The table of which ids are one person's, as (same_id, same_person), each id once.

    Rows without an id or without a person are ignored. Where an id has several persons, or one that
    cannot be read, the person is null: its records are dropped. The person of an id depends on the
    rows about that id alone, and no such row decides whether there is a release.
    """
    declared = records.same_person
    if declared is None:
        raise ValueError("no table says which ids are one person's")
    name = located.label or "the table of --same-person"
    _refuse_inexact(engine, records, located, name)
    # Types of ids only: a person that does not fit a type would be missing, and each of her ids
    # would be a person of its own.
    types = {user: records.types[user] for user in records.user_columns if user in records.types}
    offered = engine.open(located, PERSONS, types=types)
    for column in records.user_columns:
        columns.require(column, offered, "the user, as in the records", name)
    person = _person_column(declared, records.user_columns, offered, name)
    one_id = _combined(records.user_columns, offered)
    text = columns.identity_text(person, offered[person], "the person")
    own = [columns.own(c, offered[c])[0] for c in (*records.user_columns, person)]
    there = " AND ".join(f"{value} IS NOT NULL" for value in own)
    engine.define(
        "ids_of_persons",
        f"SELECT {one_id} AS same_id, {text} AS same_person, {there} AS stated "
        f"FROM {quoted(PERSONS)}",
        name,
    )
    rows = engine.table("ids_of_persons")
    _refuse_lost(engine, rows, name)
    about = rows.filter(rows.same_id.notnull(), rows.stated)
    person = about.same_person
    each = about.group_by("same_id").agg(
        person=person.max(), persons=person.nunique(), read=person.count(), rows=about.count()
    )
    one = (each.persons == 1) & (each.read == each.rows)
    known = each.select("same_id", same_person=either(one, each.person, ibis.null("string")))
    return engine.materialise(known, "persons_by_id")


def _person_column(
    declared: SamePerson, users: tuple[str, ...], offered: Mapping[str, SourceColumn], name: str
) -> str:
    """The column that was named, or the only one beside the ids."""
    others = [column for column in offered if column not in users]
    if declared.person is not None:
        columns.require(declared.person, offered, "the person", name)
        if declared.person in users:
            raise InputError(
                f"column {declared.person!r} of {name} is the id itself: --same-person FILE:COL "
                "names the column that says whose id it is."
            )
        return declared.person
    if len(others) == 1:
        return others[0]
    if not others:
        raise InputError(
            f"{name} has no column beside the id: --same-person needs one that names the person."
        )
    raise InputError(
        f"{name} has, beside the id, {', '.join(map(repr, others))}: say which of them names the "
        "person, --same-person FILE:COL."
    )


def _refuse_inexact(engine: Engine, records: Records, located: Located, name: str) -> None:
    """Refuse a table with an id that a frame may have lost, whatever type is declared for it.

    An id that does not fit the type is missing in the records too, and dropped there. But the
    records may hold a number of 2^53 and beyond that is lost here.
    """
    if records.types.keys().isdisjoint(records.user_columns):
        return
    offered = engine.open(located, "same_person_stored")
    ids = [user for user in records.user_columns if user in offered]
    own = {user: columns.own(user, offered[user])[0] for user in ids}
    lost = " OR ".join(f"({own[user]} IS NOT NULL AND {quoted(user)} IS NULL)" for user in ids)
    if lost:
        engine.define(
            "ids_lost",
            f"SELECT true AS stated, CASE WHEN NOT ({lost}) THEN '' END AS same_id "
            f"FROM {quoted('same_person_stored')}",
            name,
        )
        _refuse_lost(engine, engine.table("ids_lost"), name)


def _refuse_lost(engine: Engine, rows: Rows, name: str) -> None:
    """Refuse a table with an id that cannot be read: it is unknown whose records to leave out."""
    lost = rows.filter(rows.stated, rows.same_id.isnull())
    number = int(engine.arrays(lost.aggregate(rows=lost.count()))["rows"][0])
    if number:
        raise InputError(
            f"in {name} {number} {'row has' if number == 1 else 'rows have'} an id "
            "that is no whole number (a fraction, NaN), or too large to be exact: where types are "
            "not declared, such a number names nobody. Give the table as a CSV or Parquet file, "
            "in which they are text; nothing was charged."
        )


def with_persons(rows: Rows, persons: Rows) -> Rows:
    """The same rows, the user replaced by the person; an id that is not in the table stays.

    Rows of an id with several persons are dropped: under the id they would be one more person.
    """
    joined = rows.left_join(persons, rows.user == persons.same_id)
    user = either(joined.same_id.isnull(), joined.user, joined.same_person)
    return joined.mutate(user=user).drop("same_id", "same_person")


# Records joined with tables that say more about them: each record finds one partner, or none. A key
# that repeats in the table finds no partner, since which of its rows is meant is unknown. So a
# record's partner depends on the rows of its own key alone, and no row of the table decides whether
# there is a release.

_PARTNER = "\u001fpartner"  # the joined table's key, under a name that nobody gives to a column


@dataclass(frozen=True)
class Joined:
    """The view ``source`` with its joins."""

    clause: str
    columns: Mapping[str, SourceColumn]
    partners: tuple[str, ...]
    """SQL for whether a record has a partner, for each join."""
    name: str = "the table"
    """What a message calls the records."""


def join(
    engine: Engine,
    joins: Iterable[LookUp],
    schema: Mapping[str, SourceColumn],
    types: Types,
    name: str = "the table",
) -> Joined:
    """Join the view ``source`` with each table, by the records' key column and the table's."""
    clause, known, partners = quoted("source"), dict(schema), list[str]()
    for number, look_up in enumerate(joins):
        table, declared = f"join_{number}", look_up.declared
        key, partner_key = declared.key, declared.partner_key
        label = look_up.table.label or "the joined table"
        offered = engine.open(look_up.table, table, [partner_key], types)
        columns.require(partner_key, offered, "the join key", label)
        by_text = _by_text(look_up, offered[partner_key], schema[key], label)
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
    """The rows whose key occurs once, with the key under a name that no other column can have."""
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
    """Refuse a name of two columns; engines ignore capitals."""
    taken = {name.lower() for name in known}
    clash = sorted(name for name in offered if name.lower() in taken)
    if clash:
        raise InputError(
            f"column {clash[0]!r} is in the records and in {label}: rename one of them."
        )


def _by_text(look_up: LookUp, theirs: SourceColumn, mine: SourceColumn, label: str) -> bool:
    """Whether keys are compared by their texts instead of their values.

    They are where a type was inferred, and where one key is text and the other an integer: '7' is
    the text of 7, and '07', '7.0' and ' 7' are other texts. If the text became an integer instead,
    several keys of one table would equal a single key of the other.
    """
    if not (theirs.declared and mine.declared) or columns.text_and_integer(theirs.type, mine.type):
        return True
    if not columns.same_key(theirs.type, mine.type):
        key, partner_key = look_up.declared.key, look_up.declared.partner_key
        other = "" if key == partner_key else f" {key!r}"
        raise InputError(
            f"the join key {partner_key!r} is {columns.shown(theirs.type)} in {label} but"
            f"{other} {columns.shown(mine.type)} in the records: store both in one type."
        )
    return False


# The keyed 64-bit hash decides only *which* of a user's own records are kept. Privacy holds for
# every fixed key and any hash; a uniform sample needs a good one. DuckDB's ``hash(a, b, c)`` ends
# in an exclusive-or, under which the order of three records is not uniform (probabilities 1/2, 1/4,
# 1/4 in place of thirds), so its result is hashed once more.

HASH_BITS = 63  # bits of the ordering hash: it is a non-negative 64-bit integer

DUCKDB_MACRO = "CREATE MACRO crowdtally_mix(x) AS CAST(hash(x) >> 1 AS BIGINT)"
"""A macro, because Ibis drops the cast from unsigned to signed."""


def duckdb_hash(key: int, columns: Sequence[ibis.Value]) -> ibis.Value:
    """A hash of (key, columns) in 0 … 2^63 − 1; nulls are values like any other."""
    return _builtin("crowdtally_mix", dt.int64, _builtin("hash", dt.uint64, key, *columns))


def spark_hash(key: int, columns: Sequence[ibis.Value]) -> ibis.Value:
    """The same by Spark's ``xxhash64``, whose last step mixes all bits: it needs no second pass.

    Each column seeds the next, and a null leaves the seed unchanged; so a flag stands before each.
    """
    flagged = [value for column in columns for value in (column.isnull(), column)]
    hashed = _builtin("xxhash64", dt.int64, key, *flagged)
    return _builtin("shiftrightunsigned", dt.int64, hashed, ibis.literal(1, type=dt.int32))


def _builtin(name: str, returns: dt.DataType, *arguments: Any) -> ibis.Value:
    values = [a if isinstance(a, ibis.Value) else ibis.literal(a, type=dt.int64) for a in arguments]
    function = _declared(name, len(values))
    signature = (tuple(value.type() for value in values), returns)
    return ibis.udf.scalar.builtin(function, name=name, signature=signature)(*values)


def _declared(name: str, arity: int) -> Any:
    """A function of ``arity`` arguments: Ibis reads the number off a built-in's signature."""

    def function(*_: Any) -> Any: ...

    names = [f"argument_{number}" for number in range(arity)]
    shown = [Parameter(one, Parameter.POSITIONAL_OR_KEYWORD) for one in names]
    function.__name__, function.__signature__ = name, Signature(shown)  # type: ignore[attr-defined]
    return function


WIDEST = 2**62  # the largest domain in which the engine computes a cell's number


def with_cells(engine: Engine, rows: Rows, domain: Domain) -> Rows:
    """Add the ``cell`` of the values ``axis_0``, …; null where one of them is not in its list."""
    rows = with_codes(engine, rows, dict(enumerate(domain.axes)))
    codes = [rows[f"code_{number}"] for number in range(len(domain.axes))]
    return rows.mutate(cell=_cell(codes, domain))


def with_codes(engine: Engine, rows: Rows, axes: Mapping[int, Axis]) -> Rows:
    """Add ``code_N``, the place of each value ``axis_N`` in its list; null where it has none."""
    for number, axis in axes.items():
        value, code = f"axis_{number}", f"code_{number}"
        place = _place(rows[value], axis) if is_range(axis) else engine.place_in(rows[value], axis)
        if place is not None:
            rows = rows.mutate(**{code: place})
        else:
            listed = engine.load_axis(value, axis)  # (value, code), each value once
            listed = listed.rename({f"value_{number}": "value", code: "code"})
            rows = rows.left_join(listed, rows[value] == listed[f"value_{number}"])
    return rows


def with_values(engine: Engine, rows: Rows, domain: OpenDomain) -> Rows:
    """Add ``cell``, ``cell_1``, …: the values, or their places in a list; ``cell`` may be null."""
    numbered = enumerate(domain.columns)
    listed = {number: domain.lists[name] for number, name in numbered if name in domain.lists}
    rows = with_codes(engine, rows, listed)
    parts = [
        rows[f"code_{number}" if number in listed else f"axis_{number}"]
        for number in range(len(domain.columns))
    ]
    known = reduce(and_, (part.notnull() for part in parts))
    first = either(known, parts[0], ibis.null(parts[0].type())) if parts[1:] else parts[0]
    more = {f"cell_{number}": part for number, part in enumerate(parts) if number}
    return rows.mutate(cell=first, **more)


def is_range(axis: Axis) -> bool:
    """Whether the list is all whole numbers from its first to its last, in order."""
    if axis.kind != "integer":
        return False
    first, last = int(axis.values[0]), int(axis.values[-1])  # their difference may need 65 bits
    return last - first == len(axis) - 1 and bool((axis.values[1:] > axis.values[:-1]).all())


def _place(value: Column, axis: Axis) -> Column:
    """The place of a value in a range; compared first, since a difference may not fit 64 bits."""
    first, last = (ibis.literal(int(axis.values[end]), "int64") for end in (0, -1))
    return either((value >= first) & (value <= last), value - first, ibis.null("int64"))


def _cell(codes: list[Column], domain: Domain) -> Column:
    """The cell's number; where 64 bits do not hold all of them, the codes as text."""
    if domain.size > WIDEST:
        # Joining texts skips nulls: the rest would name another cell.
        text = ibis.literal(".").join([code.cast("string") for code in codes])
        known = reduce(and_, (code.notnull() for code in codes))
        return either(known, text, ibis.null("string"))
    cell = codes[0]
    for code, axis in zip(codes[1:], domain.axes[1:], strict=True):
        cell = cell * len(axis) + code
    return cell


def cell_numbers(cells: NDArray[Any], domain: Domain) -> NDArray[Any]:
    """The numbers of fetched cells: 64-bit, or Python integers in a larger domain."""
    if domain.size <= WIDEST:
        return np.asarray(cells, dtype=np.int64)
    numbers = np.empty(len(cells), dtype=object)
    numbers[:] = [domain.cell([int(code) for code in text.split(".")]) for text in cells]
    return numbers


def refuse_own_list(name: str, origin: Origin | None, sources: Sources) -> None:
    """Refuse a list that is read from the records, or from a table joined on the user.

    Such a list would publish every value that some user has. A catalogue, joined on the item or on
    anything else, is fine: which items exist does not depend on users.
    """
    for table in sources.about_users if origin is not None else ():
        if origin is not None and origin.overlaps(table.origin):
            whose = "the records'" if table is sources.records else "the users'"
            raise UsageError(
                f"the list of values for {name!r} is read from {whose} own table "
                f"({table.label or 'held in memory'}), so it would publish values because somebody "
                "has them. Give a list that was made without looking at the records: a catalogue, "
                f"a range such as {name}=0..120; or let it be discovered, --discover COLUMN "
                "--delta D."
            )
