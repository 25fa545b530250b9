"""Records joined with tables that say more about them: each record finds one partner, or none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from crowdtally.curator.engine import columns
from crowdtally.curator.engine.canonical import SourceColumn, twin_of
from crowdtally.curator.engine.engine import Engine
from crowdtally.curator.engine.sources import Located
from crowdtally.errors import InputError
from crowdtally.values.sql import quoted


@dataclass(frozen=True)
class Joined:
    """The view ``source`` with its joins."""

    clause: str
    """What to write after FROM."""
    columns: Mapping[str, SourceColumn]
    """What it offers."""
    partners: tuple[str, ...]
    """SQL for whether a record has a partner, for each join."""


def join(
    engine: Engine, joins: Iterable[tuple[Located, str]], schema: Mapping[str, SourceColumn]
) -> Joined:
    """Join the view ``source`` with each table by the key column that they share."""
    clause, known, partners = quoted("source"), dict(schema), list[str]()
    for number, (located, key) in enumerate(joins):
        name = located.label or "the joined table"
        offered = engine.open(located, f"join_{number}", keys=[key])
        columns.require(key, offered, "the join key", name)
        table, shared = _keyed(engine, f"join_{number}", key, offered, schema[key], name)
        if not engine.is_unique(table, shared):
            raise InputError(
                f"the join key {key!r} repeats in {name}: a join must find at most one partner "
                "for each record, or one record would become several. Remove the repeated keys."
            )
        clash = sorted((set(offered) - {key}) & set(known))
        if clash:
            raise InputError(
                f"column {clash[0]!r} is in the records and in {name}: rename one of them."
            )
        clause += f" LEFT JOIN {quoted(table)} USING ({quoted(shared)})"
        partners.append(f"{quoted(table)}.{quoted(shared)} IS NOT NULL")
        known = offered | known
    return Joined(clause, known, tuple(partners))


def _keyed(
    engine: Engine,
    table: str,
    key: str,
    offered: Mapping[str, SourceColumn],
    mine: SourceColumn,
    name: str,
) -> tuple[str, str]:
    """The table to join, and by which column: the key or, where a type was inferred, its text."""
    theirs = offered[key]
    if not (theirs.declared and mine.declared):
        # Without the key itself, whose name would stand for two columns.
        others = [column for column in offered if column != key]
        twins = [twin for column in others if (twin := offered[column].twin) is not None]
        kept = ", ".join(map(quoted, [*others, *twins, twin_of(key)]))
        engine.define(f"{table}_by_text", f"SELECT {kept} FROM {quoted(table)}")
        return f"{table}_by_text", twin_of(key)
    if not columns.same_key(theirs.type, mine.type):
        raise InputError(
            f"the join key {key!r} is {columns.shown(theirs.type)} in {name} but "
            f"{columns.shown(mine.type)} in the records: store both in one type."
        )
    return table, key
