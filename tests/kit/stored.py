"""Small real releases: of a hamlet, and of every kind, made when a test first asks."""

from __future__ import annotations

import secrets
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock
from zlib import crc32

import pyarrow as pa

import crowdtally as ct
from crowdtally.curator.request.request import make_request
from crowdtally.ledger import Ledger
from crowdtally.noise.draws import SystemDraws
from kit.draws import Seeded, SilentDraws
from kit.publishing import made, publish, visits
from kit.repeatable import made_once

# ---- A few visits to three places on two days, released: what tests of a release's folder
#      share


PLACES, DAYS = ["zoo", "arena", "mill"], ["Tue", "Mon"]
CELLS = {("zoo", "Mon"): 5, ("arena", "Tue"): 3, ("mill", "Mon"): 1, ("arena", "Mon"): 4}


def hamlet(folder: Path, **options: Any) -> ct.Release:
    """Its release, without noise unless draws are given."""
    domain = ct.Domain(PLACES, {"day": DAYS})
    return made(folder, visits(CELLS, "day"), domain, **({"draws": SilentDraws()} | options))


# ---- Small releases of every kind, made when a test first asks for one; the same in each run -----


WIDE = [f"a{n:02}" for n in range(20)]
LISTS: dict[str, list[Any]] = {
    "place": ["zoo", "arena", "O'Brien's", "café, old", "mill", "quay", "北京", "pier"],
    "movie": [260, 10, 25, 3, 11, 1000],
    "day": ["Sun", "Tue", "Mon", "Fri"],
    "hour": [0, 6, 12, 18],
    "sex": ["F", "M"],
    "age": list(range(10, 27)),
    "size": ["small", "medium", "large"],
    **{name: list(range(10)) for name in WIDE},
}
"""The public values of each column; of items and sizes, the more frequent come first."""
MANY = list(range(1, 10_002))
"""More items than ``release.json`` names."""
_PLACE: dict[str, Any] = {"user": "user", "item": "place", "method": ct.SRA(4), "epsilon": "2"}
_DAY = _PLACE | {"contexts": ["day"]}
_HOUR = _PLACE | {"contexts": ["day", "hour"], "epsilon": "4"}
_MOVIE = _PLACE | {"item": "movie"}
_AGE = {"user": "user", "attributes": ["age", "sex"], "method": ct.SRA(4), "epsilon": "4"}
_SIZE = _AGE | {"attributes": ["sex", "age", "size"]}
_FLAT = _AGE | {"attributes": WIDE}
_ROW = {"user_per_row": True, "item": "place", "contexts": ["day"], "epsilon": "1"}
_PAIRS = _MOVIE | {"pairs": True, "epsilon": "8"}
_USERS = {"count": "users", "epsilon": "3"}
_FOUND = _PLACE | {"method": ct.Discover("item", 3), "noise": "laplace"}
_TWO = {"transform": ct.Dyadic(["age", "size"]), "epsilon": "6"}
_ALONG = {"transform": ct.Haar("age")}
_CUT = {"summary": ct.Filter(cut=9), "epsilon": "3"}
_OVER = {"summary": ct.Threshold("14.5"), "epsilon": "3"}
_DRAWN = {"summary": ct.Priority(6), "epsilon": "3"}
_BOTH = {"summary": ct.FilterPriority(6), "epsilon": "3"}
OPTIONS: dict[str, dict[str, Any]] = {
    "sra-items": _PLACE,
    "sra-integer-items": _MOVIE,
    "sra-one-context": _DAY,
    "sra-two-contexts": _HOUR,
    "sra-integers-and-context": _MOVIE | {"contexts": ["hour"], "epsilon": "1/3"},
    "sra-record-id": _DAY | {"record_id": "id", "split": {"items": "0.25", "edges": "0.75"}},
    "sra-count-users": _DAY | {"count": "users"},
    "sra-attributes": _SIZE | {"epsilon": "2"},
    "long-list": _MOVIE | {"epsilon": "60"},
    "hpa": _DAY | {"method": ct.HPA(4, popularity_records=3)},
    "declared": _HOUR | {"method": ct.Declared(25), "epsilon": "10"},
    "dpsense-users": _DAY | _USERS | {"method": ct.DPSense(3)},
    "dpsense-cap": _DAY | {"method": ct.DPSense(5, cap=3), "epsilon": "3"},
    "dpsense-s-users": _PLACE | _USERS | {
        "method": ct.DPSenseS(2, scalings="2"),
    },
    "dpsense-s-cap": _DAY | {"method": ct.DPSenseS(4, cap=2, scalings="1.2"), "epsilon": "3"},
    "user-per-row": _ROW,
    "user-per-row-weight": _ROW | {"weight": "persons", "epsilon": "1/2"},
    "choose-rank-sra": _DAY | {"method": ct.SRA(20, choose="rank"), "epsilon": "4"},
    "choose-dpsense": _DAY | {
        "method": ct.DPSense(8, cap=2, choose="dpsense"), "epsilon": "4",
    },
    "choose-dpsense-s": _DAY | {
        "method": ct.DPSenseS(8, choose="dpsense", scalings=["1", "1.25", "1.5"]),
        "count": "users", "epsilon": "4",
    },
    "pairs": _PAIRS,
    "pairs-filter": _PAIRS | {"summary": ct.Filter(cut=8)},
    "pairs-priority": _PAIRS | {"summary": ct.Priority(7)},
    "pairs-text-hpa": _PAIRS | {"item": "place", "method": ct.HPA(4)},
    "discovered": _FOUND | {"delta": "1e-6", "epsilon": "12"},
    "discovered-none": _FOUND | {"delta": "1e-9", "epsilon": "0.1"},
    "filter-one": _DAY | _CUT | {"summary": ct.Filter(cut=9, sides="one")},
    "filter-two": _DAY | _CUT,
    "filter-scaled": _DAY | _USERS | {
        "method": ct.DPSenseS(2, scalings="1.2"), "summary": ct.Filter(cut=12),
    },
    "filter-size-two": _HOUR | {"summary": ct.Filter(size=40)},
    "threshold-two": _DAY | _OVER,
    "threshold-one": _DAY | _OVER | {"summary": ct.Threshold("14.5", sides="one")},
    "priority-one": _DAY | _DRAWN | {"summary": ct.Priority(6, sides="one")},
    "priority-two": _DAY | _DRAWN,
    "filter-priority-two": _DAY | _BOTH | {"summary": ct.FilterPriority(6, cut=4)},
    "wide-filter-priority": _FLAT | _BOTH | {"summary": ct.FilterPriority(30)},
    "dyadic-items": _MOVIE | {"transform": ct.Dyadic("movie"), "epsilon": "4"},
    "dyadic-context": _MOVIE | {
        "contexts": ["hour"], "transform": ct.Dyadic("hour"), "epsilon": "4",
    },
    "dyadic-two": _SIZE | _TWO | {"epsilon": "4"},
    "dyadic-two-filter": _SIZE | _TWO | {"summary": ct.Filter(cut=15)},
    "dyadic-wide": _FLAT | {
        "summary": ct.Priority(30), "transform": ct.Dyadic(["a00", "a01"]),
        "epsilon": "8",
    },
    "haar-items": _MOVIE | {"transform": ct.Haar("movie"), "epsilon": "4"},
    "haar-context": _DAY | {"transform": ct.Haar("day"), "epsilon": "4"},
    "haar-attributes": _AGE | _ALONG,
    "haar-threshold": _AGE | _ALONG | {"summary": ct.Threshold("25")},
    "sketch": _DAY | {"transform": ct.Sketch(16, rows=4), "epsilon": "4"},
    "sketch-wide": _FLAT | {"transform": ct.Sketch(16, rows=3)},
}  # fmt: skip
"""What each kind was asked for."""
NAMES = sorted(OPTIONS)
_ROLES = ("user", "item", "contexts", "attributes", "record_id", "user_per_row", "weight")


