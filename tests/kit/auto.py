"""Releases of ``auto``: small, the same in each run, one for each path, with their exact loss."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.csv

import crowdtally as ct
from crowdtally.core.counts import Counts, Memberships
from crowdtally.core.layout import KINDS, Crossed, Layout, Numbered, Picked, grid
from crowdtally.core.privacy import Epsilon, Price, Rho
from crowdtally.curator.questions import Bound
from crowdtally.curator.refined import Averaged, Refined
from crowdtally.curator.request.method import AUTO_PART
from crowdtally.curator.request.request import Request, make_request
from crowdtally.curator.steps.auto.course import Course, SoFar
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.line import AutoMethod
from crowdtally.curator.steps.auto.planned import Plan
from crowdtally.curator.steps.auto.sizes import SizesStep
from crowdtally.curator.table import Table, members_table
from crowdtally.format import NoisyTable
from crowdtally.lab.rehearse import Rehearsal
from crowdtally.laws.interval import IntervalNoise
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.ledger import Ledger
from crowdtally.noise.draws import Draws, SystemDraws
from kit import auto
from kit.draws import Seeded
from kit.publishing import publish, visits

# ---- A made-up crowd with a long tail: every step of ``auto`` on items runs on it ----------------


USERS, ITEMS, EPSILON = 1960, 80_000, 20
"""Few users per item (a zoom), but enough in all for a cheap pilot."""
COMMON = (3, 17, 40_000)
"""Items that half of the users have."""
Rows = dict[int, set[int]]
"""The distinct items of each user."""


def rows_of_all() -> Rows:
    """Most have a few items, some hundreds."""
    rng = np.random.default_rng(11)
    found: Rows = defaultdict(set)
    for user in range(USERS):
        number = min(int(rng.lognormal(2.5, 1.2)) + 1, 700)
        found[user] |= set((ITEMS * rng.random(number) ** 2).astype(int).tolist())
        found[user] |= {item for item in COMMON if rng.random() < 0.5}
    return found


def table_of(rows: Rows, *, leave_out: Iterable[int] = ()) -> pa.Table:
    """As records, each twice: repeats do not count."""
    left = set(leave_out)
    pairs = [(u, i) for u, items in rows.items() if u not in left for i in sorted(items)] * 2
    users, items = zip(*pairs, strict=True)
    return pa.table({"user": list(users), "item": list(items)})


def scaled(rows: Rows, items: set[int] | None, bound: int, grid: int) -> dict[int, int]:
    """By definition: each row divided by its own sum over these items."""
    found: dict[int, int] = defaultdict(int)
    for own in rows.values():
        row = own if items is None else own & items
        weight = grid if len(row) <= bound else grid * bound // len(row)
        for item in row:
            found[item] += weight
    return found


# ---- A release of ``auto`` with a table of every kind, from made-up counts: small, and always
#      alike
#
# Which steps the real ``auto`` takes depends on the records; readers must know all of them.


PLACES, DAYS = ["zoo", "arena", "mill", "quay", "pier"], ["Tue", "Mon", "Sun"]
CELLS = {(place, day): 4 + p for p, place in enumerate(PLACES) for day in DAYS}
GRID = 2**20
THETA = 4
GROUPS = "-0123"
TASTES: dict[str, Any] = {
    "features": ["indoors", "outdoors"], "merged": {"roofed": "indoors", "size": None},
    "profile": ["0.25", "0.75"], "weights": ["2", "1.125"], "beta": "0.150390625", "parts": 1024,
    "kinds": [[1024, 0], [512, 512]], "items": [0, 1, 1, 0, 0],
}  # fmt: skip
PASSED_OVER = "pilot says nothing of it"


@dataclass(frozen=True, eq=False)
class EveryTable(SizesStep):
    """One step that draws what all of them could."""

    rows: bool = True
    """Whether also the head's rows, which the real one never measures beside a split head."""

    def release(self, plan: Plan, exact: Any, released: SoFar, draws: Draws) -> SoFar:
        made = _Made(self.design, Course(self.design.opening), draws)
        items, contexts = self.design.cells, grid(self.design.context_axes)
        made.scaled("sizes", 3, Numbered("bin", 13), unit=1)
        made.turn()
        made.scaled("pilot", 2, items)
        made.measured("crowd", 3, _some(items, [1]))
        made.scaled("items" if self.design.domain.has_items else "cells", 40, items, THETA)
        made.scaled("zoom", 16, _some(items, [0, 3]))
        made.scaled("bins", 3, Numbered("bin", 4), 64, groups=GROUPS)
        made.course = made.course.pass_over("head", PASSED_OVER)
        if self.design.has_contexts:
            chosen, width = Crossed(_some(items, [0, 4]), contexts), contexts.size
            made.measured("split_head", 8, chosen, blocks=width)
            made.scaled("contexts", 2, contexts, 3)
            made.scaled("tastes", 5, Crossed(Numbered("feature", 3), contexts), **TASTES)
            made.refined("tastes_again", made.tables[-1], 5, **TASTES)
            if self.rows:
                made.scaled("head_rows", 9, chosen)
        main = made.tables[3].name
        found = replace(released, tables=tuple(made.tables))
        return replace(found, course=made.course, bounds={main: Bound(THETA)})


