"""One user who joins a crowd in a source of any kind, and what the others then get."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from math import prod
from typing import Any, NamedTuple

import crowdtally as ct
from crowdtally.core.counts import Counts, What
from crowdtally.core.layout import Layout, grid
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.counting.bounded import count
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.prepare import Prepared, prepare
from kit.crowds import Cell, Database, Lookup, Texts
from kit.databases import kept_by
from kit.kinds import Kind, Place, Rows, Schema, Type

# ---- The noise-free part of a release on a source of any kind: who is kept, and what is
#      counted


KEY = 424_242_424_242_424_242
"""The sampling key of every test: privacy must hold for each fixed one."""


Kept = dict[str, Counter[int]]
"""For each user, by text, how many records of which cell are kept."""
Before = Callable[[Kind, Database], Kept]
"""What is kept of a crowd before anybody joins it."""


def declared(
    place: Place, kind: Kind, database: Database, beside: Kind | None = None
) -> ct.Records:
    """The records, written into a source of this kind and declared; joined tables likewise.

    ``beside`` is the kind of the joined tables, where it is another.
    """
    write = (beside or kind).write
    joins = [(write(place, one.schema, one.rows), one.keys) for one in database.lookups]
    roles: dict[str, Any] = {
        "user": database.user, "item": database.item, "contexts": list(database.contexts),
        "record_id": database.record_id, "joins": joins,
    }  # fmt: skip
    source = kind.write(place, database.schema, database.rows)
    return ct.read(source, **(roles | dict(database.roles)))


def domain(database: Database) -> ct.Domain:
    """The public lists, as Python gives them."""
    return ct.Domain(database.items, dict(database.contexts), item=database.item)


@contextmanager
def prepared(
    place: Place, kind: Kind, database: Database, beside: Kind | None = None
) -> Iterator[tuple[Any, Prepared]]:
    """An engine that holds the records, prepared as a release prepares them."""
    written, lists = declared(place, kind, database, beside), domain(database)
    with engine_for(place, kind) as engine:
        yield engine, prepare(engine, written, lists)


def engine_for(place: Place, kind: Kind) -> Any:
    """The engine that reads this kind."""
    if not kind.on_spark:
        return DuckDBEngine()
    from kit.spark import engine_beside

    return engine_beside(place.session())


def sampled(
    place: Place, kind: Kind, database: Database, limit: int, beside: Kind | None = None
) -> Kept:
    """What is kept of each user, at most ``limit`` records."""
    with prepared(place, kind, database, beside) as (engine, ready):
        kept = kept_by(engine, ready, SRA(limit), KEY, "records")
    return {str(user): cells for user, cells in kept.items()}


def tallies(kept: Kept, database: Database) -> tuple[Counter[int], Counter[int]]:
    """The bounded counts of items, and of items in context."""
    width = prod(map(len, database.contexts.values()))
    edges: Counter[int] = Counter()
    for cells in kept.values():
        edges.update(cells)
    items: Counter[int] = Counter()
    for cell, times in edges.items():
        items[cell // width] += times
    return items, edges


def distance(one: Counter[int], other: Counter[int]) -> int:
    """The L1 distance of two tables."""
    return sum(abs(one[cell] - other[cell]) for cell in one.keys() | other.keys())


class Counted(NamedTuple):
    """Two tables by the texts of their cells."""

    items: Counter[Cell]
    edges: Counter[Cell]


def counted(place: Place, kind: Kind, database: Database) -> tuple[Counted, Counted]:
    """The counts of records, and those of users, when nobody is cut."""
    most = len(database.rows) + 1

    def tables(what: What) -> Counted:
        found = count(engine, ready, SRA(most), key=KEY, what=what).found
        layouts = grid([ready.domain.items]), grid(ready.domain.axes)
        return Counted(*map(_named, found, layouts))

    with prepared(place, kind, database) as (engine, ready):
        return tables("records"), tables("users")


def _named(counts: Counts, layout: Layout) -> Counter[Cell]:
    """A table by the texts of its cells."""
    assert counts.size == layout.size
    columns = [column.tolist() for column in layout.columns(counts.cells).values()]
    names = [tuple(map(str, cell)) for cell in zip(*columns, strict=True)]
    return Counter(dict(zip(names, counts.values.tolist(), strict=True)))


def bounded(one: Kept, other: Kept, database: Database, limit: int) -> bool:
    """Whether no table of two databases is farther apart than the bound."""
    pairs = zip(tallies(one, database), tallies(other, database), strict=True)
    return all(distance(before, after) <= limit for before, after in pairs)


# ---- Crowds, and one user who joins each: what one row can do to how the others are read ---------
#
# Every user of a crowd has more records than are kept, so that a sample which was drawn anew
# shows.


LIMIT = 2
ITEMS = (0, 1, 2, 3, 5, 8)
DAYS = ("Mon", "Tue")
LARGE = (2**53, 2**53 + 1, 2**53 + 2, 2**63 - 1)
"""Whole numbers that floats do not tell apart."""


@dataclass(frozen=True)
class Newcomer:
    """A database, and the same with one user more."""

    base: Database
    rows: Rows
    """All records of the newcomer."""
    looked_up: tuple[Rows, ...] = ()
    """The newcomer's rows in the tables to join, if any."""

    @property
    def joined(self) -> Database:
        """The database with the newcomer."""
        return self.base.plus(self.rows, *self.looked_up)


