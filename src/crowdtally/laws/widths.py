"""The law of the width s of interval noise: Pr[s] ∝ (s+1)^n·e^(−rate·s) for s ≥ 0.

Display only: floats are fine here, because nothing private depends on them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_SMALL = 0.01  # a rate below which the sum over s is an integral, and a few waves on it
_WAVES = 20
_NEGLIGIBLE = 60.0  # −log of a weight beside the largest
_FINE = 256  # a typical width that is as good as a continuous one


@lru_cache(maxsize=256)
def mean_square(rate: Fraction, power: int) -> float:
    """E[(s+1)²], relative to about 1e-11.

    Σ_s (s+1)^p·e^(−x(s+1)) = p!·Σ_k (x+2πik)^−(p+1) over all integers k (Lipschitz). For small x
    the term of k = 0 is nearly all of it, and (n+1)(n+2)/x² nearly the answer.
    """
    x, n = float(rate), power
    if x == 0.0:
        return float("inf")
    if x >= _SMALL:
        widths, chances = _widths(x, n)
        return float(((widths + 1) ** 2) @ chances)
    waves = 1 + 2j * np.pi * np.arange(1, _WAVES + 1) / x
    upper, lower = (1 + 2 * np.exp(-p * np.log(waves)).real.sum() for p in (n + 3, n + 1))
    return float((n + 1) * (n + 2) / x / x * upper / lower)


def _widths(x: float, n: int) -> tuple[Floats, Floats]:
    """All widths of any weight, and their probabilities."""
    widths = np.arange(ceil((n + 12 * sqrt(n) + 3 * _NEGLIGIBLE) / x) + 2, dtype=np.float64)
    logs = n * np.log1p(widths) - x * widths
    logs -= logs.max()
    heavy = logs > -_NEGLIGIBLE
    chances = np.exp(logs[heavy])
    return widths[heavy], chances / chances.sum()


@dataclass(frozen=True, eq=False)
class Nodes:
    """The law of s, in steps of ``step``: exact where that is 1, else within about 1e-5."""

    step: float
    """What one step of ``widths`` is in units; a power of 2."""
    widths: NDArray[np.int64]
    """Widths, in steps."""
    chances: Floats
    """Their probabilities."""


@lru_cache(maxsize=64)
def nodes(rate: Fraction, power: int) -> Nodes:
    """The law of s, made coarser where a typical s is far above what one can tell from continuous.

    Uniform numbers on 0 … s are, divided by s+1, the nearer to uniform on [0, 1) the larger s is:
    so is noise of rate x about c times noise of rate c·x.
    """
    x, step, wanted = float(rate), 1.0, min(_FINE, 64 * power)
    while x > 0 and power / (x * step) > 2 * wanted:
        step *= 2
    widths, chances = _widths(x * step or power / wanted, power)
    return Nodes(step, widths.astype(np.int64), chances)
