"""An inspection says what plain Python says of the rows, on every engine, and no record's value."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import fields
from typing import Any

import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.curator.inspect import Inspection, inspect
from crowdtally.curator.request.options import Options
from crowdtally.curator.request.request import make_subject
from kit.spark import Start

SECRETS = ("Xanadu", "Qwghlm", "Zaphod", "8675309")
PLACES = ["bar", "cafe", "nowhere 1", "park", "nowhere 2", "nowhere 3", "nowhere 4"]
OPTIONS = [field.name for field in fields(Options)]
DAYS = ["Mon", "Tue", "Wed"]
USERS = [f"Zaphod-{n % (n % 7 + 2)}" if n % 11 else None for n in range(300)]
ITEMS = [("bar", "cafe", "park", "Xanadu", None)[n % 5] for n in range(300)]
MET = [("Mon", "Tue", "Qwghlm")[n % 3] for n in range(300)]
AREAS = {"bar": "north", "cafe": "south", "Xanadu": "east"}
PERSONS = [(3, 0, None, -2, 10**12, 1)[n % 6] for n in range(300)]
RECORDS = pa.table(
    {"who": USERS, "place": ITEMS, "day": MET, "persons": pa.array(PERSONS, pa.int64())}
)
JOINED = pa.table({"place": list(AREAS), "area": list(AREAS.values())})


def look(start_engine: Start, domain: ct.Domain | None, **given: Any) -> Inspection:
    options = {name: given.pop(name) for name in list(given) if name in OPTIONS}
    return inspect(make_subject(ct.read(RECORDS, **given), domain, **options), start_engine)


def rows_of(found: Inspection) -> dict[str, int]:
    return {f"{reason.role} {reason.name}": reason.rows for reason in found.reasons}


def test_every_column_and_join(start_engine: Start) -> None:
    found = look(
        start_engine, ct.Domain(PLACES, {"day": DAYS}), user="who", item="place",
        contexts=["day"], joins=[(JOINED, "place")], method=ct.SRA(4),
    )  # fmt: skip
    kept = [
        who for who, place, day in zip(USERS, ITEMS, MET, strict=True)
        if who and place in PLACES and day in DAYS and place in AREAS
    ]  # fmt: skip
    assert found.dropped.rows == 300
    assert found.left == len(kept)
    assert rows_of(found) == {
        "user who": USERS.count(None),
        "item place": sum(place not in PLACES for place in ITEMS),
        "context day": sum(day not in DAYS for day in MET),
        "join the table:place": sum(place not in AREAS for place in ITEMS),
    }
    item, day = (reason.unmatched for reason in found.reasons[1:3])
    assert item is not None
    assert day is not None
    assert (item.listed, item.missing) == (7, 4)
    assert item.examples == ("nowhere 1", "nowhere 2", "nowhere 3")
    assert (day.missing, day.examples) == (1, ("Wed",))
    spread = found.spread
    assert spread is not None
    each = Counter(Counter(kept).values())
    assert spread.users_with == dict(sorted(each.items()))
    assert spread.keeping(4).kept == sum(min(n, 4) for n in Counter(kept).values())
    assert spread.keeping(4).cut == sum(n > 4 for n in Counter(kept).values())
    nothing_told(found)


def nothing_told(found: Inspection) -> None:
    """Neither its words nor its JSON say a value that the records alone have."""
    for text in (str(found), json.dumps(found.to_dict())):
        for secret in SECRETS:
            assert secret not in text


def test_items_without_a_list(start_engine: Start) -> None:
    found = look(start_engine, None, user="who", item="place", method=ct.Discover("item"))
    assert rows_of(found) == {"user who": USERS.count(None), "item place": ITEMS.count(None)}
    assert all(reason.unmatched is None for reason in found.reasons)
    nothing_told(found)


def test_rows_that_are_persons_and_weights(start_engine: Start) -> None:
    domain = ct.Domain(attributes={"place": PLACES, "day": DAYS})
    found = look(
        start_engine, domain, user_per_row=True, attributes=["place", "day"], weight="persons"
    )
    inside = [p in PLACES and d in DAYS for p, d in zip(ITEMS, MET, strict=True)]
    weights = [w for w, ok in zip(PERSONS, inside, strict=True) if ok and w is not None and w > 0]
    assert found.spread is None
    assert found.left == len(weights)
    assert found.persons == sum(min(weight, 2**33) for weight in weights)
    assert rows_of(found)["weight persons"] == sum(w is None or w <= 0 for w in PERSONS)
    assert rows_of(found)["attribute day"] == sum(day not in DAYS for day in MET)
    assert "nothing to bound" in str(found)


@pytest.mark.parametrize(
    ("options", "counted"),
    [
        ({"count": "users"}, "cells"),
        ({"method": ct.DPSense(5, cap=2)}, "records, at most 2 of a cell"),
    ],
)
def test_what_the_rule_cuts_is_what_is_counted(
    start_engine: Start, options: dict[str, Any], counted: str
) -> None:
    cap = getattr(options.get("method"), "cap", 1)
    found = look(start_engine, ct.Domain(PLACES), user="who", item="place", **options)
    met = Counter(
        (who, place) for who, place in zip(USERS, ITEMS, strict=True) if who and place in PLACES
    )
    sums: Counter[str] = Counter()
    for (who, _), times in met.items():
        sums[who] += min(times, cap)
    assert found.spread is not None
    assert found.spread.counted == counted
    assert found.spread.users_with == dict(sorted(Counter(sums.values()).items()))


def test_a_source_without_rows(start_engine: Start) -> None:
    records = ct.read(RECORDS.slice(0, 0), user="who", item="place")
    found = inspect(make_subject(records, ct.Domain(PLACES)), start_engine)
    assert (found.dropped.rows, found.left) == (0, 0)
    assert found.spread is not None
    assert found.spread.users == 0
    assert str(found).startswith("For your eyes only: these numbers are exact and private.")
