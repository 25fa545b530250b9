"""Whose record it is, which of theirs, and how often it counts. See ``identifying.md``."""

from __future__ import annotations

from collections.abc import Mapping

import ibis

from crowdtally.core.records import Records, SamePerson
from crowdtally.core.registry import quoted
from crowdtally.curator.engine import columns
from crowdtally.curator.engine.canonical import SourceColumn
from crowdtally.curator.engine.engine import Engine
from crowdtally.curator.engine.relations import Rows, either
from crowdtally.curator.engine.sources import Located
from crowdtally.errors import InputError

PERSONS = "same_person"
"""The view of the table that says which ids are one person's."""


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
    """One column as it is; where ids are combined or looked up, as their canonical text."""
    if len(records.user_columns) == 1 and records.same_person is None:
        (user,) = records.user_columns
        return columns.identity(user, schema[user], "the user")
    return _combined(records.user_columns, schema)


def _combined(names: tuple[str, ...], schema: Mapping[str, SourceColumn]) -> str:
    """One text for the ids together: different for different ids, null where one of them is."""
    parts = [columns.identity_text(name, schema[name], "the user") for name in names]
    if len(parts) == 1:
        return parts[0]
    # Each with its length before it, so that 'a' + 'bc' is not 'ab' + 'c'. A null makes all null.
    return " || ".join(f"CAST(length({part}) AS VARCHAR) || ':' || {part}" for part in parts)


def open_persons(engine: Engine, records: Records, located: Located) -> Rows:
    """The table of which ids are one person's, as (same_id, same_person), each id once.

    Rows without an id or without a person say nothing. Of an id that has several persons, or one
    that cannot be read, the person is null: its records are dropped. What is said of an id depends
    on the rows about that id alone, and no such row decides whether there is a release.
    """
    declared = records.same_person
    if declared is None:
        raise ValueError("no table says which ids are one person's")
    name = located.label or "the table of --same-person"
    _refuse_inexact(engine, records, located, name)
    # A person that does not fit a type would be missing, and each of her ids a person of its own.
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
    declared: SamePerson,
    users: tuple[str, ...],
    offered: Mapping[str, SourceColumn],
    name: str,
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
    """Refuse a table with an id that its column cannot vouch for, though a type is declared for it.

    What does not fit the type is missing in the records too, and dropped there. But a number of
    2^53 and beyond, which a frame may have lost, the records may hold.
    """
    if records.types.keys().isdisjoint(records.user_columns):
        return
    offered = engine.open(located, "same_person_stored")
    ids = [(user, *columns.own(user, offered[user])) for user in records.user_columns
           if user in offered]  # fmt: skip
    lost = " OR ".join(f"({own} IS NOT NULL AND {quoted(user)} IS NULL)" for user, own, _ in ids)
    if lost:
        engine.define(
            "ids_lost",
            f"SELECT true AS stated, CASE WHEN NOT ({lost}) THEN '' END AS same_id "
            f"FROM {quoted('same_person_stored')}",
            name,
        )
        _refuse_lost(engine, engine.table("ids_lost"), name)


def _refuse_lost(engine: Engine, rows: Rows, name: str) -> None:
    """Refuse a table with an id that cannot be read.

    Nobody knows which id it is, so its records cannot be left out, and would be another person's.
    """
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
    """The same rows, the user replaced by the person; who is not in the table keeps the id.

    Rows of an id with several persons are dropped: under the id they would be one person more.
    """
    found = rows.left_join(persons, rows.user == persons.same_id)
    user = either(found.same_id.isnull(), found.user, found.same_person)
    return found.mutate(user=user).drop("same_id", "same_person")
