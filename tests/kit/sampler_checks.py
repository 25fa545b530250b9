"""What a sampler's law must be: tests that wrong ones fail, and the discrete Gaussian law."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import erfc, exp, fsum, isqrt, pi, sqrt

import numpy as np
from scipy import stats

from crowdtally.noise.geometric import Table
from kit.draws import ONES, Scripted
from kit.exact import ONE, PLACES, Bracket, ExactDigit, exp_neg

# ---- Chi-square tests that must pass on the true law and must reject a wrong one -----------------


SIGNIFICANCE = 1e-9


@dataclass(frozen=True)
class Verdict:
    statistic: float
    df: int
    p: float

    @property
    def fits(self) -> bool:
        return self.p >= SIGNIFICANCE

    def __str__(self) -> str:
        return f"chi-square {self.statistic:.1f}, {self.df} degrees of freedom, p = {self.p:.3g}"


def merged(expected: np.ndarray, least: float, floor: float = 5.0) -> np.ndarray:
    """Starts of runs of neighbouring bins, each run expecting at least ``floor``.

    A run ends when it expects ``least``, or before a bin that does so alone.
    """
    starts, total = [0], 0.0
    for i, e in enumerate(expected):
        if total >= least or (total >= floor and e >= least):
            starts.append(i)
            total = 0.0
        total += e
    if total < floor and len(starts) > 1:
        starts.pop()
    return np.array(starts)


def goodness(observed: np.ndarray, probabilities: np.ndarray, bins: int | None = None) -> Verdict:
    """Observed counts against a law; bins merged to expect ≥ 5, or into about ``bins`` bins.

    Few bins see a wrong scale best; many see a single wrong value.
    """
    n = observed.sum()
    expected = np.asarray(probabilities, dtype=float) * n
    assert abs(expected.sum() / n - 1) < 1e-9, "the law does not sum to 1"
    starts = merged(expected, max(5.0, n / bins if bins else 0.0))
    seen, wanted = np.add.reduceat(observed, starts), np.add.reduceat(expected, starts)
    assert wanted.min() >= 5 or wanted.size == 1
    statistic = float(((seen - wanted) ** 2 / wanted).sum())
    df = wanted.size - 1
    return Verdict(statistic, df, float(stats.chi2.sf(statistic, df)) if df else 1.0)


def draws_for_power(true: np.ndarray, wrong: list[np.ndarray], bins: int, least: int) -> int:
    """How many draws reject each wrong law but with probability 1e-7; at least ``least``."""
    n = least
    while True:
        starts = merged(true * n, max(5.0, n / bins))
        p = np.add.reduceat(true, starts)
        if p.size > 1:
            cut = stats.chi2.isf(SIGNIFICANCE, p.size - 1)
            shifts = [n * ((np.add.reduceat(q, starts) - p) ** 2 / p).sum() for q in wrong]
            if min(stats.ncx2.sf(cut, p.size - 1, shift) for shift in shifts) > 1 - 1e-7:
                return n
        n = n * 3 // 2


def two_samples(first: np.ndarray, second: np.ndarray, bins: int = 40) -> Verdict:
    """Whether two samples of integers come from one law, in about ``bins`` common bins."""
    low = min(first.min(), second.min())
    size = int(max(first.max(), second.max()) - low + 1)
    counts = np.stack([np.bincount(sample - low, minlength=size) for sample in (first, second)])
    together = counts.sum(axis=0).astype(float)
    starts = merged(together, max(20.0, together.sum() / bins), floor=20.0)
    result = stats.chi2_contingency(np.add.reduceat(counts, starts, axis=1))
    return Verdict(float(result.statistic), int(result.dof), float(result.pvalue))


# ---- The checks that a sampler of noise must pass and that each mutant of it must fail -----------
#
# The same function judges both, so a check without teeth shows up as a mutant that survives.


Draw = Callable[[int], np.ndarray]
_PART = 1 << 22


def geometric_law(rate: float, values: int) -> np.ndarray:
    """Pr[0], …, Pr[values−2], and the rest."""
    law = -np.expm1(-rate) * np.exp(-rate * np.arange(values - 1))
    return np.append(law, np.exp(-rate * (values - 1)))


def laplace_law(rate: float, values: int) -> np.ndarray:
    """Pr[X ≤ −h], Pr[−h+1], …, Pr[h−1], Pr[X ≥ h] with values = 2h+1."""
    h = values // 2
    law = np.tanh(rate / 2) * np.exp(-rate * np.abs(np.arange(-h, h + 1)))
    law[[0, -1]] = np.exp(-rate * h) / (1 + np.exp(-rate))
    return law


def histogram(draw: Draw, n: int, values: int, two_sided: bool) -> np.ndarray:
    """Counts of n draws in the bins of the laws above, a part at a time."""
    counts = np.zeros(values, dtype=np.int64)
    shift = values // 2 if two_sided else 0
    for start in range(0, n, _PART):
        part = draw(min(_PART, n - start)) + shift
        counts += np.bincount(np.clip(part, 0, values - 1), minlength=values)
    return counts


def fits(counts: np.ndarray, law: np.ndarray) -> tuple[Verdict, Verdict]:
    """With few bins, for the scale, and with all bins, for single values."""
    return goodness(counts, law, bins=40), goodness(counts, law)


def digits_are_exact(table: Table, rate: Fraction, count: int = 40) -> bool:
    """Words at the first boundaries and in the tail, with scripted words behind them."""
    alpha = exp_neg(rate * 256**table.law.level)
    reference = ExactDigit(alpha, table.law.highest, 250)
    cases = [[w + step, 2**63, 7, 9] for w in _boundaries(reference, count) for step in (-1, 0, 1)]
    cases += [[ONES] * ones + [12 << 60, 7, 9] for ones in (1, 2, 3)]
    return all(_digit(table, words) == reference.digit(words) for words in cases)


def _boundaries(reference: ExactDigit, count: int) -> list[int]:
    """The word that holds b(k), for those k that a word tells apart from 1."""
    words = [low >> (PLACES - 64) for low, _ in reference.boundaries[:count]]
    return [word for word in words if word + 1 <= ONES]


def _digit(table: Table, words: list[int]) -> int:
    first = np.array(words[:1], dtype=np.uint64)
    return int(table.digits(first, Scripted(*words[1:], *[3] * 9))[0])


# ---- The discrete Gaussian law in ways that share nothing with each other or with production -----
#
# Brackets in plain integers, term by term (``kit.exact``); and for wide laws integrals with
# their next correction, or every single term in floats.


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
