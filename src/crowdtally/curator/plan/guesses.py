"""The conversation with guessed answers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import erf, exp, isqrt, log, pi, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.counts import Counts, Memberships
from crowdtally.core.layout import EDGES, Crossed, Layout, Numbered, Picked
from crowdtally.core.numbers import show
from crowdtally.core.privacy import Epsilon, Price, Rho
from crowdtally.curator.bounding.scaling import Auto
from crowdtally.curator.pricing import noise_of
from crowdtally.curator.request.request import Request
from crowdtally.curator.steps.auto.course import Course, SoFar, worth
from crowdtally.curator.steps.auto.deciding import CROWD, SIZES, better_of, decide
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.estimating import item_facts
from crowdtally.curator.steps.auto.line import AutoMethod
from crowdtally.curator.steps.auto.pilot import pilot_cost
from crowdtally.curator.steps.auto.planned import Planned, Question
from crowdtally.curator.steps.auto.sizes import SizesStep
from crowdtally.curator.table import Measured, Table
from crowdtally.inference.items import estimate_items
from crowdtally.inference.rows import BINS, Sizes, expected_error, power_of, read_sizes
from crowdtally.noise.draws import SystemDraws

# Records that nobody has: as many as public guesses say, spread as such records often are.
#
# For ``plan``: no record is read, so nothing here is private and nothing is promised. Users'
# sizes are log-normal, items follow Zipf's law in the order of their list, and contexts differ by
# waves.

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SPREAD = 1.0
"""σ of the logarithm of a user's number of records: a tenth of the users has half of them."""
_DIFFER = 0.4
"""How far an item's share in one context is from its share in all."""
_GOLDEN = (sqrt(5) - 1) / 2


@dataclass(frozen=True, eq=False)
class Imagined:
    """So many users with so many records of so many items in so many contexts."""

    users: int
    records: int
    items: int
    contexts: int
    repeats: bool
    """Whether a user may have an item several times."""

    @property
    def each(self) -> float:
        """Records of a user, on average."""
        return max(self.records / self.users, 1.0)

    @property
    def _middle(self) -> float:
        return log(self.each) - SPREAD**2 / 2

    def sizes(self) -> Ints:
        """How many users have 2^k … 2^(k+1) − 1 records."""
        below = [_normal((k * log(2) - self._middle) / SPREAD) for k in range(1, BINS)]
        shares = np.diff([0.0, *below, 1.0])
        return np.asarray(np.rint(self.users * shares), dtype=np.int64)

    def kept(self, bound: float, power: float = 1.0) -> float:
        """The share of the records that is left of rows scaled to a bound.

        Args:
            bound: of a row's length.
            power: a row of R records is R^power long, and keeps bound·R^(1−power) of them.
        """
        edge, most, rest = log(bound) / power - self._middle, self.each, 1 - power
        small = most * _normal((edge - SPREAD**2) / SPREAD)
        each = exp(rest * self._middle + (rest * SPREAD) ** 2 / 2)
        large = bound * each * (1 - _normal((edge - rest * SPREAD**2) / SPREAD))
        return min((small + large) / most, 1.0)

    @cached_property
    def _popularity(self) -> Floats:
        found = 1.0 / np.arange(1, self.items + 1)
        return np.asarray(found / found.sum(), dtype=np.float64)

    @cached_property
    def members(self) -> Floats:
        """Distinct users of each item."""
        return np.asarray(self.users * -np.expm1(-self._rate * self._popularity))

    @cached_property
    def _rate(self) -> float:
        """Records of a user that are drawn, so that as many as she has are different."""
        if self.repeats:
            return self.each
        wanted, low, high = min(self.each, 0.9 * self.items), 0.0, 1e12
        for _ in range(100):
            middle = (low + high) / 2
            different = float(-np.expm1(-middle * self._popularity).sum())
            low, high = (middle, high) if different < wanted else (low, middle)
        return high

    @cached_property
    def counts(self) -> Floats:
        """What is counted of each item: records, or distinct users where those do not repeat."""
        return self.records * self._popularity if self.repeats else self.members

    def in_context(self, values: Floats) -> Floats:
        """Values of items, or of anything else, by context: as many cells, the context fastest."""
        place = np.arange(len(values))[:, None] * _GOLDEN + np.arange(self.contexts) / self.contexts
        differ = 1 + _DIFFER * np.cos(2 * pi * place) if self.contexts > 1 else np.ones_like(place)
        return np.asarray((values[:, None] / self.contexts * differ).reshape(-1))


