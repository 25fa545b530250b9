"""The discrete Gaussian law in ways that share nothing with each other or with production.

Brackets in plain integers, term by term (``kit.exactly``); and for wide laws integrals with their
next correction, or every single term in floats.
"""

from __future__ import annotations

from fractions import Fraction
from math import erfc, exp, fsum, isqrt, pi, sqrt

import numpy as np

from kit.exactly import ONE, PLACES, Bracket, exp_neg


class ExactCells:
    """Boundaries of Pr[cell i] ∝ e^(−p(i)²/(2v)), p(i) = start of the side + turn·2^shift."""

    def __init__(self, variance: Fraction, starts: tuple[int, ...], shift: int) -> None:
        self.variance, self.starts, self.shift = variance, starts, shift
        weights: list[Bracket] = []
        sides = len(starts)
        while not weights or max(high for _, high in weights[-sides:]) > ONE >> 640:
            weights += [self._weight(len(weights) + side) for side in range(sides)]
        # What follows is less than the last weights over 1 − ratio, which is above 2^−20 here.
        rest = sum(high for _, high in weights[-len(starts) :]) << 20
        low, high = (sum(side) for side in zip(*weights, strict=True))
        self.total = low, high + rest
        self.boundaries, below = [], (0, 0)
        for weight in weights:
            below = below[0] + weight[0], below[1] + weight[1]
            self.boundaries.append(
                (below[0] * ONE // self.total[1], -(-below[1] * ONE // self.total[0]))
            )

    def nearest(self, cell: int) -> int:
        return self.starts[cell % len(self.starts)] + (cell // len(self.starts) << self.shift)

    def _weight(self, cell: int) -> Bracket:
        away = self.nearest(cell) ** 2 - self.starts[0] ** 2
        return exp_neg(away / (2 * self.variance))

    def cell(self, words: list[int]) -> int | None:
        """The cell of U = 0.w₁w₂…, if brackets and the interval of U decide it."""
        head = 0
        for word in words:
            head = head << 64 | word
        shift = PLACES - 64 * len(words)
        low, high = head << shift, (head + 1) << shift
        passed = sum(1 for _, upper in self.boundaries if upper <= low)
        assert passed < len(self.boundaries), "more boundaries are needed"
        return passed if high <= self.boundaries[passed][0] else None

    def boundary_words(self, count: int) -> list[int]:
        """The words that hold the first boundaries, as long as a word tells them apart from 1."""
        words = [low >> (PLACES - 64) for low, _ in self.boundaries[:count]]
        return [word for word in words if word < 2**64 - 2]


def edges_of(variance: Fraction, bins: int = 60) -> np.ndarray:
    """Integers that cut the law into stretches of equal length, and the ends."""
    reach = 5 * max(isqrt(int(variance)), 1)
    return np.unique(np.linspace(-reach, reach + 1, bins).astype(np.int64))


def by_brackets(variance: Fraction, edges: np.ndarray) -> np.ndarray:
    """Pr[Z < e₀], Pr[e₀ ≤ Z < e₁], …, Pr[Z ≥ e_last]: every term, in plain integers."""
    reach = 0
    while exp_neg(Fraction(reach**2) / (2 * variance))[1] > ONE >> 100:
        reach += 1
    sides = [exp_neg(Fraction(k**2) / (2 * variance))[0] for k in range(reach)]
    weights = np.array([*sides[:0:-1], *sides], dtype=object)
    return _stretches(weights, edges, reach)


def by_terms(variance: Fraction, edges: np.ndarray) -> np.ndarray:
    """The same for laws of moderate width: every term, in floats; beside Poisson's sum of all."""
    reach = int(12 * sqrt(variance)) + 12
    steps = np.arange(-reach + 1, reach, dtype=np.float64)
    weights = np.exp(-(steps**2) / (2 * float(variance)))
    waves = fsum(exp(-2 * pi**2 * float(variance) * m**2) for m in range(-40, 41))
    total = sqrt(2 * pi * float(variance)) * waves
    found = _stretches(weights, edges, reach)
    assert abs(weights.sum() / total - 1) < 1e-12, "terms and Poisson's sum differ"
    return found


def by_integrals(variance: Fraction, edges: np.ndarray) -> np.ndarray:
    """The same for wide laws: integrals between half integers, less 1/24 of the slopes' change."""
    v, places = float(variance), edges - 0.5
    upper = np.array([erfc(x / sqrt(2 * v)) / 2 for x in places])
    slopes = -places / v * np.exp(-(places**2) / (2 * v)) / sqrt(2 * pi * v)
    # Σ_{k ≥ e} h(k) = ∫_{e−1/2} h + h′(e−1/2)/24 − …
    beyond = upper + slopes / 24
    return -np.diff(np.concatenate(([1.0], beyond, [0.0])))


def _stretches(weights: np.ndarray, edges: np.ndarray, reach: int) -> np.ndarray:
    """Shares of the stretches, where the middle of ``weights`` is that of 0."""
    places = np.clip(edges + reach - 1, 0, len(weights)).tolist()
    pairs = zip([0, *places], [*places, len(weights)], strict=True)
    parts = [weights[start:end].sum() for start, end in pairs]
    total = weights.sum()
    return np.array([float(part / total) if part else 0.0 for part in parts])
