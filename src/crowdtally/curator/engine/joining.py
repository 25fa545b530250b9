"""Records joined with tables that say more about them: each record finds one partner, or none.

A key that repeats in the table has no row there: which of its rows is meant, nobody knows. So what
a record finds depends on the rows of its own key alone, and no row of the table decides whether
there is a release. The proof is in ``identifying.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from crowdtally.core.registry import quoted
from crowdtally.curator.engine import columns
from crowdtally.curator.engine.canonical import SourceColumn, own_of, text_of
from crowdtally.curator.engine.engine import Engine
from crowdtally.curator.engine.located import LookUp
from crowdtally.errors import InputError

_PARTNER = "\u001fpartner"
"""The joined table's key, under a name that nobody gives to a column."""


@dataclass(frozen=True)
class Joined:
    """The view ``source`` with its joins."""

    clause: str
    """What to write after FROM."""
    columns: Mapping[str, SourceColumn]
    """What it offers."""
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
