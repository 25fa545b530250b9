"""min Σ 1/v_j subject to S·v ≤ b, v > 0, in floats: a barrier method, with a certificate.

What it returns is a proposal: ``scales.py`` rounds it down to rationals and verifies it exactly, so
that nothing about privacy rests on a float here. See scales.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdtally.person.incidence import Floats, Incidence, one_thread
from crowdtally.person.interior import quick
from crowdtally.person.noise_problem import NoiseProblem, until_zero

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


def least_noise(sets: Incidence, budgets: Floats) -> Found:
    """The rates v whose noise has the least mean: min Σ 1/v_j subject to S·v ≤ b.

    Args:
        sets: the constraints, one for each set of categories; each category is in one of them.
        budgets: b > 0, one for each set.
    """
    problem = NoiseProblem(sets, budgets)
    with one_thread(), np.errstate(all="ignore"):  # what is not finite is not taken
        w, gap = quick(problem, _GAP)
        if not gap <= _GAP:
            safe, other = by_barrier(problem)
            w, gap = (w, gap) if gap <= other else (safe, other)
    return Found(w * problem.reach, float(gap))


def by_barrier(problem: NoiseProblem) -> tuple[Floats, float]:
    """The slower and safe way: a point, and its gap."""
    w = best = problem.start()
    gap, steps, sharpness = np.inf, 0, len(problem.budgets) / problem.value(w)
    while steps < _MOST_STEPS:
        w, multipliers, taken = _centred(problem, w, sharpness)
        steps += taken
        now = problem.gap(w, multipliers, 1 / problem.left(w))
        if not now < gap:
            break  # as near as floats can tell
        best, gap = w, now
        if gap <= _GAP:
            break
        sharpness *= _SHARPER
    return best, gap


def _centred(problem: NoiseProblem, w: Floats, sharpness: float) -> tuple[Floats, Floats, int]:
    """The least of sharpness·Σ c/w − Σ log left, multipliers that belong to it, the steps taken."""
    multipliers = 1 / problem.left(w)
    for taken in range(1, 21):  # noqa: B007 - returned
        left = problem.left(w)
        y = 1 / left
        slope = problem.pressed(y) - sharpness * problem.cost / w**2
        step = -problem.inverse(w, y**2, sharpness)(slope)
        used, decrement = problem.used(step), float(-(slope @ step))
        length = _length(problem, (w, step), (left, used), sharpness, decrement)
        if length == 0.0:
            break
        # To first order what 1/left will be after the step: a much better bound than 1/left.
        multipliers = np.maximum(y * (1 + y * used), 0.0)
        w = w + length * step
        if decrement < _NEAR / 10:
            break
    return w, multipliers, taken


def _length(
    problem: NoiseProblem,
    variables: tuple[Floats, Floats],
    constraints: tuple[Floats, Floats],
    sharpness: float,
    decrement: float,
) -> float:
    """How far to go: inside the constraints, and downhill. 0 where rounding hides the way."""
    (w, step), (left, used) = variables, constraints
    length = min(1.0, 0.99 * until_zero(left, -used), 0.99 * until_zero(w, step))

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
