"""Every way to ask for a release: shapes of the records × methods × forms, on a small town."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

import crowdtally as ct
from crowdtally.core.records import Records
from crowdtally.curator.request.request import Request, make_request

ITEMS, DAYS = ("a", "b", "c"), tuple(range(5))
EPSILON = "6/7"
"""Neither a power of two nor a decimal: what is rounded anywhere shows."""


def town(users: int = 40, records: int = 5) -> pa.Table:
    """Some users with more records than are kept, some with few."""
    rows = [
        (f"u{user}", ITEMS[(user + place) % 3], DAYS[(user * place) % 5], 1 + user % 3)
        for user in range(users)
        for place in range(1 + (user + 3) % records)
    ]
    names = ("user", "item", "day", "weight")
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


@dataclass(frozen=True)
class Shape:
    """What is counted of the records."""

    roles: Mapping[str, Any]
    domain: ct.Domain | None
    tables: Mapping[str, Mapping[str, int]]
    """The tables of counts: the length of each axis, by name."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What goes with it in ``make_request``."""
    by_user: bool = True
    """Whether users are bounded, so that every method may be asked for."""
    times: int = 1
    """How often a record counts at most; without users, how many rows are one person's at most."""

    def records(self, source: object) -> Records:
        return ct.read(source, **self.roles)

    def request(self, source: object, **options: Any) -> Request:
        given = {"epsilon": EPSILON} | dict(self.options) | options
        return make_request(self.records(source), self.domain, **given)


_USER = {"user": "user", "item": "item"}
_DAYS = {"contexts": ["day"]}
_ROW = {"user_per_row": True, "item": "item"}
_LISTED = ct.Domain(ITEMS)
_IN_CONTEXT = ct.Domain(ITEMS, {"day": DAYS})
_ATTRIBUTES = ct.Domain(attributes={"item": ITEMS, "day": DAYS})
_ITEM, _BOTH = {"item": 3}, {"item": 3, "day": 5}

SHAPES = {
    "items": Shape(_USER, _LISTED, {"items": _ITEM}),
    "contexts": Shape(_USER | _DAYS, _IN_CONTEXT, {"items": _ITEM, "edges": _BOTH}),
    "pairs": Shape(_USER, _LISTED, {"items": _ITEM, "pairs": {"pair": 3}}, {"pairs": True}),
    "attributes": Shape(
        {"user": "user", "attributes": ["item", "day"]}, _ATTRIBUTES, {"cells": _BOTH}
    ),
    "quantities": Shape(
        _USER | _DAYS | {"quantity": "weight", "max_quantity": 2}, _IN_CONTEXT,
        {"items": _ITEM, "edges": _BOTH}, times=2,
    ),
    "rows": Shape(_ROW | _DAYS, _IN_CONTEXT, {"items": _ITEM, "edges": _BOTH}, by_user=False),
    "bounded elsewhere": Shape(
        {"bounded_to": 3, "item": "item"} | _DAYS, _IN_CONTEXT, {"items": _ITEM, "edges": _BOTH},
        by_user=False, times=3,
    ),
    "weights": Shape(_ROW | {"weight": "weight"}, _LISTED, {"items": _ITEM}, by_user=False),
    "derived": Shape(
        {
            "user": "user",
            "item": {"letter": "lower(item)"},
            "where": "weight <> 2 OR day > 0",
            "contexts": {"day": "(hour(to_timestamp(day * 3600)) + 19) % 24"},
            "timezone": "Asia/Kolkata",
            "types": {"weight": "int64", "day": "int64"},
        },
        ct.Domain(ITEMS, {"day": DAYS}, item="letter"),
        {"items": {"letter": 3}, "edges": {"letter": 3, "day": 5}},
    ),
    "discovery": Shape(
        _USER, None, {},
        {"discover_items": True, "delta": "1e-6", "max_records": 2, "noise": "laplace"},
        by_user=False,
    ),
    "discovery in context": Shape(
        _USER | _DAYS, None, {},
        {"discover": "item,day", "delta": "1e-6", "max_records": 2, "noise": "laplace"},
        by_user=False,
    ),
}  # fmt: skip

