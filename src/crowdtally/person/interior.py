"""A quick way to the same optimum: predictor and corrector steps on both sides of the duality.

Usually a dozen steps. It has no safeguard against steps that jam, which budgets that differ much
can bring about; ``least_noise`` then goes the barrier's way. Either way the gap says how near the
optimum it ended.
"""

from __future__ import annotations

import numpy as np

from crowdtally.person.incidence import Floats
from crowdtally.person.noise_problem import NoiseProblem, until_zero

_MOST_STEPS = 40
_SHORT = 0.99
"""Of the way to the first bound, at most so much is gone."""


def quick(problem: NoiseProblem, enough: float) -> tuple[Floats, float]:
    """The best point that was met, and its gap; ends at a gap of ``enough`` or where it jams."""
    w = best = problem.start()
    left = problem.left(w)
    multipliers = problem.value(w) / len(left) / left
    gap = np.inf
    for _ in range(_MOST_STEPS):
        now = problem.gap(w, multipliers)
        if now < gap:
            best, gap = w, now
        if not gap > enough:
            break
        try:
            w, left, multipliers = _step(problem, w, left, multipliers)
        except np.linalg.LinAlgError:
            break
        if not (np.isfinite(w).all() and np.isfinite(multipliers).all()):
            break
    return best, gap


def _step(
    problem: NoiseProblem, w: Floats, left: Floats, multipliers: Floats
) -> tuple[Floats, Floats, Floats]:
    """One step towards −c/w² + Aᵀλ = 0 and left·λ = 0 (Mehrotra's predictor and corrector)."""
    inverse = problem.inverse(w, multipliers / left)
    slope = problem.pressed(multipliers) - problem.cost / w**2

    def direction(product: Floats) -> tuple[Floats, Floats, Floats]:
        dw = inverse(problem.pressed(product / left) - slope)
        used = problem.used(dw)
        return dw, -used, (multipliers * used - product) / left

    def length(dw: Floats, dleft: Floats, dmultipliers: Floats) -> float:
        pairs = ((w, dw), (left, dleft), (multipliers, dmultipliers))
        return min(1.0, *(_SHORT * until_zero(*pair) for pair in pairs))

    dw, dleft, dmultipliers = direction(left * multipliers)
    far = length(dw, dleft, dmultipliers)
    mean = float(left @ multipliers) / len(left)
    there = float((left + far * dleft) @ (multipliers + far * dmultipliers)) / len(left)
    centre = (there / mean) ** 3 * mean
    dw, dleft, dmultipliers = direction(left * multipliers - centre + dleft * dmultipliers)
    far = length(dw, dleft, dmultipliers)
    return w + far * dw, left + far * dleft, multipliers + far * dmultipliers