def _normal(value: float) -> float:
    """Φ."""
    return (1 + erf(value / sqrt(2))) / 2


def evenly(size: int) -> Floats:
    """Numbers within 0 … 1 that fill it evenly without being in order; no chance is in them."""
    return np.asarray((np.arange(1, size + 1) * _GOLDEN) % 1.0, dtype=np.float64)


def laplace_like(scale: float, size: int) -> Ints:
    """As many values as there are cells, spread as Laplace noise of that scale is."""
    middle = np.clip(evenly(size), 1e-12, 1 - 1e-12) - 0.5
    spread = -scale * np.sign(middle) * np.log1p(-2 * np.abs(middle))
    return np.asarray(np.rint(spread), dtype=np.int64)


# The conversation of ``auto`` with guessed answers: what it would decide, and how far off it is.
#
# Each step plans as in a release; only what is counted and its noise are imagined. Nothing is
# drawn by chance, so a plan is the same each time.

_ANY = Epsilon(Fraction(1))


class _Evenly(SystemDraws):
    """Noise that is spread as its law is, without chance."""

    def laplace(self, scale: Fraction, size: int) -> Any:
        return laplace_like(float(scale), size)

    def refine(self, noise: Any, scale: Fraction) -> Any:
        return laplace_like(float(scale) / 2, len(noise))

    def gaussian(self, variance: Fraction, size: int) -> Any:
        law = NormalDist()
        spread = [law.inv_cdf(min(max(one, 1e-12), 1 - 1e-12)) for one in evenly(size).tolist()]
        return np.asarray(np.rint(sqrt(variance) * np.array(spread)), dtype=np.int64)

    def interval(self, rate: Fraction, size: int) -> Any:
        """Over so many cells the mean width, and the middle of it."""
        width = (size + 2) / float(rate) if float(rate) < exp(10) else 0.0
        return np.rint((0.5 - evenly(size)) * width).astype(np.int64)


def imagine(design: Design, world: Imagined) -> SoFar:
    """All that ``auto`` would release of such records."""
    asking, draws = AutoMethod(design).ask(), _Evenly()
    question = next(asking)
    while True:
        answer = question.draw(_exact(question, world), draws)
        try:
            question = asking.send(answer)
        except StopIteration as end:
            released: SoFar = end.value
            return released


def _exact(question: Any, world: Imagined) -> Counts | Memberships | None:
    """What would be counted of the imagined records; None where a step is passed over."""
    plan = question.plan
    return _counted(plan.question, world) if isinstance(plan, Planned) else None


def _counted(question: Question, world: Imagined) -> Counts | Memberships:
    table = question.table(_ANY)
    size = table.layout.size
    if isinstance(question, SizesStep):
        return Counts(size, np.arange(size), world.sizes(), 1)
    if isinstance(table, Measured):
        users = _values(table.layout, world.members, question, world)
        return Memberships(size, np.rint(users).astype(np.int64))
    kept = world.counts * _kept(question, table, world)
    values = _values(table.layout, kept, question, world) / float(table.unit)
    within = np.rint(np.minimum(values, 2.0**60)).astype(np.int64)
    return Counts(
        size, np.arange(size), within, table.l1_bound, table.unit, squared=table.l2_squared
    )


def _kept(question: Question, table: Table, world: Imagined) -> float:
    """The share of the records that the question's bound leaves: of sums of rows, or of norms."""
    power = power_of(getattr(question, "norm", "l1"), repeats=world.repeats)
    bound = table.l1_bound if power == 1 else isqrt(table.l2_squared)
    return world.kept(float(bound * table.unit), power)