_POPULAR = {"max_records": 3, "popularity_records": 2}
_ROWS = {"max_records": 3, "count": "users"}
METHODS: dict[str, dict[str, Any]] = {
    "sra": {"max_records": 3},
    "sra, users": {"max_records": 3, "count": "users"},
    "declared": {"bounding": "declared", "max_records": 4},
    "hpa": {"bounding": "hpa"} | _POPULAR,
    "dpsense": {"bounding": "dpsense"} | _ROWS,
    "dpsense, capped": {"bounding": "dpsense", "max_records": 3, "cap": 2},
    "dpsense-s": {"bounding": "dpsense-s", "scalings": "1.5"} | _ROWS,
    "sra, rank": {"max_records": 4, "choose": "rank"},
    "hpa, rank": {"bounding": "hpa", "choose": "rank"} | _POPULAR,
    "dpsense, rank": {"bounding": "dpsense", "choose": "rank"} | _ROWS,
    "dpsense, dpsense": {"bounding": "dpsense", "choose": "dpsense", "max_records": 3, "cap": 2},
    "dpsense-s, dpsense": {
        "bounding": "dpsense-s", "choose": "dpsense", "max_records": 3, "cap": 2,
        "scalings": "1,1.25,2",
    },
}  # fmt: skip

_DYADIC, _HAAR = ({"transform": kind, "ordered": ["day"]} for kind in ("dyadic", "haar"))
_OF_ITEMS = {"transform": "dyadic", "ordered": ["item"]}
FORMS: dict[str, dict[str, Any]] = {
    "dense": {},
    "filter, cut": {"publishing": "filter", "cut": 4},
    "filter, size": {"publishing": "filter", "size": 2},
    "filter, one side": {"publishing": "filter", "cut": 0, "sides": "one"},
    "filter that keeps all": {"publishing": "filter", "cut": 0},
    "threshold": {"publishing": "threshold", "threshold": "19/3"},
    "threshold, high": {"publishing": "threshold", "threshold": "25"},
    "threshold, one side": {"publishing": "threshold", "threshold": "7/2", "sides": "one"},
    "threshold, size": {"publishing": "threshold", "size": 2, "guess_total": 100},
    "priority": {"publishing": "priority", "size": 2},
    "priority, threshold": {"publishing": "priority", "size": 2, "threshold": "3"},
    "filter-priority": {"publishing": "filter-priority", "size": 2, "cut": 3},
    "filter-priority, size": {"publishing": "filter-priority", "size": 2, "sides": "one"},
    "dyadic": _DYADIC,
    "dyadic of items": _OF_ITEMS,
    "dyadic, filter": _DYADIC | {"publishing": "filter", "cut": 3},
    "dyadic, threshold": _DYADIC | {"publishing": "threshold", "threshold": "19/3"},
    "dyadic, filter-priority": _DYADIC | {"publishing": "filter-priority", "size": 3},
    "haar": _HAAR,
    "haar, filter": _HAAR | {"publishing": "filter", "cut": 3},
    "haar, priority": _HAAR | {"publishing": "priority", "size": 3},
    "sketch": {"transform": "sketch", "buckets": 4, "sketch_rows": 3},
}


def fitting(shape: str, method: Mapping[str, Any], form: Mapping[str, Any]) -> bool:
    """Whether the three go together; what is refused instead is tested where it is refused."""
    if shape == "pairs":
        scales = method.get("bounding") in ("dpsense", "dpsense-s")
        return "transform" not in form and not scales
    if shape == "derived":
        return not form or "publishing" in form
    if shape == "quantities" and method.get("count") == "users":
        return False
    if shape == "attributes" and "popularity_records" in method:
        return False
    with_days = shape not in ("items", "weights")
    return with_days or "day" not in form.get("ordered", ())


def every_request() -> Iterator[tuple[str, str, str]]:
    """The names of all that go together: shape, method and form."""
    for name, shape in SHAPES.items():
        methods = METHODS if shape.by_user else {"none": {}}
        forms = FORMS if shape.domain is not None else {"dense": {}}
        for method, options in methods.items():
            for form, given in forms.items():
                if fitting(name, options, given):
                    yield name, method, form


def asked(method: str, form: str) -> dict[str, Any]:
    """The options of one of them."""
    return {**METHODS.get(method, {}), **FORMS[form]}