def visits(user: Any, items: Sequence[Any] = ITEMS) -> list[tuple[Any, Any, str]]:
    """One record of each item."""
    return [(user, item, DAYS[place % 2]) for place, item in enumerate(items)]


def crowd(users: Iterable[Any], who: Type, place: Type, items: Sequence[Any] = ITEMS) -> Database:
    """Users who went everywhere."""
    rows = [row for user in users for row in visits(user, items)]
    schema: Schema = {"who": who, "place": place, "day": "text"}
    return Database(schema, rows, items, {"day": DAYS})


_SMALL = (1, 2, 3, -7, 40, 2**31 + 5, 2**52, 2**53 - 1)
_MANY = (*_SMALL, *LARGE, -(2**53) - 1)
_WORDS = ("ana", "Ana", "ana ", "1", "01", " 1", "é", "e\u0301", "it's", 'a "b", c', "two\nlines")
_PLACES = ("bar", "café", "007", "7", "Bar", "new\nline")

INTEGERS = crowd(_SMALL, "integer", "integer")
MIXED = crowd(_SMALL, "mixed", "mixed")
NUMBERS = crowd(_SMALL, "number", "number")
FRACTIONS = crowd((0.5, -7.25, 1.5, 3, -40, 2**52), "number", "number")
MANY = crowd(_MANY, "integer", "integer", (*ITEMS, *LARGE))
MANY_MIXED = crowd(_MANY, "mixed", "mixed", (*ITEMS, *LARGE))
WORDS = crowd(_WORDS, "text", "text", _PLACES)
CODES = crowd(("mo", "ny", "ox", "pa", "qi"), "code", "code", ("bar", "dam", "fen", "gap"))
TIMES = crowd(
    [datetime(2024, 2, 29, 23, 59, 59) + timedelta(microseconds=n) for n in range(6)],
    "timestamp", "integer",
)  # fmt: skip
AMOUNTS = crowd([Decimal(n) / 4 for n in range(-9, 10)], "decimal", "integer")


def _numbered(base: Database) -> Database:
    """The same records, each with a stored id."""
    rows = [(*row, 1000 + number) for number, row in enumerate(base.rows)]
    return replace(base, schema={**base.schema, "visit": "mixed"}, rows=rows, record_id="visit")


def _looked_up(base: Database, key: Type) -> Database:
    """The same records, with the area of each place and the age band of each person."""
    areas = Lookup({"place": key, "area": "text"}, [(i, ("west", "east")[i % 2]) for i in ITEMS])
    people = Lookup(
        {"who": key, "band": "text"}, [(user, ("young", "old")[user % 2]) for user in _SMALL]
    )
    contexts = {"area": ("west", "east"), "band": ("young", "old")}
    return replace(base, contexts=contexts, lookups=(areas, people))


def _below_six(texts: Texts) -> Texts | None:
    """The record with its item less one, where that is a whole number below five; in Python."""
    item = texts["place"]
    whole = item is not None and re.fullmatch(r" *-?[0-9]+ *", item)
    return {**texts, "place": str(int(item) - 1)} if whole and int(item) < 6 else None  # type: ignore[arg-type]


def _chosen(base: Database) -> Database:
    """The same records, those that a condition takes, and their items computed."""
    roles = {
        "where": "TRY_CAST(place AS DOUBLE) < 6",
        "item": {"place": "TRY_CAST(place AS BIGINT) - 1"},
        "timezone": "Asia/Kolkata",
    }
    return replace(base, roles=roles, meaning=_below_six)


def _of_two_names(base: Database) -> Database:
    """The same records, their items looked up under another name, in text."""
    names = [(str(item), DAYS[place % 2]) for place, item in enumerate(ITEMS)]
    lookup = Lookup({"spot": "text", "area": "text"}, [*names, ("07", "Mon")], on="place")
    return replace(base, contexts={"area": DAYS}, lookups=(lookup,))


MIXED_IDS = _numbered(MIXED)
CHOSEN = _chosen(MIXED)
NAMED_KEYS, MIXED_NAMED_KEYS = _of_two_names(INTEGERS), _of_two_names(MIXED)
LOOKED_UP = _looked_up(INTEGERS, "integer")
MIXED_KEYS = _looked_up(MIXED, "mixed")
_NOBODY = visits(None)
_NAN, _INFINITE = float("nan"), float("inf")

MISSING = {
    "rows of nobody": Newcomer(INTEGERS, _NOBODY),
    "missing values": Newcomer(INTEGERS, [(99, None, "Mon"), (99, 1, None), *visits(99)]),
}
"""Integers, and what may be missing."""

