"""The rates of least mean noise, by interior point methods with a certificate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Sets of categories as a sparse matrix of zeros and ones: its products, by NumPy alone.

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

_AT_ONCE = 1 << 21
"""Entries of a product that are held at a time."""


class Incidence:
    """S, with a row for each set and a column for each category."""

    def __init__(self, sets: Sequence[Sequence[int]], columns: int) -> None:
        self.rows, self.columns = len(sets), columns
        self.lengths: Numbers = np.array([len(one) for one in sets], dtype=np.int64)
        self._column: Numbers = np.fromiter(chain.from_iterable(sets), dtype=np.int64)
        self._row: Numbers = np.repeat(np.arange(self.rows), self.lengths)

    def sums(self, values: Floats) -> Floats:
        """S·values: for each set, the sum over its categories."""
        return _added(self._row, values[self._column], self.rows)

    def spread(self, values: Floats) -> Floats:
        """Sᵀ·values: for each category, the sum over the sets that have it."""
        return _added(self._column, values[self._row], self.columns)

    def least(self, values: Floats) -> Floats:
        """For each category, the least value among the sets that have it."""
        found = np.full(self.columns, np.inf)
        np.minimum.at(found, self._column, values[self._row])
        return found

    def gram(self, weights: Floats) -> Floats:
        """Sᵀ·diag(weights)·S, at the cost of the pairs of categories within each set."""
        product = np.zeros(self.columns * self.columns)
        for which, members in self._by_length:
            step = max(1, _AT_ONCE // members.shape[1] ** 2)
            for start in range(0, len(which), step):
                some, heavy = members[start : start + step], weights[which[start : start + step]]
                used = heavy != 0.0
                some, heavy = some[used], heavy[used]
                pairs = some[:, :, None] * self.columns + some[:, None, :]
                repeated = np.repeat(heavy, some.shape[1] ** 2)
                product += _added(pairs.ravel(), repeated, product.size)
        return product.reshape(self.columns, self.columns)

    @cached_property
    def _by_length(self) -> list[tuple[Numbers, Numbers]]:
        """The sets of one length and, row by row, their categories."""
        first = np.cumsum(self.lengths) - self.lengths
        found = []
        for length in np.unique(self.lengths).tolist():
            which = np.flatnonzero(self.lengths == length)
            found.append((which, self._column[first[which][:, None] + np.arange(length)]))
        return found


def _added(where: Numbers, values: Floats, size: int) -> Floats:
    """The sum of the values at each of ``size`` places."""
    return np.asarray(np.bincount(where, values, minlength=size), dtype=np.float64)


@contextmanager
def one_thread() -> Iterator[None]:
    """Linear algebra in one thread: for systems this small, a second one costs more than it helps.

    On a busy computer threads that wait for each other made a plan forty times slower.
    """
    with _threads().limit(limits=1, user_api="blas"):
        yield


@cache
def _threads() -> Any:
    """The thread pools of this process; looking for them takes a moment."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def solved(matrix: Floats, right: Floats) -> Floats:
    """The solution of a positive definite system whose entries differ by many powers of ten."""
    scale = 1 / np.sqrt(np.diagonal(matrix))
    return np.asarray(scale * np.linalg.solve(matrix * scale * scale[:, None], scale * right))


# min Σ 1/v_j subject to S·v ≤ b, v > 0, scaled to about 1, and its dual bound. See scales.md.


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
        return 1 - self.used(w)

    def pressed(self, y: Floats) -> Floats:
        """Aᵀ·y: how hard multipliers press on each category."""
        return self.reach * self.sets.spread(y / self.budgets)

    def value(self, w: Floats) -> float:
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
        """Solves with 2·sharpness·diag(c/w³) + Aᵀ·diag(weights)·A, its diagonal made even."""
        matrix = self.sets.gram(weights / self.budgets**2) * self.reach * self.reach[:, None]
        matrix[np.diag_indices_from(matrix)] += 2 * sharpness * self.cost / w**3
        scale = 1 / np.sqrt(np.diagonal(matrix))
        even = matrix * scale * scale[:, None]
        return lambda right: np.asarray(scale * np.linalg.solve(even, scale * right))


def until_zero(values: Floats, change: Floats) -> float:
    """The multiple of ``change`` at which the first of positive values is 0; infinite if none."""
    falling = change < 0
    return float(np.min(-values[falling] / change[falling])) if falling.any() else np.inf


# A quick way to the same optimum: predictor and corrector steps on both sides of the duality.
#
# Usually a dozen steps. It has no safeguard against steps that jam, which budgets that differ
# much can bring about; ``least_noise`` then goes the barrier's way. Either way the gap says how
# near the optimum it ended.

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


# min Σ 1/v_j subject to S·v ≤ b, v > 0, in floats: a barrier method, with a certificate.
#
# What it returns is a proposal: ``scales.py`` rounds it down to rationals and verifies it
# exactly, so that nothing about privacy rests on a float here. See scales.md.

_GAP = 1e-9
"""The relative distance from the optimum at which it is found."""
_SHARPER = 30.0
"""By how much the barrier recedes at a time."""
_MOST_BARRIER_STEPS = 300
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
    """The rates v whose noise has the least mean: min Σ 1/v_j subject to S·v ≤ b, for b > 0.

    Each category is in one of the sets.
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
    while steps < _MOST_BARRIER_STEPS:
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
