"""The real steps of ``auto`` on imagined records: what they would decide, and how far off they are.

Each step plans as in a release; only what it counts and its noise are imagined. Nothing is drawn
by chance, so a plan is the same each time.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from fractions import Fraction
from math import isqrt, sqrt
from types import SimpleNamespace
from typing import Any

import numpy as np

from crowdtally.core.counts import Counts, Memberships
from crowdtally.core.layout import Crossed, Layout, Numbered, Picked
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.counting.reading import Read
from crowdtally.curator.measured import Measured
from crowdtally.curator.planning.imagined import (
    Floats,
    Imagined,
    Ints,
    gaussian_like,
    interval_like,
    laplace_like,
)
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.line import auto_steps
from crowdtally.curator.steps.auto.planned import Passed, PlannedStep, Question
from crowdtally.curator.steps.step import Reading, Released, Step
from crowdtally.curator.table import Table
from crowdtally.inference.rows import power_of
from crowdtally.noise.draws import SystemDraws

_HELD = {"visits": SimpleNamespace(dropped=None)}
_ANY = Epsilon(Fraction(1))


class _Evenly(SystemDraws):
    """Noise that is spread as its law is, without chance."""

    def laplace(self, scale: Fraction, size: int) -> Any:
        """Quantiles of the law."""
        return laplace_like(float(scale), size)

    def refine(self, noise: Any, scale: Fraction) -> Any:
        """Quantiles of the finer law."""
        return laplace_like(float(scale) / 2, len(noise))

    def gaussian(self, variance: Fraction, size: int) -> Any:
        """Quantiles of the law."""
        return gaussian_like(sqrt(variance), size)

    def interval(self, rate: Fraction, size: int) -> Any:
        """A box of the mean width."""
        return interval_like(float(rate), size)


@dataclass(frozen=True, eq=False)
class _ImaginedStep(PlannedStep):
    """A step that counts what is imagined."""

    world: Imagined
    """The records."""

    def count(self, reading: Reading, released: Released) -> Read[Any]:
        """The plan, and imagined counts of what it asks."""
        plan = self.query.plan(released)
        if isinstance(plan, Passed):
            return Read(None, _dropped())
        return Read((plan, _counted(plan.question, self.world)), _dropped())


def imagine(design: Design, world: Imagined) -> Released:
    """All that ``auto`` would release of such records."""
    reading, draws = Reading(_none(), _none(), held=dict(_HELD)), _Evenly()
    first, *later = (_on(step, world) for step in auto_steps(design))
    released = first.release(Read(world.sizes(), _dropped()), Released(), draws)
    for step in later:
        released = step.release(step.count(reading, released), released, draws)
    return released


def _none() -> Any:
    """Of an engine and its records: there are none."""
    return None


def _dropped() -> Any:
    return _HELD["visits"].dropped


def _on(step: Step, world: Imagined) -> Step:
    """The step on imagined records, also where others stand around it."""
    if isinstance(step, PlannedStep):
        return _ImaginedStep(step.query, world)
    inside: dict[str, Any] = {
        one.name: _ImaginedStep(getattr(step, one.name).query, world)
        for one in fields(step)  # type: ignore[arg-type]
        if isinstance(getattr(step, one.name), PlannedStep)
    }
    changed: Step = replace(step, **inside)  # type: ignore[type-var]
    return changed


def _counted(question: Question, world: Imagined) -> Counts | Memberships:
    table = question.table(_ANY)
    size = table.layout.size
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
