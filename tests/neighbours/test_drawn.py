"""Databases drawn from a pool of values that programs read in more than one way, for every kind.

Whoever is taken out of such a database, the others keep their sample, and the bounded counts change
by at most the bound.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.crowds import Database, canonical
from kit.kinds import Kind, Place, Type, marks
from kit.kinds_guessed import KINDS
from kit.neighbouring import bounded, sampled

LIMIT = 2
ITEMS = (0, 1, 2, 3)
DAYS = ("Mon", "Tue")
_WHOLE = [0, 1, 2, -7, 2**31, 2**53 - 1]
_LARGE = [2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1]
_TEXTS = ["guest", "1x", "", " ", "\u00e9", "e\u0301", "a\n,\"b'", "null"]

POOLS: dict[Type, list[Any]] = {
    "mixed": [*_WHOLE, *_LARGE, *_TEXTS],
    "number": [*_WHOLE, 0.0, -0.0, 2.0, 0.5, float("nan")],
}


@st.composite
def databases(draw: st.DrawFn, kind: Kind) -> Database:
    """Rows of a few users, with stored ids or without."""
    flavour: Type = draw(st.sampled_from([name for name in POOLS if name in kind.types]))
    value = st.sampled_from([*POOLS[flavour], None])
    users = st.sampled_from(draw(st.lists(value, min_size=1, max_size=4)))
    items = st.one_of(st.sampled_from(ITEMS), st.sampled_from(ITEMS), value)
    days = st.sampled_from([*DAYS, *DAYS, "Sun", None])
    rows = draw(st.lists(st.tuples(users, items, days, value), max_size=24))
    schema: dict[str, Type] = {"who": flavour, "place": flavour, "day": "text", "visit": flavour}
    stored = draw(st.sampled_from([None, "visit"]))
    return Database(schema, rows, ITEMS, {"day": DAYS}, record_id=stored)


def without(kind: Kind, database: Database, user: str) -> Database:
    """The database that lacks all rows of one user."""
    declared = database.schema["who"]
    rows = [row for row in database.rows if canonical(kind, declared, row[0]) != user]
    return Database(database.schema, rows, ITEMS, database.contexts, database.record_id)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=marks(kind)) for name, kind in KINDS.items()]
)
@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_nobody_changes_another_sample(name: str, place: Place, data: st.DataObject) -> None:
    kind = KINDS[name]
    database = data.draw(databases(kind))
    together = sampled(place, kind, database, LIMIT)
    leaving = data.draw(st.sampled_from([*sorted(together), "nobody"]))
    alone = sampled(place, kind, without(kind, database, leaving), LIMIT)
    assert alone == {user: kept for user, kept in together.items() if user != leaving}
    assert bounded(alone, together, database, LIMIT)
