"""Small releases of the real ``auto``, one for each way it can go, with noise that is repeatable.

The noise has its true law, from seeded words. The records are made up, so the truth is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

import crowdtally as ct
from crowdtally.curator.request.request import make_request
from crowdtally.ledger import Ledger
from crowdtally.noise.draws import SystemDraws
from kit import long_tail
from kit.publishing import publish
from kit.words import Seeded

USERS, ITEMS = 4_000, 100
SEXES, DAYS = ["f", "m"], ["wet", "dry"]
SPARSE = 2**22 + 40
"""More items than are all published."""
FAVOURITES = (5, 4_000_000)
"""Of the sparse list: all others have a few users at most."""
AGES = list(range(8))


@dataclass(frozen=True)
class Way:
    """One way that ``auto`` goes."""

    rows: Callable[[], pa.Table]
    domain: Mapping[str, Any]
    roles: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    features: bool = False


def _columns(users: np.ndarray, items: np.ndarray, **more: np.ndarray) -> pa.Table:
    return pa.table({"user": users, "item": items, **more})


def by_sex() -> pa.Table:
    """Items, once each: women like the even ones of the first half, men the odd ones."""
    rng, users = np.random.default_rng(3), np.repeat(np.arange(USERS), 12)
    items = (ITEMS * rng.random(len(users)) ** 2).astype(np.int64)
    items -= (items % 2 != users % 2) & (items < ITEMS // 2) & (rng.random(len(users)) < 0.4)
    items = np.maximum(items, 0)
    return _columns(users, items, sex=np.array(SEXES)[users % 2])


def by_weather(*, differ: bool = True) -> pa.Table:
    """Records of a few people each in two kinds of weather; even items are for the dry."""
    rng, users = np.random.default_rng(4), np.repeat(np.arange(USERS), 8)
    items = (ITEMS * rng.random(len(users)) ** 2).astype(np.int64)
    likely = np.where(items % 2 == 0, 0.85, 0.15) if differ else 0.5
    return _columns(users, items, day=np.array(DAYS)[(rng.random(len(users)) < likely).astype(int)])


def short_list() -> pa.Table:
    """Six items, of which most people have several."""
    rng = np.random.default_rng(5)
    chosen = rng.random((2_000, 6)) < [0.9, 0.8, 0.7, 0.6, 0.5, 0.02]
    users, items = np.nonzero(chosen)
    return _columns(users, items, sex=np.array(SEXES)[(users % 4 == 0).astype(int)])


def very_long_list() -> pa.Table:
    rng = np.random.default_rng(6)
    users = np.concatenate([np.arange(1_500), np.arange(1_500), np.arange(800)])
    rare = rng.integers(10, SPARSE, 1_500)
    items = np.concatenate([rare, np.full(1_500, FAVOURITES[0]), np.full(800, FAVOURITES[1])])
    return _columns(users, items)


def people() -> pa.Table:
    rng = np.random.default_rng(8)
    ages = np.minimum(rng.geometric(0.4, 3_000) - 1, len(AGES) - 1)
    return pa.table(
        {"user": np.arange(3_000), "age": ages, "sex": np.array(SEXES)[rng.integers(0, 2, 3_000)]}
    )


_BY_SEX = {"items": range(ITEMS), "contexts": {"sex": SEXES}}
_BY_DAY = {"items": range(ITEMS), "contexts": {"day": DAYS}}
_SHORT = {"items": range(6)}
_ONE_SEX = {"context_per_user": "sex", "repeats": "no"}
WAYS: Mapping[str, Way] = {
    "items": Way(
        lambda: long_tail.table_of(long_tail.rows_of_all()), {"items": range(long_tail.ITEMS)},
        options={"epsilon": long_tail.EPSILON, "count": "users"},
    ),
    "split head": Way(by_sex, _BY_SEX, {"contexts": ["sex"]}, {"for_": "recommend", **_ONE_SEX}),
    "tastes": Way(
        by_sex, _BY_SEX, {"contexts": ["sex"]}, {"for_": "recommend", "context_per_user": "sex"},
        features=True,
    ),
    "head rows": Way(by_weather, _BY_DAY, {"contexts": ["day"]}, {"for_": "recommend"}),
    "alike": Way(
        lambda: by_weather(differ=False), _BY_DAY, {"contexts": ["day"]}, {"for_": "recommend"}
    ),
    "counts": Way(
        by_sex, _BY_SEX, {"contexts": ["sex"]}, {"context_per_user": "sex", "epsilon": "0.3"}
    ),
    "small": Way(short_list, _SHORT, {}, {"repeats": "no"}),
    "small in contexts": Way(
        short_list, {**_SHORT, "contexts": {"sex": SEXES}}, {"contexts": ["sex"]},
        {"for_": "recommend", **_ONE_SEX},
    ),
    "sparse": Way(very_long_list, {"items": range(SPARSE)}, options={"repeats": "no"}),
    "top": Way(by_sex, {"items": range(ITEMS)}, options={"top": 8}),
    "top in contexts": Way(
        by_sex, _BY_SEX, {"contexts": ["sex"]}, {"top": 5, "context_per_user": "sex"}
    ),
    "attributes": Way(
        people, {"attributes": {"age": AGES, "sex": SEXES}},
        {"item": None, "attributes": ["age", "sex"]}, {"count": "users"},
    ),
}  # fmt: skip


def release_way(folder: Path, name: str, *, seed: int = 1) -> ct.Release:
    """The release, in ``folder / name``; the records lie nowhere on the disk."""
    way = WAYS[name]
    options = {"epsilon": 1, **way.options}
    if way.features:
        path = folder / "features.csv"
        kinds = ["even" if item % 2 == 0 else "odd" for item in range(ITEMS)]
        pyarrow.csv.write_csv(pa.table({"item": range(ITEMS), "kind": kinds}), path)
        options["features"] = path
    records = ct.read(way.rows(), **{"user": "user", "item": "item", **way.roles})
    request = make_request(records, ct.Domain(**way.domain), **options)
    ledger = Ledger.open(folder / "ledger.sqlite", create=True)
    draws = SystemDraws(Seeded(seed))
    publish(request, name, folder / name, ledger=ledger, draws=draws, tell=lambda _: None)
    return ct.load(folder / name)


def truth(name: str) -> dict[tuple[Any, ...], int]:
    """The true count of each (item, context), or of each cell of attributes, that is not 0."""
    rows = WAYS[name].rows()
    counted = [one for one in rows.column_names if one != "user"]
    if name not in ("tastes", "counts", "head rows", "alike"):  # users are counted
        rows = rows.group_by(["user", *counted]).aggregate([])
    found = rows.group_by(counted).aggregate([([], "count_all")]).to_pydict()
    cells = zip(*(found[one] for one in counted), strict=True)
    return dict(zip(cells, found["count_all"], strict=True))
