"""min Σ 1/v_j subject to S·v ≤ b, v > 0, in floats: a barrier method with a certificate.

What it returns is a proposal: ``scales.py`` rounds it down to rationals and verifies it exactly, so
that nothing about privacy rests on a float here. See scales.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdtally.person.incidence import Floats, Incidence, solved

_GAP = 1e-9
"""The relative distance from the optimum at which it is found."""
_SHARPER = 30.0
"""By how much the barrier recedes at a time."""
_MOST_STEPS = 300
_NEAR = 1e-2
"""A Newton decrement below which a full step is safe, and rounding would confuse a comparison."""


@dataclass(frozen=True, eq=False)
class Found:
    """A point inside the constraints, and how far it can be from the best one."""

    rates: Floats
    """v > 0 with S·v < b, up to rounding."""
    gap: float
    """At most this share of Σ 1/v_j lies above the optimum, up to rounding."""


class _Problem:
    """The problem with its variables and constraints scaled to about 1.

    v = reach·w, where reach_j is the least budget of a set with category j. The objective becomes
    Σ c_j/w_j, and a constraint (S·v)_i/b_i ≤ 1.
    """

    def __init__(self, sets: Incidence, budgets: Floats) -> None:
        self.sets, self.budgets = sets, budgets
        self.reach = sets.least(budgets)
        self.cost = self.reach.min() / self.reach

    def left(self, w: Floats) -> Floats:
        """What is left of each constraint."""
        return 1 - self.used(w)

    def used(self, w: Floats) -> Floats:
        """The left hand sides of the constraints."""
        return self.sets.sums(self.reach * w) / self.budgets

    def pressed(self, y: Floats) -> Floats:
        """The transpose of ``used``: how hard multipliers press on each category."""
        return self.reach * self.sets.spread(y / self.budgets)

    def value(self, w: Floats) -> float:
        """The objective."""
        return float((self.cost / w).sum())

    def bound(self, multipliers: Floats) -> float:
        """A lower bound of the optimum, from any multipliers ≥ 0 that are not all zero.

        Of the dual 2·Σ √(c_j·(Aᵀλ)_j) − Σ λ_i, at the best multiple of λ.
        """
        total = multipliers.sum()
        root = np.sqrt(self.cost * self.pressed(multipliers)).sum()
        return float(root * root / total) if total > 0 else 0.0

    def start(self) -> Floats:
        """A point well inside: every set shares half its budget evenly."""
        return self.sets.least(0.5 / self.sets.lengths)

    def newton(self, w: Floats, left: Floats, sharpness: float) -> tuple[Floats, float]:
        """The step towards the least of sharpness·Σ c/w − Σ log left, and its decrement."""
        y = 1 / left
        slope = self.pressed(y) - sharpness * self.cost / w**2
        curve = self.sets.gram((y / self.budgets) ** 2) * self.reach * self.reach[:, None]
        curve[np.diag_indices_from(curve)] += 2 * sharpness * self.cost / w**3
        step = -solved(curve, slope)
        return step, float(-(slope @ step))


def least_noise(sets: Incidence, budgets: Floats) -> Found:
    """The rates v whose noise has the least mean: min Σ 1/v_j subject to S·v ≤ b.

    Args:
        sets: the constraints, one for each set of categories; each category is in one of them.
        budgets: b > 0, one for each set.
    """
    problem = _Problem(sets, budgets)
    w = best = problem.start()
    gap, steps, sharpness = np.inf, 0, sets.rows / problem.value(w)
    while steps < _MOST_STEPS:
        w, multipliers, taken = _centred(problem, w, sharpness)
        steps, left = steps + taken, problem.left(w)
        bound = max(problem.bound(multipliers), problem.bound(1 / left))
        now = 1 - bound / problem.value(w)
        if not now < gap:
            break  # as near as floats can tell
        best, gap = w, now
        if gap <= _GAP:
            break
        sharpness *= _SHARPER
    return Found(best * problem.reach, float(gap))


def _centred(problem: _Problem, w: Floats, sharpness: float) -> tuple[Floats, Floats, int]:
    """The least of the barrier function, multipliers that belong to it, and the steps taken."""
    multipliers = 1 / problem.left(w)
    for taken in range(1, 21):  # noqa: B007 - returned
        left = problem.left(w)
        step, decrement = problem.newton(w, left, sharpness)
        used = problem.used(step)
        length = _length(problem, (w, step), (left, used), sharpness, decrement)
        if length == 0.0:
            break
        y = 1 / left
        # To first order what 1/left will be after the step: a much better bound than 1/left.
        multipliers = np.maximum(y * (1 + y * used), 0.0)
        w = w + length * step
        if decrement < _NEAR / 10:
            break
    return w, multipliers, taken


def _length(
    problem: _Problem,
    variables: tuple[Floats, Floats],
    constraints: tuple[Floats, Floats],
    sharpness: float,
    decrement: float,
) -> float:
    """How far to go: inside the constraints, and downhill. 0 where rounding hides the way."""
    (w, step), (left, used) = variables, constraints
    length = min(1.0, _until_zero(left, -used), _until_zero(w, step))

    def height(at: float) -> float:
        inside = left - at * used
        return sharpness * problem.value(w + at * step) - float(np.log(inside).sum())

    if decrement >= _NEAR:
        here = height(0.0)
        while height(length) > here - 0.25 * length * decrement:
            length /= 2
            if length < 1e-12:
                return 0.0
    return length if (problem.left(w + length * step) > 0).all() else 0.0


def _until_zero(values: Floats, change: Floats) -> float:
    """Almost the multiple of ``change`` at which the first value would be 0."""
    falling = change < 0
    return float(0.99 * np.min(-values[falling] / change[falling])) if falling.any() else 1.0
