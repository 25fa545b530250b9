"""The subjects of the exhaustive tests: one line for each way to make a release."""

from __future__ import annotations

from kit.subjects import Subject
from kit.tiny import Space

SQUARE, TRIPLE, PLAIN, WIDE = Space(2, 2), Space(3, 1), Space(2, 1), Space(3, 2)

# Items × contexts, each user with none, few and more records than are kept.
MIXED = [(), (0,), (0, 3), (0, 0, 1), (1, 2, 3)]

# Released popularities far above all counts, one for each order of two items, and of equal ones.
ORDERS = ((100, 101), (101, 100), (100, 100))

SAMPLES = {
    "one record, no ids": Subject(SQUARE, {"max_records": 1}),
    "one record, stored ids": Subject(SQUARE, {"max_records": 1}, "stored"),
    "two records, no ids": Subject(SQUARE, {"max_records": 2}),
    "two records, stored ids": Subject(SQUARE, {"max_records": 2}, "stored"),
    "two records, repeated ids": Subject(SQUARE, {"max_records": 2}, "repeated"),
    "users, one cell": Subject(SQUARE, {"max_records": 1, "count": "users"}),
    "users, two cells": Subject(SQUARE, {"max_records": 2, "count": "users"}, "stored"),
    "uneven split": Subject(
        SQUARE, {"max_records": 2, "split": {"items": "1/5", "edges": "4/5"}}, "stored"
    ),
    "declared": Subject(SQUARE, {"bounding": "declared", "max_records": 2}),
    "one record of several counts": Subject(SQUARE, {"max_records": 1}, "quantities"),
    "two records of several counts": Subject(SQUARE, {"max_records": 2}, "quantities"),
    "two records of persons with two ids": Subject(SQUARE, {"max_records": 2}, "several"),
    "items alone": Subject(PLAIN, {"max_records": 2}),
}
"""Samples of each user's records."""

_HOUR = {
    "contexts": {"context": "hour(to_timestamp(context * 3600)) - 5"},
    "timezone": "Asia/Kolkata",  # half past five and half past six, by the clocks there
    "types": {"item": "int64", "context": "int64"},
}
DERIVED = {
    "a condition": Subject(
        SQUARE,
        {"max_records": 1},
        "stored",
        roles={"where": "item = 0 OR id < 2", "types": {"item": "int64", "id": "int64"}},
    ),
    "a condition that fails on some rows": Subject(
        SQUARE,
        {"max_records": 2},
        roles={
            "where": "CAST(split_part('1,x', ',', item+1) AS INT)=1",
            "types": {"item": "int64"},
        },
    ),
    "derived items, hours of a zone": Subject(
        SQUARE, {"max_records": 2}, roles={"item_expression": "1 - item"} | _HOUR
    ),
    "users, under a condition": Subject(
        SQUARE, {"max_records": 1, "count": "users"}, roles={"where": "context = 1"} | _HOUR
    ),
}
"""Records that a condition chooses, items and contexts that are computed."""

STEERED = {
    "hpa, one record": Subject(
        SQUARE, {"bounding": "hpa", "max_records": 1, "popularity_records": 1}, steering=ORDERS
    ),
    "hpa, two cells of users": Subject(
        SQUARE,
        {"bounding": "hpa", "max_records": 2, "popularity_records": 2, "count": "users"},
        steering=ORDERS,
    ),
    "hpa, several counts": Subject(
        SQUARE,
        {"bounding": "hpa", "max_records": 1, "popularity_records": 1},
        "quantities",
        steering=ORDERS,
    ),
}
"""Samples that a released popularity steers."""

SCALED = {
    "dpsense, one": Subject(
        SQUARE, {"bounding": "dpsense", "max_records": 1, "count": "users"}, room=25
    ),
    "dpsense, capped": Subject(
        SQUARE, {"bounding": "dpsense", "max_records": 2, "cap": 2}, room=25
    ),
    "dpsense, several counts": Subject(
        SQUARE, {"bounding": "dpsense", "max_records": 3, "cap": 3}, "quantities", room=25
    ),
    "dpsense-s": Subject(
        SQUARE,
        {"bounding": "dpsense-s", "max_records": 1, "count": "users", "scalings": "1.5"},
        room=25,
    ),
}
"""Rows scaled as a whole, on a grid."""

PAIRS = {
    "pairs of two records": Subject(TRIPLE, {"max_records": 2, "pairs": True}),
    "pairs of three cells": Subject(TRIPLE, {"max_records": 3, "pairs": True, "count": "users"}),
}
"""Pairs of items of one user."""

FORMED = {
    "dyadic": Subject(SQUARE, {"max_records": 1, "transform": "dyadic", "ordered": ["context"]}),
    "haar": Subject(SQUARE, {"max_records": 2, "transform": "haar", "ordered": ["context"]}),
    "haar, several counts": Subject(
        SQUARE,
        {"max_records": 1, "transform": "haar", "ordered": ["context"]},
        "quantities",
    ),
    "sketch": Subject(
        PLAIN, {"max_records": 2, "transform": "sketch", "buckets": 2, "sketch_rows": 2}
    ),
    "dyadic, dpsense": Subject(
        PLAIN,
        {
            "bounding": "dpsense",
            "max_records": 1,
            "count": "users",
            "transform": "dyadic",
            "ordered": ["item"],
        },
        room=25,
    ),
}
"""Sums and differences of counts instead of cells."""

CHOSEN = {
    "sra, rank": Subject(PLAIN, {"max_records": 2, "choose": "rank"}),
    "sra, rank, several counts": Subject(PLAIN, {"max_records": 2, "choose": "rank"}, "quantities"),
    "hpa, rank": Subject(
        PLAIN,
        {"bounding": "hpa", "max_records": 2, "popularity_records": 1, "choose": "rank"},
        steering=ORDERS,
    ),
    "dpsense, rank": Subject(
        PLAIN,
        {"bounding": "dpsense", "max_records": 2, "choose": "rank", "count": "users"},
        room=25,
    ),
    "dpsense, dpsense": Subject(
        SQUARE,
        {"bounding": "dpsense", "max_records": 2, "choose": "dpsense", "count": "users"},
        room=25,
    ),
    "dpsense-s, dpsense": Subject(
        PLAIN,
        {
            "bounding": "dpsense-s",
            "max_records": 2,
            "choose": "dpsense",
            "count": "users",
            "scalings": "1,1.5",
        },
        room=25,
    ),
}
"""The bound itself chosen privately."""