def _values(layout: Layout, items: Floats, question: Question, world: Imagined) -> Floats:
    """What is imagined of each cell; ``items`` are the values of all items."""
    match layout:
        case Crossed():
            return world.in_context(_values(layout.first, items, question, world))
        case Picked():
            return np.asarray(items[layout.places], dtype=np.float64)
        case Numbered():
            return _grouped(layout.size, items, getattr(question, "groups", None), world)
    if layout.size == world.items:
        return items
    return np.full(layout.size, items.sum() / layout.size)


def _grouped(size: int, items: Floats, groups: Ints | None, world: Imagined) -> Floats:
    """Totals of groups of items; of features, which sum up differences, a tenth of the users."""
    if groups is None:
        return np.full(size, 0.1 * world.users)
    totals = np.bincount(groups[groups >= 0], items[groups >= 0], minlength=size)
    return np.asarray(totals, dtype=np.float64)


# What ``auto`` would do, for a plan: its steps with their shares, and the expected error.

RELIABLE = 300
"""Users times ε below which the sizes are hardly more than noise."""
LARGEST = 50_000
"""Items up to which the steps are taken one by one on imagined records."""
_USERS = tuple(10**power for power in range(1, 9))
_EACH = (1, 3, 10, 30, 100, 1000)
_PILOT = Fraction(35, 1000)
_TOP = 10


