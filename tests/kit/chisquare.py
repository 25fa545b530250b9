"""Chi-square tests that must pass on the true law and must reject a wrong one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

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