@cache
def stored(name: str) -> Path:
    """The folder of the release of this name; whoever changes it changes a copy."""
    return made_once(f"stored-{name}", lambda folder: _made(folder, name))


def _made(folder: Path, name: str) -> Path:
    options = dict(OPTIONS[name])
    roles = {role: options.pop(role) for role in _ROLES if role in options}
    seed = crc32(name.encode())
    with mock.patch.object(secrets, "randbits", Random(seed).getrandbits):
        publish(
            make_request(ct.read(_records(), **roles), _domain(name, roles, options), **options),
            name, folder / name, draws=SystemDraws(Seeded(seed)), tell=lambda _: None,
            ledger=Ledger.open(folder / "ledger.sqlite", create=True),
        )  # fmt: skip
    return folder / name


def _domain(name: str, roles: dict[str, Any], options: dict[str, Any]) -> ct.Domain | None:
    if isinstance(options.get("method"), ct.Discover):
        return None
    if "attributes" in roles:
        return ct.Domain(attributes={one: LISTS[one] for one in roles["attributes"]})
    contexts = {one: LISTS[one] for one in roles.get("contexts", ())}
    item = roles["item"]
    if name == "long-list":
        return ct.Domain(MANY, contexts, item=item)
    return ct.Domain(sorted(LISTS[item]) if item == "movie" else LISTS[item], contexts, item=item)


@cache
def _records() -> pa.Table:
    """Some hundred users of one to nine records, and the first places more often than the last."""
    rng = Random(7)
    columns: dict[str, list[Any]] = {"user": [], "id": [], "persons": []} | {n: [] for n in LISTS}
    for user in range(130):
        for _ in range(rng.randint(1, 9)):
            columns["user"].append(f"u{user}")
            columns["id"].append(len(columns["id"]))
            columns["persons"].append(rng.randint(0, 1))
            for name, values in LISTS.items():
                falls = name in ("place", "movie", "size")
                weights = [1 / (n + 1) for n in range(len(values))] if falls else None
                columns[name].append(rng.choices(values, weights)[0])
    return pa.table(columns)
