"""Every kind of source gives the counts that its rows mean, to the last record and user.

Nobody is cut here. Counting users shows what counting records cannot: ids that were merged.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

import pytest

from kit.crowds import Database, histories, records, users
from kit.kinds import Kind, Place, marks
from kit.kinds_guessed import KINDS
from kit.neighbouring import counted
from kit.newcomers import (
    AMOUNTS,
    CODES,
    DAYS,
    INTEGERS,
    ITEMS,
    LARGE,
    MANY,
    MANY_MIXED,
    MIXED_KEYS,
    NUMBERS,
    TIMES,
    WORDS,
    visits,
)

_ODD = ["7", "07", " 7", "7 ", "7.0", "+7", "-7", "-0", "0", "1e0", "0x7", "٧", "seven", "", None]

DATABASES = {
    "integers": MANY.plus([*visits(None), (99, None, "Mon"), (99, 1, None), (99, 4, "Mon"),
                           (2**53 + 3, 2**53 + 3, "Mon")]),
    "integers beside text": MANY_MIXED.plus(
        [*visits("guest", LARGE), ("guest", "abc", "Mon"), *visits(None), (99, None, "Mon")]
    ),
    "integers and a list of text": replace(INTEGERS, items=[*map(str, ITEMS), "01", "1.0", ""]),
    "text and a list of integers": Database(
        {"who": "text", "place": "text"},
        [(user, odd) for odd in _ODD for user in ("ana", "bo")],
        items=[-7, 0, 1, 7],
    ),
    "floats": NUMBERS.plus(chain(*map(visits, (-0.0, 0, 1.0, 7.5, float("nan"))))),
    "items as floats": NUMBERS.plus([(1, x, "Mon") for x in (-0.0, 3.0, 0.5, float("inf"), None)]),
    "words": WORDS.plus([("", "", "Mon"), *visits(None), ("e\u0301", "cafe\u0301", "Mon")]),
    "empty text in the list": replace(
        WORDS.plus([("ana", "", "Mon"), ("", "bar", "Tue")]), items=("bar", "", "new\nline")
    ),
    "codes": CODES.plus([("ox", "elsewhere", "Mon"), *visits(None)]),
    "times": TIMES.plus(visits(None)),
    "amounts": AMOUNTS.plus(visits(None)),
    "joins": MIXED_KEYS.plus(
        [*visits("guest"), *visits(41), *visits(None), (1, None, "Mon"), (1, "abc", "Mon")],
        [("abc", "west"), ("7", "east")],
        [("guest", "old"), (44, "young"), (2**53, None)],
    ),
}  # fmt: skip

CORE = ("integers beside text",)
SELDOM = ("items as floats", "empty text in the list", "codes", "times", "amounts")

CASES = [
    pytest.param(kind, database, id=f"{name}: {title}", marks=marks(kind, title, CORE, SELDOM))
    for name, kind in KINDS.items()
    for title, database in DATABASES.items()
    if kind.holds(database.schema)
]


@pytest.mark.parametrize(("kind", "database"), CASES)
def test_every_record_and_every_user_is_counted(
    kind: Kind, database: Database, place: Place
) -> None:
    own = histories(kind, database)
    by_records, by_users = counted(place, kind, database)
    assert by_records.edges == records(own)
    assert by_users.edges == users(own)
    assert by_users.items == users(own, width=1)
    assert sum(by_records.items.values()) == sum(by_records.edges.values()) > len(DAYS)
