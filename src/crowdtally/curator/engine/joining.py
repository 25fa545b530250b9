"""Records joined with tables that say more about them: each record finds one partner, or none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from crowdtally.curator.engine import columns
from crowdtally.curator.engine.canonical import SourceColumn, twin_of
from crowdtally.curator.engine.engine import Engine
from crowdtally.curator.engine.located import LookUp
from crowdtally.errors import InputError
from crowdtally.values.sql import quoted

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
    name: str = "the table",
) -> Joined:
    """Join the view ``source`` with each table, by the records' key column and the table's."""
    clause, known, partners = quoted("source"), dict(schema), list[str]()
    for number, found in enumerate(joins):
        table, key, partner_key = f"join_{number}", found.declared.key, found.declared.partner_key
        label = found.table.label or "the joined table"
        offered = engine.open(found.table, table, keys=[partner_key])
        columns.require(partner_key, offered, "the join key", label)
        by_text = _by_text(found, offered[partner_key], schema[key], label)
        mine, theirs = (twin_of(k) if by_text else k for k in (key, partner_key))
        del offered[partner_key]  # equal to the records' own key, and perhaps of the same name
        _refuse_clash(offered, known, label)
        keyed = f"{table}_keyed"
        engine.define(keyed, _keyed_rows(table, theirs, offered))
        if not engine.is_unique(keyed, _PARTNER):
            raise InputError(
                f"the join key {partner_key!r} repeats in {label}: a join must find at most one "
                "partner for each record, or one record would become several. Remove the repeated "
                "keys."
            )
        partner = f"{quoted(keyed)}.{quoted(_PARTNER)}"
        clause += f" LEFT JOIN {quoted(keyed)} ON {quoted('source')}.{quoted(mine)} = {partner}"
        partners.append(f"{partner} IS NOT NULL")
        known = offered | known
    return Joined(clause, known, tuple(partners), name)


def _keyed_rows(table: str, key: str, offered: Mapping[str, SourceColumn]) -> str:
    """The table's rows with the key under our own name: its own would stand for two columns."""
    twins = [column.twin for column in offered.values() if column.twin is not None]
    kept = "".join(f", {quoted(name)}" for name in (*offered, *twins))
    return f"SELECT {quoted(key)} AS {quoted(_PARTNER)}{kept} FROM {quoted(table)}"


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
