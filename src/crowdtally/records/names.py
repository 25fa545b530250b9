"""Names of tables, and one name for each source."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import TypeVar
from urllib.parse import parse_qsl, urlsplit

import duckdb

from crowdtally.errors import InputError, UsageError, did_you_mean
from crowdtally.records.columns import Knowledge

_PART = re.compile(r'\s*(?:"((?:[^"]|"")+)"|([^".]+?))\s*(?:\.|$)')
Named = tuple[str, str]  # a schema and a table
Spelling = TypeVar("Spelling", bound=tuple[str, ...])


def parts_of(table: str) -> tuple[str, ...]:
    """The parts of a name, separated by dots; a part in double quotes may hold dots.

    >>> parts_of("raw.checkins"), parts_of('raw."in.and.out"'), parts_of("checkins")
    (('raw', 'checkins'), ('raw', 'in.and.out'), ('checkins',))
    """
    parts, place = [], 0
    while part := _PART.match(table, place):
        parts.append(part[1].replace('""', '"') if part[1] else part[2])
        place = part.end()
        if place == len(table):
            return tuple(parts) if not table.endswith(".") else (table,)
    return (table,)


def plain_name(table: str, usual: str) -> str:
    """One name for a table, however it was typed: small letters, without quotes or usual schema.

    Two tables that differ in nothing else share one budget, which is safe: it allows less than two.

    >>> plain_name('MAIN."Visits"', "main"), plain_name("raw.visits", "main")
    ('visits', 'raw.visits')
    """
    return ".".join(parts_of(table)).lower().removeprefix(f"{usual}.")


def meant(table: str, known: Iterable[Spelling], usual: str) -> Spelling | None:
    """The table among ``known`` (schema, table, …) that a name means, whatever its capitals.

    Without a schema it means a table of the usual schema, never of another.

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
    """The names to type for tables, in order; the usual schema need not be typed.

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
    """The refusal of a table that is not there: which one was probably meant, and all others.

    >>> str(no_such_table("'town.db'", "visits", ["raw.visits", "users"]))
    "'town.db' has no table 'visits'. Did you mean 'raw.visits'? There are: raw.visits, users."
    """
    last = parts_of(table)[-1].lower()
    elsewhere = [name for name in names if parts_of(name)[-1].lower() == last]
    hint = did_you_mean(table, names)
    if elsewhere:
        hint = f"Did you mean {' or '.join(map(repr, elsewhere))}? {did_you_mean('', names)}"
    return InputError(f"{where} has no table {table!r}. {hint}")


# One name for one source, however its address was typed: one name has one budget.

POSTGRES = ("postgres", "postgresql")
_PORT = "5432"
_PLACE = re.compile(r"(\[[^\]]*\]|[^:\[\]]*)(:[0-9]*)?")  # a host, with or without its port
_HOLD_AT = ("host", "user", "password", "sslpassword", "options", "application_name")
"""Parameters of an address whose values may hold an ``@``."""


def postgres_name(url: str, table: str) -> str:
    """The name of a PostgreSQL table: where it is, not who asks or how; see :func:`plain_name`.

    >>> postgres_name("postgres://ana:pw@Host/town?sslmode=require", "public.Visits")
    'postgresql://host/town#visits'
    >>> postgres_name("postgresql://host:5432/town", "visits")
    'postgresql://host/town#visits'
    >>> postgres_name("postgresql:///town?host=/run/pg&user=ana", "raw.visits")
    'postgresql:///town?host=/run/pg#raw.visits'
    """
    parts = urlsplit(url)
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    places, asked = _places(parts.netloc.rpartition("@")[2].lower(), given)
    asked |= {name: given[name] for name in ("hostaddr", "service") if name in given}
    database = given.get("dbname", parts.path.removeprefix("/"))
    query = "&".join(f"{name}={value}" for name, value in sorted(asked.items()))
    name = plain_name(table, "public")
    return f"postgresql://{places}/{database}{'?' + query if query else ''}#{name}"


def check_postgres(url: str, table: str) -> None:
    """Refuse an address that a special character in a password turns into another one.

    The message repeats nothing of it, since any part may be of the password.
    """
    try:
        parts = urlsplit(url)
    except ValueError:  # brackets around no address
        raise _unreadable() from None
    hosts = parts.netloc.rpartition("@")[2]
    given = parse_qsl(parts.query, keep_blank_values=True)
    stray = [parts.path, "" if '"' in table else table]
    stray += [f"{name}={value}" for name, value in given if name not in _HOLD_AT]
    fits = not parts.fragment and all(map(_PLACE.fullmatch, hosts.split(",")))
    if not fits or any("@" in text for text in stray):
        raise _unreadable()


def _unreadable() -> UsageError:
    return UsageError(
        "the address of the database cannot be read: type "
        "postgresql://USER:PASSWORD@HOST:5432/DATABASE#TABLE, with special characters of a "
        "password written as %XX: '/' as %2F, '?' as %3F, '#' as %23, '@' as %40."
    )


def _places(places: str, given: dict[str, str]) -> tuple[str, dict[str, str]]:
    """The hosts with their ports, but for the usual one; and other parameters of the place."""
    asked = {}
    if not places and given.get("host", "").startswith(("/", "@")):
        asked["host"] = given["host"]  # a folder of sockets
    elif not places:
        places = given.get("host", "").lower()
    if "port" in given and places:
        places = f"{places}:{given['port']}"
    elif given.get("port", _PORT) != _PORT:
        asked["port"] = given["port"]
    return ",".join(re.sub(rf":({_PORT})?$", "", place) for place in places.split(",")), asked


def one_name(name: str) -> str:
    """The one name of a source that another spelling calls ``name``.

    >>> one_name("postgres://host/town#Visits"), one_name("file:///data/a.parquet")
    ('postgresql://host/town#visits', '/data/a.parquet')
    """
    scheme, separator, rest = name.partition("://")
    if separator and scheme.partition("+")[0] in POSTGRES and "#" in rest:
        url, _, table = name.rpartition("#")
        return postgres_name(url, table)
    if separator and scheme == "file":
        return rest
    return name


SCHEMA = "main"  # DuckDB's schema that need not be typed


def tables_of(path: str) -> list[str]:
    """The tables and views of a database file, by the names to type."""
    try:
        with duckdb.connect(path, read_only=True) as connection:
            ((database,),) = connection.execute("SELECT current_database()").fetchall()
            return spelled((table[:2] for table in known(connection, database)), SCHEMA)
    except duckdb.Error as error:
        raise InputError(
            f"{path!r} cannot be read as a DuckDB database ({type(error).__name__}): it is "
            "damaged, locked or something else; make it again or restore a good copy."
        ) from error


def known(connection: duckdb.DuckDBPyConnection, database: str) -> list[tuple[str, str, Knowledge]]:
    """Schema and name of each table and view, and whether its types are declared or inferred."""
    tables: list[tuple[str, str, Knowledge]] = connection.execute(
        "SELECT schema_name, table_name, 'declared' FROM duckdb_tables() WHERE database_name = $1 "
        "UNION ALL SELECT schema_name, view_name, 'inferred' FROM duckdb_views() "
        "WHERE database_name = $1 AND NOT internal",
        [database],
    ).fetchall()
    return tables
