"""What ``auto`` would do: its conversation, held on guessed records without chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import erf, exp, log, pi, prod, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.counts import Counts, Memberships
from crowdtally.core.layout import KINDS
from crowdtally.core.numbers import show
from crowdtally.core.privacy import Rho
from crowdtally.curator.bounding.scaling import Auto
from crowdtally.curator.converse import Released
from crowdtally.curator.methods.auto import AutoMethod, Design, Step, outcome_of, released_facts
from crowdtally.curator.methods.auto_rules import SIZES, Setting
from crowdtally.curator.pricing import noise_of
from crowdtally.curator.questions import Tables
from crowdtally.curator.request.request import Request
from crowdtally.curator.row_questions import Inside, Lengths, Measure, Scaled, UsersInside, Whole
from crowdtally.curator.table import Table
from crowdtally.inference.auto import estimate_auto
from crowdtally.inference.facts import Path
from crowdtally.inference.rows import HIGH, RowLengths
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
    users: int
    records: int
    items: int
    contexts: int
    repeats: bool

    @property
    def each(self) -> float:
        return max(self.records / self.users, 1.0)

    @property
    def _middle(self) -> float:
        return log(self.each) - SPREAD**2 / 2

    def lengths(self) -> Ints:
        edges = [_normal((log(high + 0.5) - self._middle) / SPREAD) for high in HIGH[:-1]]
        shares = np.diff([0.0, *edges, 1.0])
        return np.asarray(np.rint(self.users * shares), dtype=np.int64)

    def kept(self, bound: float, *, by_norm: bool = False) -> float:
        """The share of the records that is left of rows scaled to a bound."""
        edge, power = log(bound) - self._middle, 0.5 if by_norm else 0.0
        small = self.each * _normal((edge - SPREAD**2) / SPREAD)
        beyond = 1 - _normal((edge - power * SPREAD**2) / SPREAD)  # of the mean of R^power there
        large = bound ** (1 - power) * exp(power * self._middle + power * SPREAD**2 / 4) * beyond
        return float(min((small + large) / self.each, 1.0))

    def in_rows_up_to(self, length: float) -> float:
        """The share of the records that is in rows that are no longer."""
        return _normal((log(length) - self._middle - SPREAD**2) / SPREAD) if length else 0.0

    @cached_property
    def _popularity(self) -> Floats:
        found = 1.0 / np.arange(1, self.items + 1)
        return np.asarray(found / found.sum(), dtype=np.float64)

    @cached_property
    def members(self) -> Floats:
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
# It decides as in a release; only what is counted and its noise are imagined. Nothing is drawn by
# chance, so a plan is the same each time.


class _Evenly(SystemDraws):
    """Noise that is spread as its law is, without chance."""

    def laplace(self, scale: Fraction, size: int) -> Any:
        return laplace_like(float(scale), size)

    def gaussian(self, variance: Fraction, size: int) -> Any:
        law = NormalDist()
        spread = [law.inv_cdf(min(max(one, 1e-12), 1 - 1e-12)) for one in evenly(size).tolist()]
        return np.asarray(np.rint(sqrt(variance) * np.array(spread)), dtype=np.int64)

    def interval(self, rate: Fraction, size: int) -> Any:
        """Over so many cells the mean width, and the middle of it."""
        width = (size + 2) / float(rate) if float(rate) < exp(10) else 0.0
        return np.rint((0.5 - evenly(size)) * width).astype(np.int64)


def imagine(design: Design, world: Imagined) -> Released:
    asking, draws = AutoMethod(design).ask(), _Evenly()
    tables: Tables = ()
    question: Any = next(asking)
    while True:
        pairs = zip(question.measures, question.tables, strict=True)
        answer = question.draw([_counted(one, table, world) for one, table in pairs], draws)
        tables += answer.tables
        try:
            question = asking.send(answer)
        except StopIteration as end:
            return Released(tables, end.value)


def _counted(measure: Measure, table: Table, world: Imagined) -> Counts | Memberships:
    size = table.cells.size
    if isinstance(measure, UsersInside):
        users = world.members[list(measure.places)]
        return Memberships(size, np.rint(users).astype(np.int64))
    values = _values(measure, world) / float(table.unit)
    within = np.rint(np.minimum(values, 2.0**60)).astype(np.int64)
    return Counts(size, np.arange(size), within, table.l1_bound, table.unit, squared=table.squared)


def _values(measure: Lengths | Whole | Scaled | Inside, world: Imagined) -> Floats:
    match measure:
        case Lengths():
            return world.lengths().astype(np.float64)
        case Whole(most):
            return np.array([world.counts.sum() * world.kept(most)])
        case Inside(places):
            return world.counts[list(places)]
        case Scaled(to, over, above, only_to, by_norm):
            share = world.kept(to, by_norm=by_norm) - world.in_rows_up_to(above)
            if only_to is not None:
                share = world.in_rows_up_to(only_to)
            found = max(share, 0.0) * world.counts
            cells = found if over == "items" else world.in_context(found)
            return cells.reshape(-1, world.contexts).sum(axis=0) if over == "contexts" else cells


# What ``auto`` would do, for a plan: its tables with their shares, and the expected error.

RELIABLE = 1000
"""Users times ε below which the sizes may be mostly noise."""
LARGEST = 50_000
"""Items up to which the whole conversation is held on imagined records."""
_USERS = tuple(10**power for power in range(1, 9))
_EACH = (1, 3, 10, 30, 100, 1000)
_TOP = 10


@dataclass(frozen=True)
class PlannedCourse:
    """What is known beforehand of ``auto``, with public guesses of users and records."""

    design: Design
    users: int | None = None
    records: int | None = None

    def as_dict(self) -> dict[str, Any]:
        design = self.design
        facts: dict[str, Any] = {
            "for": design.aim,
            "repeats": design.rows.repeats,
            "context_per_user": design.rows.per_user,
            "guess_users": self.users,
            "guess_records": self.records,
            "unreliable_below_users": int(-(-RELIABLE // design.paid.epsilon.value)),
            "sizes_reliable": None,
            "steps": [],
            "expected_error": None,
        }
        if (
            design.paid.delta.value
        ):  # ρ may pay for the tables; None: not known before the sizes are
            facts |= {"noise": design.paid.noise, "paid_in": None if design.may_turn else Rho.field}
        if self.users is None or self.records is None:
            likely = (_world(design, users, users * each) for users, each in product(_USERS, _EACH))
            return facts | {"steps": _between([_shares(design, world) for world in likely])}
        world = _world(design, self.users, max(self.records, self.users))
        setting = _known(design, world)
        facts["sizes_reliable"] = not setting.lengths.weak
        if design.may_turn:
            facts["paid_in"] = setting.purse.left.field
        if design.items.publishing.leaves_out or design.size > LARGEST:
            return facts | _in_large(design, world)
        return facts | _in_full(design, world)


def planned_course(
    request: Request, users: int | None, records: int | None
) -> PlannedCourse | None:
    """None where a method is named."""
    if not isinstance(request.method.rule, Auto):
        return None
    return PlannedCourse(Design.of(request), users, records)


def _share(design: Design, rho: Rho | None, step: Step) -> Fraction:
    """What a table adds to the cost of the release; ρ is what was left of ε after the sizes."""
    if KINDS[step.name].short_rows:
        return Fraction(0)
    if isinstance(step.price, Rho) and rho is not None:
        return step.price.value / rho.value * (1 - SIZES)
    return step.price.value / design.paid.price.value


def _world(design: Design, users: int, records: int) -> Imagined:
    contexts = prod(len(axis) for axis in design.contexts)
    return Imagined(users, records, design.size, contexts, design.rows.repeats)


def _known(design: Design, world: Imagined) -> Setting:
    """What the sizes would say, and what is left then."""
    method, price = AutoMethod(design), design.paid.price
    empty = np.zeros(0, dtype=np.int64)
    law = noise_of(Counts(1, empty, empty, 1), type(price)(price.value * SIZES))
    return method.known(RowLengths(world.lengths().astype(np.float64), law.std()))


def _error(design: Design, world: Imagined, released: Released) -> dict[str, Any]:
    """How far the estimates would be from what was imagined, by the ones that readers make."""
    facts = released_facts(design, outcome_of(released), released.tables)
    off = estimate_auto(facts).items.mean - world.counts
    top = min(_TOP, design.size)
    return {
        "rmse": float(sqrt(np.mean(off**2))),
        "rmse_top": float(sqrt(np.mean(off[:top] ** 2))),
        "largest": float(world.counts[:top].mean()),
        "top": top,
    }


def _in_full(design: Design, world: Imagined) -> dict[str, Any]:
    released = imagine(design, world)
    outcome = outcome_of(released)
    steps = [
        {**step.as_dict(outcome.path), "share": show(_share(design, outcome.rho, step))}
        for step in outcome.steps
    ]
    return {"steps": steps, "expected_error": _error(design, world, released)}


def _in_large(design: Design, world: Imagined) -> dict[str, Any]:
    """Without estimates of so many items: what is decided once the sizes are released."""
    setting = _known(design, world)
    rmse = sqrt(setting.expected_error() / design.size)
    error = {"rmse": rmse, "rmse_top": None, "largest": float(world.counts[0]), "top": None}
    listed = not design.items.publishing.leaves_out
    return {
        "steps": _between([_shares(design, world)]),
        "expected_error": error if listed else None,
    }


def _shares(design: Design, world: Imagined) -> dict[str, Fraction]:
    """The share of each table, where a look at tastes finds nothing."""
    setting = _known(design, world)
    lengths = setting.lengths
    path: Path = "short" if lengths.short and not lengths.weak else "long"
    return setting.shares(setting.path_without_kappa() if lengths.rich else path)


def _between(found: Sequence[Mapping[str, Fraction]]) -> list[dict[str, Any]]:
    steps = []
    for name in dict.fromkeys(name for one in found for name in one):
        shares = [one.get(name, Fraction(0)) for one in found]
        ends = {"share_from": show(min(shares)), "share_to": show(max(shares))}
        steps.append({"name": name, **ends})
    return steps
