"""Every possible run of a randomised function, with its probability.

A run asks an :class:`Enumerated` for its draws; each draw is one of finitely many options. The
function is run once per sequence of options, so its output law is computed, not estimated. Options
with little probability are left out, and what they weigh together is reported.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import exp
from typing import Any

import numpy as np

from crowdtally.laws.balls import Real
from crowdtally.noise.exponential import interval


class _Fork(BaseException):
    def __init__(self, options: list[tuple[Any, float]]) -> None:
        self.options = options


@dataclass(frozen=True)
class Law:
    probabilities: dict[Hashable, float]
    left_out: float

    def misfit(self, exact: Callable[[Any], float]) -> float:
        """The largest amount by which an outcome is too likely, or is missing, beyond doubt."""
        return max(
            max(p - exact(outcome), exact(outcome) - p - self.left_out)
            for outcome, p in self.probabilities.items()
        )


def law(run: Callable[[Enumerated], Hashable], reach: int = 12, floor: float = 1e-7) -> Law:
    found: dict[Hashable, float] = defaultdict(float)
    stack: list[tuple[tuple[Any, ...], float]] = [((), 1.0)]
    while stack:
        choices, probability = stack.pop()
        try:
            found[run(Enumerated(choices, reach))] += probability
        except _Fork as fork:
            for option, p in fork.options:
                if probability * p >= floor:
                    stack.append(((*choices, option), probability * p))
    return Law(dict(found), 1 - sum(found.values()))


class Enumerated:
    """A ``Draws`` that follows a script and asks for the next option where it ends."""

    def __init__(self, choices: tuple[Any, ...], reach: int) -> None:
        self._choices, self._used, self._reach = choices, 0, reach

    def _choose(self, options: list[tuple[Any, float]]) -> Any:
        if self._used == len(self._choices):
            raise _Fork(options)
        self._used += 1
        return self._choices[self._used - 1]

    def _coin(self, p: float) -> bool:
        if p in (0.0, 1.0):
            return p == 1.0
        return self._choose([(True, p), (False, 1 - p)])

    def geometric(self, rate: Fraction, size: int) -> np.ndarray:
        alpha = exp(-rate)
        options = [(k, (1 - alpha) * alpha**k) for k in range(self._reach)]
        return np.array([self._choose(options) for _ in range(size)], dtype=np.int64)

    def laplace(self, scale: Fraction, size: int) -> np.ndarray:
        options = [(k, laplace(scale, k)) for k in range(-self._reach, self._reach + 1)]
        return np.array([self._choose(options) for _ in range(size)], dtype=np.int64)

    def gaussian(self, variance: Fraction, size: int) -> np.ndarray:
        options = [(k, gaussian(variance, k)) for k in range(-self._reach, self._reach + 1)]
        return np.array([self._choose(options) for _ in range(size)], dtype=np.int64)

    def gaussian_beyond(self, variance: Fraction, least: int, sides: str, size: int) -> np.ndarray:
        kept = [
            k
            for k in range(-self._reach, self._reach + 1)
            if (abs(k) if sides == "two" else k) >= least
        ]
        weights = [gaussian(variance, k) for k in kept]
        options = [(k, weight / sum(weights)) for k, weight in zip(kept, weights, strict=True)]
        return np.array([self._choose(options) for _ in range(size)], dtype=np.int64)

    def choose_among(self, scores: Any, multiplicities: Any, rate: Fraction) -> int:
        best = max(score for score, n in zip(scores, multiplicities, strict=True) if n)
        weights = [
            n * exp(rate * (score - best)) for score, n in zip(scores, multiplicities, strict=True)
        ]
        return int(self._choose([(i, w / sum(weights)) for i, w in enumerate(weights) if w]))

    def uniforms_below(self, bounds: np.ndarray) -> np.ndarray:
        drawn = [self._choose([(k, 1 / n) for k in range(n)]) for n in bounds.tolist()]
        return np.array(drawn, dtype=np.uint64)

    def interval(self, rate: Fraction, size: int) -> np.ndarray:
        return interval(self.geometric, self.choose_among, self.uniforms_below, rate, size)

    def bernoulli(self, p: Any, size: int) -> np.ndarray:
        chance = as_float(p)
        return np.array([self._coin(chance) for _ in range(size)], dtype=np.bool_)

    def bernoulli_each(self, numerators: np.ndarray, denominators: np.ndarray) -> np.ndarray:
        pairs = zip(numerators.tolist(), denominators.tolist(), strict=True)
        return np.array([self._coin(a / b) for a, b in pairs], dtype=np.bool_)

    def hits(self, p: Any, cells: int) -> np.ndarray:
        chance = as_float(p)
        assert 0 <= chance <= 1, "that is no probability"
        return np.array([i for i in range(cells) if self._coin(chance)], dtype=np.int64)


def as_float(p: Any) -> float:
    return float(p.enclose(128)) if isinstance(p, Real) else float(p)


def laplace(scale: Fraction, k: int) -> float:
    alpha = exp(-1 / scale)
    return (1 - alpha) / (1 + alpha) * alpha ** abs(k)


@cache
def gaussian(variance: Fraction, k: int) -> float:
    total = sum(exp(-(j**2) / (2 * variance)) for j in range(-60, 61))
    return exp(-(k**2) / (2 * variance)) / total