AMONG_INTEGERS = {
    "a text among users": Newcomer(MIXED, visits("guest")),
    "a text among items": Newcomer(MIXED, [(99, "abc", "Mon"), *visits(99)]),
    "a text beside nulls": Newcomer(MIXED, [*_NOBODY, ("guest", None, "Mon"), *visits("guest")]),
    "an empty text": Newcomer(MIXED, [("", "", "Mon"), *visits("")]),
    "a fraction": Newcomer(NUMBERS, [(1.5, 1.5, "Mon"), *visits(1.5)]),
    "a fraction, then a text": Newcomer(FRACTIONS, visits("guest")),
    "not a number": Newcomer(NUMBERS, [(_NAN, _INFINITE, "Mon"), *visits(_NAN)]),
    "infinite": Newcomer(NUMBERS, [(_INFINITE, _NAN, "Mon"), *visits(_INFINITE)]),
    "a large float": Newcomer(NUMBERS, [(2.0**53, 1e300, "Mon"), *visits(2.0**53)]),
    "three zeros are one user": Newcomer(
        NUMBERS, [*visits(-0.0), *visits(0.0), *visits(0), (0, -0.0, "Tue")]
    ),
}
"""Values that make a program read a whole column in another way."""

BEYOND_FLOATS = {
    "large ids: one more": Newcomer(MANY, visits(2**53 + 3, LARGE)),
    "large ids: a missing item": Newcomer(MANY, [(99, None, "Mon"), *visits(None, LARGE)]),
    "large ids: a text among users": Newcomer(MANY_MIXED, visits("guest", LARGE)),
}
"""Ids that pass through a float at the price of being others."""

OF_TEXT = {
    "words: a guest": Newcomer(WORDS, [*visits(None, _PLACES), *visits("guest", _PLACES)]),
    "words: empty": Newcomer(WORDS, [("", "", ""), *visits("", _PLACES)]),
    "words: many lines": Newcomer(WORDS, visits('a\n\n"b",\r\nc', _PLACES)),
    "codes: the first of all": Newcomer(
        CODES, [*visits(None, CODES.items), *visits("aa", CODES.items)]
    ),
    "codes: a new item": Newcomer(CODES, [("zz", "aa", "Mon"), *visits("zz", CODES.items)]),
}
"""Text, and text that is stored by number."""

OF_ONE_TYPE = {
    "times": Newcomer(TIMES, [*_NOBODY, *visits(datetime(1969, 12, 31, 23, 0, 0, 7))]),
    "amounts": Newcomer(AMOUNTS, [*_NOBODY, *visits(Decimal("1234567.89"))]),
    "amounts: a whole one": Newcomer(AMOUNTS, [*_NOBODY, *visits(Decimal("1234567"))]),
}
"""Ids that are neither text nor integers."""

TOGETHER = {
    "a missing id": Newcomer(MIXED_IDS, [(99, item, "Mon", None) for item in ITEMS]),
    "a text among ids": Newcomer(MIXED_IDS, [(99, item, "Mon", f"v{item}") for item in ITEMS]),
    "joins: a missing key": Newcomer(LOOKED_UP, [(99, None, "Mon"), *visits(99)],
                                     ([], [(99, None)])),
    "joins: a text among keys": Newcomer(MIXED_KEYS, visits("guest"), ([], [("guest", "old")])),
    "chosen: a text among items": Newcomer(CHOSEN, [("guest", "abc", "Mon"), *visits("guest")]),
    "chosen: a missing item": Newcomer(CHOSEN, [(99, None, "Mon"), *visits(99)]),
    "keys of two names: a missing key": Newcomer(NAMED_KEYS, [(99, None, "Mon"), *visits(99)]),
    "keys of two names: a text": Newcomer(
        MIXED_NAMED_KEYS, [("guest", "07", "Mon"), *visits("guest")]
    ),
    "joins: no records": Newcomer(MIXED_KEYS, [], ([], [("guest", "old")])),
}  # fmt: skip
"""Stored record ids, and tables joined on the item and on the user."""

NEWCOMERS: dict[str, Newcomer] = {
    **MISSING, **AMONG_INTEGERS, **BEYOND_FLOATS, **OF_TEXT, **OF_ONE_TYPE, **TOGETHER,
}  # fmt: skip

CORE = (
    "a text beside nulls", "a fraction, then a text", "large ids: a text among users",
    "codes: the first of all", "joins: a text among keys", "chosen: a text among items",
)  # fmt: skip
"""The newcomers that found most: quick enough to be tried on every kind."""
SELDOM = (
    "infinite", "a large float", "large ids: one more", "words: empty", "codes: a new item",
    "a missing id", "joins: no records", "chosen: a missing item",
    "keys of two names: a missing key", "a text among users", "a text among items",
)  # fmt: skip
"""Those who are like another newcomer."""
