"""What ``auto`` would do, for a plan: its steps with their shares, and the expected error."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np

from crowdtally.core.counts import Counts
from crowdtally.core.layout import EDGES
from crowdtally.core.numbers import show
from crowdtally.core.privacy import Epsilon, Price, Rho
from crowdtally.curator.bounding.auto import Auto
from crowdtally.curator.planning.imagined import Imagined
from crowdtally.curator.planning.imagining import imagine
from crowdtally.curator.pricing import noise_of
from crowdtally.curator.request.request import Request
from crowdtally.curator.steps.auto.deciding import CROWD, SIZES, better_of, decide
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.estimating import item_facts
from crowdtally.curator.steps.auto.pilot import pilot_cost
from crowdtally.curator.steps.course import Course, worth
from crowdtally.curator.steps.step import Released
from crowdtally.format import NoisyTable
from crowdtally.inference.items import estimate_items
from crowdtally.inference.rows import Sizes, expected_error, power_of, read_sizes

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
    """What is public."""
    users: int | None = None
    """A public guess."""
    records: int | None = None
    """A public guess."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        design = self.design
        facts: dict[str, Any] = {
            "for": design.aim,
            "repeats": design.repeats,
            "context_per_user": design.per_user,
            "guess_users": self.users,
            "guess_records": self.records,
            "unreliable_below_users": self._reliable_from,
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

    @property
    def _reliable_from(self) -> int:
        return int(-(-RELIABLE // self.design.epsilon))

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


def _error(design: Design, world: Imagined, released: Released) -> dict[str, Any]:
    """How far the estimates would be from what was imagined, by the ones that readers make."""
    facts = item_facts(design, released)
    if facts.table is None:  # measured in each context; nothing is lost, and noise is all
        std = _of_contexts(released).law.std() * sqrt(design.contexts)
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


def _of_contexts(released: Released) -> NoisyTable:
    return next(table for table in released.tables if table.name == EDGES.name)


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
