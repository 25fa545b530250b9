"""One name for one source, however its address was typed: one name has one budget."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, urlsplit

from crowdtally.curator.engine.tables import plain_name
from crowdtally.errors import UsageError

POSTGRES = ("postgres", "postgresql")
"""Schemes of PostgreSQL's addresses, which mean the same."""
_PORT = "5432"
_PLACE = re.compile(r"(\[[^\]]*\]|[^:\[\]]*)(:[0-9]*)?")
"""A host, with or without its port."""
_HOLD_AT = ("host", "user", "password", "sslpassword", "options", "application_name")
"""Parameters of an address whose values may hold an ``@``."""


def postgres_name(url: str, table: str) -> str:
    """The name of a PostgreSQL table: where it is, not who asks or how.

    Capitals of the table's name do not count. Should two tables differ in nothing else, they share
    a budget, which promises less than two would.

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
    """Refuse an address of which a password's special character makes another one.

    What it would be read as is part of the password, so nothing of it is repeated.
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
    """The hosts with their ports, the usual one left out; and what else says where they are."""
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
