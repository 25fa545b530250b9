"""Which names are time zones: those that both engines know, and that mean one place's clocks.

The zone is public and part of what a record is. A name that stands for several zones (CST), or for
an offset that no place keeps all year (CET to some, +01:00), would give days that nobody meant.
"""

from __future__ import annotations

import re
from functools import cache

import duckdb

from crowdtally.core.records import UTC
from crowdtally.errors import UsageError, did_you_mean

# Two of the names that DuckDB lists are not the time zone database's any more.
_NO_LONGER = ("US/Pacific-New", "Canada/East-Saskatchewan")
_NO_PLACES = ("Etc/", "posix/", "right/", "SystemV/", *_NO_LONGER)
_OFFSET = re.compile(r"(UTC|GMT|Z)?[+-]?\d{1,2}(:?\d{2})*")
_LIKE = "an Area/City of the IANA time zones, such as Europe/Vienna or Asia/Tokyo, or UTC"


def check_zone(name: object) -> str:
    """The zone, if it is one; otherwise a UsageError that says what to type.

    >>> check_zone("Asia/Kolkata")
    'Asia/Kolkata'
    """
    if not isinstance(name, str):
        raise UsageError(f"--timezone is {_LIKE}: received a {type(name).__name__}.")
    if name == UTC or name in known_zones():
        return name
    raise UsageError(f"--timezone is {_LIKE}: received {name!r}. {_hint(name)}")


@cache
def known_zones() -> frozenset[str]:
    """UTC, and every Area/City."""
    with duckdb.connect(":memory:") as connection:
        rows = connection.execute("SELECT name FROM pg_timezone_names()").fetchall()
    places = {name for (name,) in rows if "/" in name and not name.startswith(_NO_PLACES)}
    return frozenset({UTC, *places})


def _hint(name: str) -> str:
    if _OFFSET.fullmatch(name):
        return "An offset is not a zone: clocks change twice a year. Name a city."
    same = [zone for zone in known_zones() if zone.lower() == name.strip().lower()]
    if same:
        return f"Did you mean {same[0]!r}?"
    if "/" not in name and name.isupper() and len(name) <= 7:
        return "An abbreviation can mean several zones. Name a city."
    if name.startswith(_NO_PLACES):
        return "That is no place's zone. Name a city."
    cities = sorted(zone for zone in known_zones() if _city(zone) == name.strip().lower())
    if cities:
        return f"Did you mean {cities[0]!r}?"
    return did_you_mean(name, sorted(known_zones()))


def _city(zone: str) -> str:
    return zone.rpartition("/")[2].lower()