@dataclass(frozen=True)
class PlannedCourse:
    """What is known beforehand of a release that decides as it goes."""

    design: Design
    users: int | None = None
    """A public guess."""
    records: int | None = None
    """A public guess."""

    def as_dict(self) -> dict[str, Any]:
        design = self.design
        facts: dict[str, Any] = {
            "for": design.aim,
            "repeats": design.repeats,
            "context_per_user": design.per_user,
            "guess_users": self.users,
            "guess_records": self.records,
            "unreliable_below_users": int(-(-RELIABLE // design.epsilon)),
            "sizes_reliable": None,
            "steps": [],
            "unspent": None,
            "expected_error": None,
            **_paying(design),
        }
        if self.users is None or self.records is None:
            return facts | {"steps": _ranges(design)}
        world = Imagined(
            self.users, max(self.records, self.users), design.items, design.contexts, design.repeats
        )
        sizes = _sizes(design, world)
        facts["sizes_reliable"] = sizes.reliable
        if design.may_turn:
            facts["paid_in"] = _total(design, sizes).field
        if design.is_sparse or design.items > LARGEST:
            return facts | _in_large(design, world)
        return facts | self._imagined(world)

    def _imagined(self, world: Imagined) -> dict[str, Any]:
        released = imagine(self.design, world)
        course = released.course
        if course is None:
            raise TypeError("the first step opens the account")
        total = {Epsilon.field: self.design.epsilon, course.currency: course.total.value}
        steps = [
            {
                "name": step.name,
                "share": show(step.cost / total[step.currency]),
                "why": step.why,
                **{name: fact for name, fact in step.facts.items() if name != "differ"},
            }
            for step in course.taken
        ]
        return {
            "steps": steps,
            "unspent": show(course.left / course.total.value),
            "expected_error": _error(self.design, world, released),
        }


def planned_course(
    request: Request, users: int | None, records: int | None
) -> PlannedCourse | None:
    """For a request that leaves its method to ``auto``; None for all others."""
    if not isinstance(request.method.rule, Auto):
        return None
    return PlannedCourse(Design.of(request), users, records)


def _sizes(design: Design, world: Imagined) -> Sizes:
    empty = np.zeros(1, dtype=np.int64)
    law = noise_of(Counts(1, empty, empty, 1), design.opening * SIZES)
    return read_sizes(world.sizes().astype(float), law.std())


def _error(design: Design, world: Imagined, released: SoFar) -> dict[str, Any]:
    """How far the estimates would be from what was imagined, by the ones that readers make."""
    facts = item_facts(design, released)
    if facts.table is None:  # measured in each context; nothing is lost, and noise is all
        table = next(table for table in released.tables if table.name == EDGES.name)
        std = table.law.std() * sqrt(design.contexts)
        return {"rmse": std, "rmse_top": std, "largest": float(world.counts[0]), "top": _TOP}
    off = estimate_items(facts).mean - world.counts
    top = min(_TOP, design.items)
    return {
        "rmse": float(sqrt(np.mean(off**2))),
        "rmse_top": float(sqrt(np.mean(off[:top] ** 2))),
        "largest": float(world.counts[:top].mean()),
        "top": top,
    }


def _in_large(design: Design, world: Imagined) -> dict[str, Any]:
    """Without the steps that choose among the items: which of them run is known all the same."""
    sizes = _sizes(design, world)
    total = _total(design, sizes)
    shares, decided = _shares(design, sizes), decide(design, sizes, total)
    theta = decided.theta(worth(total * (shares["items"] + shares["zoom"])))
    lost = sizes.lost(theta, power_of(decided.norm, repeats=design.repeats))
    own, per_item = worth(total * shares["items"]), float(world.counts.sum()) / design.items
    rmse = sqrt(expected_error(theta, lost, own, per_item))
    error = {"rmse": rmse, "rmse_top": None, "largest": float(world.counts[0]), "top": None}
    return {"steps": _between([shares]), "expected_error": None if design.is_sparse else error}


def _paying(design: Design) -> dict[str, Any]:
    """What steps are paid for in, where δ lets that be ρ; None: not known before the sizes are."""
    if not design.delta.value:
        return {}
    return {"noise": design.noise, "paid_in": None if design.may_turn else Rho.field}


def _total(design: Design, sizes: Sizes) -> Price:
    """What later steps are paid out of, once the sizes are released."""
    course, _ = Course(design.opening).spend("sizes", design.opening.value * SIZES, "")
    return better_of(design, sizes, course).total if design.may_turn else course.total


def _ranges(design: Design) -> list[dict[str, Any]]:
    """The share of each step over all numbers of users and records that are likely."""
    found = []
    for users in _USERS:
        for each in _EACH:
            world = Imagined(users, users * each, design.items, design.contexts, design.repeats)
            found.append(_shares(design, _sizes(design, world)))
    return _between(found)


def _between(found: list[dict[str, Fraction]]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "share_from": show(min(one[name] for one in found)),
            "share_to": show(max(one[name] for one in found)),
        }
        for name in found[0]
    ]


def _pilot(design: Design, sizes: Sizes, total: Price, *, small: bool) -> Fraction:
    """What a first look at all items takes of the total; 0 where there is none."""
    share = pilot_cost(design.items, sizes.users, total.field) / total.value
    looks = (
        sizes.reliable and not small and not design.repeats and not design.is_sparse
        and design.items >= 1000 and 0 < share <= _PILOT
    )  # fmt: skip
    return share if looks else Fraction(0)


def _shares(design: Design, sizes: Sizes) -> dict[str, Fraction]:
    """What each step takes of the total; the items' table, with a zoom, what the others leave."""
    total = _total(design, sizes)
    decided = decide(design, sizes, total)
    set_aside, none = decided.shares, Fraction(0)
    pilot = _pilot(design, sizes, total, small=decided.small)
    crowd = CROWD if pilot else none
    first = none if isinstance(total, Rho) and design.may_turn else SIZES  # paid for before
    rest = 1 - first - pilot - crowd - set_aside.total
    found = {
        "sizes": SIZES,
        "pilot": pilot,
        "crowd": crowd,
        "items": rest / 2 if decided.zooms else rest,
        "zoom": rest / 2 if decided.zooms else none,
        "bins": set_aside.bins,
        "head": none if decided.split_head else set_aside.head,
    }
    if design.has_contexts:
        found |= {
            "contexts": set_aside.contexts,
            "split_head": set_aside.head if decided.split_head else none,
            "tastes": set_aside.tastes,
            "head_rows": set_aside.head_rows,
        }
    return found
