"""Releases of ``auto``: a tiny one with nearly all of its tables, and one for each path."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa

import crowdtally as ct
from crowdtally.curator.method import method_of
from crowdtally.curator.methods.auto import AutoMethod, Course
from crowdtally.curator.methods.auto_rules import KAPPA, Setting
from crowdtally.curator.questions import Noisy, Question
from crowdtally.curator.request import table_specs
from crowdtally.curator.request.request import Request, make_request
from crowdtally.inference.facts import Path as Taken
from crowdtally.inference.rows import BINS, RowLengths
from crowdtally.ledger import Ledger
from crowdtally.noise.draws import SystemDraws
from kit.draws import Seeded
from kit.publishing import publish, visits
from kit.repeatable import made_once

# ---- A release with nearly all tables, from a few records ----------------------------------------
#
# Which tables there are depends on how many records of what kind there are; readers must know all.


PLACES, DAYS = ["zoo", "arena", "mill", "quay", "pier"], ["Tue", "Mon", "Sun"]
CELLS = {(place, day): 4 + p for p, place in enumerate(PLACES) for day in DAYS}
LENGTHS = np.zeros(BINS)
LENGTHS[:12] = 4_900, 2_100, 1_300, 900, 600, 450, 340, 260, 800, 280, 70, 10
"""Users of each length, as the tiny release is told instead of the truth."""


@dataclass(frozen=True)
class OfMany(AutoMethod):
    """The questions of ``auto`` as they follow from very many users: with a look at tastes.

    Where later tables may be paid for in ρ, they are.
    """

    def known(self, lengths: RowLengths) -> Setting:
        many = RowLengths(LENGTHS, lengths.deviation, rich_from=0.0)
        return self.design.setting(self.design.purses[-1], many)

    def _path(
        self, course: Course, setting: Setting
    ) -> Generator[Question, Noisy, tuple[Taken, float]]:
        yield from super()._path(course, setting)
        return ("long" if self.design.contexts else "rich"), KAPPA


def adaptive_request(*, contexts: bool = True, epsilon: object = 4, **options: Any) -> Request:
    """A request that leaves its method to ``auto``."""
    lists = {"day": DAYS} if contexts else {}
    records = ct.read(visits(CELLS, "day"), user="user", item="item", contexts=list(lists))
    return make_request(records, ct.Domain(PLACES, lists), epsilon=epsilon, **options)


def adaptive(folder: Path, name: str = "out", **options: Any) -> Path:
    """The folder of such a release: in contexts by the path of long rows, else the rich one."""
    request = adaptive_request(**options)
    method = method_of(request)
    assert isinstance(method, AutoMethod)
    with (
        patch("crowdtally.curator.publish.method_of", return_value=OfMany(method.design)),
        patch.object(Setting, "head", 2),
    ):
        publish(
            request, "made", folder / name, draws=SystemDraws(), tell=lambda _: None,
            ledger=Ledger.open(folder / "ledger.sqlite", create=True),
        )  # fmt: skip
    return folder / name


# ---- Real releases, one for each path, with noise that is repeatable -----------------------------
#
# The noise has its true law, from seeded words. The records are made up, so the truth is known.


SEXES, DAYS_MADE = ["f", "m"], ["wet", "dry"]
AGES = list(range(8))
SPARSE, FAVOURITES = 60_000, (5, 40_000)
"""More items than are all published; all but two of them have a user at most."""


@dataclass(frozen=True)
class Way:
    """One way that ``auto`` goes."""

    rows: Callable[[], pa.Table]
    domain: Mapping[str, Any]
    tables: str
    """The tables that it releases."""
    roles: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    dense: int | None = None
    """Cells up to which all are published, where fewer than usual."""

    @property
    def counts_users(self) -> bool:
        method = self.options.get("method", ct.Auto())
        return isinstance(method, ct.Top) or method.repeats is False or "count" in self.options


def records(
    users: int, items: int, *, mean: float, spread: float = 0.0, repeats: bool = True, seed: int = 1
) -> pa.Table:
    """Users with lognormal numbers of records, in two kinds of weather; even items are for the dry.

    The sex is that of the user, and women like the first item more.
    """
    rng = np.random.default_rng(seed)
    lengths = np.maximum(np.rint(np.exp(rng.normal(np.log(mean), spread, users))), 1).astype(int)
    owners = np.repeat(np.arange(users), lengths)
    chosen = (items * rng.random(len(owners)) ** 2.5).astype(np.int64)
    chosen[(owners % 2 == 0) & (rng.random(len(owners)) < 0.1)] = 0
    dry = rng.random(len(owners)) < np.where(chosen % 2 == 0, 0.8, 0.25)
    columns = {
        "user": owners, "item": chosen, "day": np.array(DAYS_MADE)[dry.astype(int)],
        "sex": np.array(SEXES)[owners % 2],
    }  # fmt: skip
    made = pa.table(columns)
    return made if repeats else made.group_by(list(columns)).aggregate([])


def very_long_list() -> pa.Table:
    rng = np.random.default_rng(6)
    users = np.concatenate([np.arange(1_500), np.arange(1_500), np.arange(800)])
    rare = rng.integers(10, SPARSE, 1_500)
    items = np.concatenate([rare, np.full(1_500, FAVOURITES[0]), np.full(800, FAVOURITES[1])])
    return pa.table({"user": users, "item": items})


def people() -> pa.Table:
    rng = np.random.default_rng(8)
    ages = np.minimum(rng.geometric(0.4, 3_000) - 1, len(AGES) - 1)
    return pa.table(
        {"user": np.arange(3_000), "age": ages, "sex": np.array(SEXES)[rng.integers(0, 2, 3_000)]}
    )


def _few_long() -> pa.Table:
    return records(2_500, 400, mean=12, spread=1.0)


def _many() -> pa.Table:
    return records(12_000, 60, mean=2, spread=1.2)


_400, _DAY, _SEX = range(400), {"contexts": {"day": DAYS_MADE}}, {"contexts": {"sex": SEXES}}
_IN_DAYS, _IN_SEXES = {"contexts": ["day"]}, {"contexts": ["sex"]}
_ONCE = {"method": ct.Auto(repeats=False)}
WAYS: Mapping[str, Way] = {
    "short": Way(
        lambda: records(4_000, 100, mean=3, spread=0.4), {"items": range(100), **_DAY},
        "sizes items edges contexts", _IN_DAYS,
    ),
    "rich": Way(_many, {"items": range(60)}, "sizes pilot_short pilot items items_short"),
    "rich in contexts": Way(
        _many, {"items": range(60), **_DAY}, "sizes pilot_short pilot items edges contexts",
        _IN_DAYS,
    ),
    "long": Way(_few_long, {"items": _400}, "sizes items total head_rows"),
    "long users": Way(
        _few_long, {"items": _400}, "sizes items total head", options=_ONCE
    ),
    "zoom": Way(
        lambda: records(2_500, 8_000, mean=12, spread=1.0), {"items": range(8_000)},
        "sizes items total zoom head", options=_ONCE,
    ),
    "recommend": Way(
        _few_long, {"items": _400, **_DAY}, "sizes items total edges contexts head_rows",
        _IN_DAYS, {"method": ct.Auto("recommend")},
    ),
    "by user": Way(
        _few_long, {"items": _400, **_SEX}, "sizes items total edges contexts head", _IN_SEXES,
        {"method": ct.Auto("recommend", repeats=False, context_per_user="sex")},
    ),
    "totals": Way(
        _few_long, {"items": _400, **_DAY}, "sizes items total contexts head_rows", _IN_DAYS,
        dense=500,
    ),
    "gaussian": Way(
        _few_long, {"items": _400}, "sizes items total head",
        options={**_ONCE, "delta": "1e-6", "noise": "gaussian"},
    ),
    "sparse": Way(
        very_long_list, {"items": range(SPARSE)}, "sizes items", options=_ONCE,
        dense=50_000,
    ),
    "top": Way(_few_long, {"items": _400}, "head", options={"method": ct.Top(8)}),
    "top in contexts": Way(
        _few_long, {"items": _400, **_SEX}, "heads", _IN_SEXES,
        {"method": ct.Top(5, "sex")},
    ),
    "attributes": Way(
        people, {"attributes": {"age": AGES, "sex": SEXES}}, "sizes cells",
        {"item": None, "attributes": ["age", "sex"]}, {"count": "users"},
    ),
}  # fmt: skip


@contextmanager
def _dense(way: Way) -> Iterator[None]:
    with ExitStack() as stack:
        if way.dense is not None:
            stack.enter_context(patch.object(table_specs, "LARGEST_DENSE_AUTO", way.dense))
        yield


def release_way(folder: Path, name: str, *, seed: int = 1) -> ct.Release:
    """The release, in ``folder / name``; the records lie nowhere on the disk."""
    way = WAYS[name]
    source = ct.read(way.rows(), **{"user": "user", "item": "item", **way.roles})
    with _dense(way):
        request = make_request(source, ct.Domain(**way.domain), **{"epsilon": 1, **way.options})
        publish(
            request, name, folder / name, draws=SystemDraws(Seeded(seed)), tell=lambda _: None,
            ledger=Ledger.open(folder / "ledger.sqlite", create=True),
        )  # fmt: skip
    return ct.load(folder / name)


def known_way(name: str) -> ct.Release:
    """The same release for all tests of a run, which only read it."""
    return ct.load(made_once(f"way-{name}", lambda folder: release_way(folder, name).folder))


def truth(name: str) -> dict[tuple[Any, ...], int]:
    """The true count of each item, each (item, context), or each cell of attributes, if not 0."""
    way = WAYS[name]
    rows = way.rows()
    named = way.roles.get("attributes") or ["item", *way.roles.get("contexts", [])]
    if way.counts_users:
        rows = rows.group_by(["user", *named]).aggregate([])
    found = rows.group_by(named).aggregate([([], "count_all")]).to_pydict()
    cells = zip(*(found[one] for one in named), strict=True)
    return dict(zip(cells, found["count_all"], strict=True))
