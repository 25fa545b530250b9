"""min Σ 1/v_j subject to S·v ≤ b, v > 0, scaled to about 1, and its dual bound. See scales.md."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from crowdtally.person.incidence import Floats, Incidence


class NoiseProblem:
    """The problem with its variables and constraints scaled to about 1.

    v = reach·w, where reach_j is the least budget of a set with category j. The objective becomes
    Σ c_j/w_j, and a constraint (S·v)_i/b_i ≤ 1, in short A·w ≤ 1.
    """

    def __init__(self, sets: Incidence, budgets: Floats) -> None:
        self.sets, self.budgets = sets, budgets
        self.reach = sets.least(budgets)
        self.cost = self.reach.min() / self.reach

    def used(self, w: Floats) -> Floats:
        """A·w: the left hand sides of the constraints."""
        return self.sets.sums(self.reach * w) / self.budgets

    def left(self, w: Floats) -> Floats:
        """What is left of each constraint."""
        return 1 - self.used(w)

    def pressed(self, y: Floats) -> Floats:
        """Aᵀ·y: how hard multipliers press on each category."""
        return self.reach * self.sets.spread(y / self.budgets)

    def value(self, w: Floats) -> float:
        """The objective."""
        return float((self.cost / w).sum())

    def start(self) -> Floats:
        """A point well inside: every set shares half its budget evenly."""
        return self.sets.least(0.5 / self.sets.lengths)

    def gap(self, w: Floats, *multipliers: Floats) -> float:
        """At most this share of the objective lies above the optimum, by the best multipliers.

        From any λ ≥ 0 that is not all zero: the dual 2·Σ √(c_j·(Aᵀλ)_j) − Σ λ_i at the best
        multiple of λ.
        """
        return 1 - max(map(self._bound, multipliers)) / self.value(w)

    def _bound(self, multipliers: Floats) -> float:
        total = multipliers.sum()
        root = np.sqrt(self.cost * self.pressed(multipliers)).sum()
        return float(root * root / total) if total > 0 else 0.0

    def inverse(
        self, w: Floats, weights: Floats, sharpness: float = 1.0
    ) -> Callable[[Floats], Floats]:
        """Solves with 2·sharpness·diag(c/w³) + Aᵀ·diag(weights)·A, for several right hand sides.

        Its entries differ by many powers of ten; with an even diagonal they do not.
        """
        matrix = self.sets.gram(weights / self.budgets**2) * self.reach * self.reach[:, None]
        matrix[np.diag_indices_from(matrix)] += 2 * sharpness * self.cost / w**3
        scale = 1 / np.sqrt(np.diagonal(matrix))
        even = matrix * scale * scale[:, None]
        return lambda right: np.asarray(scale * np.linalg.solve(even, scale * right))


def until_zero(values: Floats, change: Floats) -> float:
    """The multiple of ``change`` at which the first of positive values is 0; infinite if none."""
    falling = change < 0
    return float(np.min(-values[falling] / change[falling])) if falling.any() else np.inf
