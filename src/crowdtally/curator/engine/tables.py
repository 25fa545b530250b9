"""Names of a database's tables: what follows '#' in an address, and which tables there are."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import TypeVar

from crowdtally.errors import InputError, did_you_mean

_PART = re.compile(r'\s*(?:"((?:[^"]|"")+)"|([^".]+?))\s*(?:\.|$)')
Named = tuple[str, str]
"""A schema and a table."""
Spelling = TypeVar("Spelling", bound=tuple[str, ...])


def parts_of(table: str) -> tuple[str, ...]:
    """The parts of a name, which dots divide; a part in double quotes may hold dots.

    >>> parts_of("raw.checkins"), parts_of('raw."in.and.out"'), parts_of("checkins")
    (('raw', 'checkins'), ('raw', 'in.and.out'), ('checkins',))
    """
    parts, place = [], 0
    while found := _PART.match(table, place):
        parts.append(found[1].replace('""', '"') if found[1] else found[2])
        place = found.end()
        if place == len(table):
            return tuple(parts) if not table.endswith(".") else (table,)
    return (table,)


def plain_name(table: str, usual: str) -> str:
    """One name for a table, however it was typed: small letters, without quotes or usual schema.

    Should two tables differ in nothing else, they share a budget, which promises less than two
    would.

    >>> plain_name('MAIN."Visits"', "main"), plain_name("raw.visits", "main")
    ('visits', 'raw.visits')
    """
    return ".".join(parts_of(table)).lower().removeprefix(f"{usual}.")


def meant(table: str, known: Iterable[Spelling], usual: str) -> Spelling | None:
    """The table among ``known`` (schema, table, …) that a name means; capitals do not count.

    Without a schema that is one of the usual schema, never one of another.

    >>> meant("visits", [("raw", "Visits")], "main"), meant("RAW.visits", [("raw", "Visits")], "")
    (None, ('raw', 'Visits'))
    """
    parts = tuple(part.lower() for part in parts_of(table))
    wanted = [parts if len(parts) == 2 else (usual, parts[-1])] if len(parts) < 3 else []
    by_name = {(one[0].lower(), one[1].lower()): one for one in known}
    for name in [*wanted, (usual, table.lower())]:  # a table's own name may hold dots
        if name in by_name:
            return by_name[name]
    return None


def spelled(tables: Iterable[Named], usual: str) -> list[str]:
    """The names to type for tables, each once, in order; the usual schema need not be typed.

    >>> spelled([("main", "visits"), ("raw", "visits"), ("raw", "a.b")], "main")
    ['raw."a.b"', 'raw.visits', 'visits']
    """
    return sorted({
        _part(name) if schema == usual else f"{_part(schema)}.{_part(name)}"
        for schema, name in tables
    })  # fmt: skip


def _part(name: str) -> str:
    return f'"{name}"' if "." in name else name


def no_such_table(where: str, table: str, names: Collection[str]) -> InputError:
    """What to say of a table that is not there: the one that was probably meant, and all others.

    >>> str(no_such_table("'town.db'", "visits", ["raw.visits", "users"]))
    "'town.db' has no table 'visits'. Did you mean 'raw.visits'? There are: raw.visits, users."
    """
    last = parts_of(table)[-1].lower()
    elsewhere = [name for name in names if parts_of(name)[-1].lower() == last]
    if not elsewhere:
        return InputError(f"{where} has no table {table!r}. {did_you_mean(table, names)}")
    suggested = " or ".join(map(repr, elsewhere))
    listed = did_you_mean("", names)
    return InputError(f"{where} has no table {table!r}. Did you mean {suggested}? {listed}")