class _Made:
    def __init__(self, design: Design, course: Course, draws: Draws) -> None:
        self.design, self.course, self.draws = design, course, draws
        self.tables: list[NoisyTable] = []

    def _spend(self, name: str, percent: int, **facts: Any) -> Price:
        cost = self.course.share(Fraction(percent, 100))
        self.course, price = self.course.spend(name, cost, f"{name} is worth its share", **facts)
        return price

    def turn(self) -> None:
        """Go on in ρ where the noise is to be decided."""
        if self.design.may_turn:
            self.course = self.course.turn(self.design.delta)

    def scaled(
        self, name: str, percent: int, layout: Layout, bound: int = 1, *, unit: int = GRID,
        **facts: Any,
    ) -> None:  # fmt: skip
        in_l2 = bound == THETA and isinstance(self.course.total, Rho)
        price = self._spend(name, percent, theta=bound, **({"norm": "l2"} if in_l2 else {}))
        table = Table(name, AUTO_PART, layout, price, bound * unit, Fraction(1, unit))
        counts = np.arange(layout.size, dtype=np.int64) * 7 * unit
        made = Counts(layout.size, np.arange(layout.size), counts, bound * unit, Fraction(1, unit))
        noisy = table.publish(made, self.draws)
        self.tables.append(replace(noisy, facts={**noisy.facts, **facts}))

    def refined(self, name: str, before: NoisyTable, percent: int, **facts: Any) -> None:
        """The same cells as before, at the same cost once more."""
        price = self._spend(name, percent)
        layout, unit = before.layout, Fraction(1, GRID)
        kind = Refined if isinstance(price, Epsilon) else Averaged
        table = kind(name, AUTO_PART, layout, price, GRID, unit, before=before)
        counts = np.arange(layout.size, dtype=np.int64) * 7 * GRID
        made = Counts(layout.size, np.arange(layout.size), counts, GRID, unit)
        noisy = table.publish(made, self.draws)
        self.tables.append(replace(noisy, facts={**noisy.facts, **facts}))

    def measured(self, name: str, percent: int, layout: Layout, *, blocks: int = 1) -> None:
        price = self._spend(name, percent, items=layout.size // blocks)
        table = members_table(name, AUTO_PART, layout, price, 1, blocks)
        users = np.arange(layout.size, dtype=np.int64) * 5
        self.tables.append(table.publish(Memberships(layout.size, users), self.draws))


def _some(layout: Layout, places: Sequence[int]) -> Picked:
    return Picked(layout, np.array(places, dtype=np.int64))


def adaptive_request(*, contexts: bool = True, epsilon: object = 4, **options: Any) -> Request:
    """A request that leaves its method to ``auto``."""
    lists = {"day": DAYS} if contexts else {}
    records = ct.read(visits(CELLS, "day"), user="user", item="item", contexts=list(lists))
    return make_request(records, ct.Domain(PLACES, lists), epsilon=epsilon, **options)


def adaptive(folder: Path, name: str = "out", *, rows: bool = True, **options: Any) -> Path:
    """The folder of such a release."""
    request = adaptive_request(**options)
    ledger = Ledger.open(folder / "ledger.sqlite", create=True)
    design = Design.of(request)
    method = AutoMethod(design, (EveryTable(design, rows=rows),))
    with patch("crowdtally.curator.publish.method_of", return_value=method):
        publish(
            request, "made", folder / name, ledger=ledger, draws=SystemDraws(),
            tell=lambda _: None,
        )  # fmt: skip
    return folder / name


# ---- Small releases of the real ``auto``, one for each way it can go, with noise that is
#      repeatable
#
# The noise has its true law, from seeded words. The records are made up, so the truth is known.


USERS_MADE, ITEMS_MADE = 4_000, 100
SEXES, DAYS_MADE = ["f", "m"], ["wet", "dry"]
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
    rng, users = np.random.default_rng(3), np.repeat(np.arange(USERS_MADE), 12)
    items = (ITEMS_MADE * rng.random(len(users)) ** 2).astype(np.int64)
    items -= (items % 2 != users % 2) & (items < ITEMS_MADE // 2) & (rng.random(len(users)) < 0.4)
    items = np.maximum(items, 0)
    return _columns(users, items, sex=np.array(SEXES)[users % 2])


def by_weather(*, differ: bool = True) -> pa.Table:
    """Records of a few people each in two kinds of weather; even items are for the dry."""
    rng, users = np.random.default_rng(4), np.repeat(np.arange(USERS_MADE), 8)
    items = (ITEMS_MADE * rng.random(len(users)) ** 2).astype(np.int64)
    likely = np.where(items % 2 == 0, 0.85, 0.15) if differ else 0.5
    return _columns(
        users, items, day=np.array(DAYS_MADE)[(rng.random(len(users)) < likely).astype(int)]
    )


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


_BY_SEX = {"items": range(ITEMS_MADE), "contexts": {"sex": SEXES}}
_BY_DAY = {"items": range(ITEMS_MADE), "contexts": {"day": DAYS_MADE}}
_SHORT = {"items": range(6)}
_ONE_SEX = {"context_per_user": "sex", "repeats": "no"}
WAYS: Mapping[str, Way] = {
    "items": Way(
        lambda: auto.table_of(auto.rows_of_all()), {"items": range(auto.ITEMS)},
        options={"epsilon": auto.EPSILON, "count": "users"},
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
    "top": Way(by_sex, {"items": range(ITEMS_MADE)}, options={"top": 8}),
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
        kinds = ["even" if item % 2 == 0 else "odd" for item in range(ITEMS_MADE)]
        pyarrow.csv.write_csv(pa.table({"item": range(ITEMS_MADE), "kind": kinds}), path)
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


# ---- The exact loss of a whole ``auto`` on one path: what each step adds, given what was
#      released
#
# A path is what was released, step by step. Whatever the noise was, both databases are asked what
# they would have counted at each step given the same past, and the step's own law says what that
# tells about which of the two it is: discrete Laplace noise of scale b on counts c and c′ loses
# exactly Σ|c − c′|/b, interval noise of rate x loses exactly x·(max (c − c′)⁺ + max (c − c′)⁻) in
# each block. The steps' losses add up to the path's. A table whose noise was refined loses,
# together with the earlier one, Σ|c − c′|/b of its own scale, if the counts are those of the
# earlier one.


class Wild(SystemDraws):
    """Noise of any size, so that a tiny database leads to decisions that only large ones lead to.

    Privacy is a statement about every outcome: how likely one is does not matter here.
    """

    def __init__(self, seed: int, users: int) -> None:
        super().__init__()
        self._rng, self._users, self._asked = np.random.default_rng(seed), users, 0

    def laplace(self, scale: Fraction, size: int) -> Any:
        self._asked += 1
        if self._asked == 1:  # the sizes: so many users, with rows of about one length
            bins = np.zeros(size)
            middle = int(self._rng.integers(0, 8))
            bins[middle : middle + 3] = self._users
            return bins.astype(np.int64)
        heavy = self._rng.pareto(1.2, size) * self._rng.choice([-1, 1], size)
        return (heavy * float(scale) * self._rng.choice([0.1, 1, 10])).astype(np.int64)

    def interval(self, rate: Fraction, size: int) -> Any:
        return self._rng.integers(-5, 50, size).astype(np.int64)


@dataclass(frozen=True)
class Followed:
    """What was found on one path."""

    loss: Fraction
    """Of the one database against the other, at most."""
    spent: Fraction
    """What the account says that the steps cost."""
    taken: frozenset[str]
    """The steps that were taken."""


def follow(first: Rehearsal, second: Rehearsal, draws: SystemDraws) -> Followed:
    """One path: what the first database released; what both would have counted on it."""
    answers, total, method = [], Fraction(0), first.method
    before: dict[str, tuple[Fraction, list[Any]]] = {}
    asking = method.ask()
    question: Any = next(asking)
    for place in range(method.questions):
        ours, theirs = (one.counted(question, place, 0) for one in (first, second))
        assert (ours.found is None) == (theirs.found is None), "what is asked is public"
        answers.append(question.draw(ours.found, draws))
        for table in answers[-1].tables:
            exact = [_exact(ours.found), _exact(theirs.found)]
            loss = _loss(table, *exact)
            told, same = before.get(KINDS[table.name].refines or "", (Fraction(0), exact))
            assert all((one == other).all() for one, other in zip(exact, same, strict=True))
            total += loss - told
            before[table.name] = loss, exact
        if place < method.questions - 1:
            question = asking.send(answers[-1])
    released = answers[-1].released
    course = released.course
    assert course is not None
    taken = frozenset(one.name for one in course.taken if one.cost)
    assert {table.name for table in released.tables} == taken
    return Followed(total, course.spent, taken)


def _exact(found: Any) -> np.ndarray:
    """The exact numbers of all cells, as Python's own integers."""
    if isinstance(found, Memberships):
        return found.values.astype(object)
    assert isinstance(found, Counts)
    return found.dense().astype(object)


def _loss(table: NoisyTable, ours: np.ndarray, theirs: np.ndarray) -> Fraction:
    law, change = table.law, ours - theirs
    if isinstance(law, IntervalNoise):
        return sum(map(_norm, _blocks(change, law.blocks)), Fraction(0)) * law.rate
    assert isinstance(law, DiscreteLaplace), "a law that this test does not know"
    return Fraction(sum(map(abs, change.tolist()))) / law.scale


def _blocks(change: np.ndarray, blocks: int) -> Iterator[list[int]]:
    yield from (change[block::blocks].tolist() for block in range(blocks))


def _norm(change: list[int]) -> int:
    return max(0, *change) + max(0, *(-one for one in change))
