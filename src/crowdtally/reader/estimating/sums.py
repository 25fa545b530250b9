"""The noise of a sum of released counts.

Display only: floats are fine here, because nothing private depends on them.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, inf, sqrt

import numpy as np

from crowdtally import laws

_GRID = 4096  # points per standard deviation's worth of grid; the interval is right to 1/1000


def sum_std(scale: Fraction, terms: int) -> float:
    """Standard deviation of the sum of independent discrete Laplace noises of one scale."""
    return laws.laplace_std(scale) * sqrt(terms)


def sum_interval(scale: Fraction, terms: int, level: Fraction) -> int:
    """Half width w such that the sum of ``terms`` noises lies within ±w with probability ≥ level.

    Exact for one term. For several the law of the sum is computed by Fourier inversion on a grid
    and the half width is rounded up to the grid, so it errs on the wide side.
    """
    if terms == 1:
        return laws.laplace_interval(scale, level)
    std = sum_std(scale, terms)
    if std == inf:
        return 2**62
    # Step h ≥ 1: the noise is looked at in multiples of h, fine beside its spread.
    step = max(1, int(std) // (_GRID // 16))
    reach = ceil(16 * std / step) + 2
    size = 2 * reach + 1
    frequencies = 2 * np.pi * np.arange(size) / size
    transform = _transform(float(scale), step, frequencies) ** terms
    law = np.fft.ifft(transform).real.clip(min=0)
    tails = law[1 : reach + 1] + law[: size - reach - 1 : -1]
    covered = law[0] + np.concatenate(([0.0], np.cumsum(tails)))
    grid_steps = int(np.searchsorted(covered, float(level) - 1e-12))
    return grid_steps * step + (0 if step == 1 else step)


def _transform(scale: float, step: int, frequencies: np.ndarray) -> np.ndarray:
    """Characteristic function of a discrete Laplace law of scale ``scale/step``."""
    ratio = np.exp(-step / scale)
    cosine: np.ndarray = (1 - ratio) ** 2 / (1 - 2 * ratio * np.cos(frequencies) + ratio**2)
    return cosine
