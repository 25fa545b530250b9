"""Rows of noisy numbers drawn towards zero by as much as they have in common."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

STEPS = 25
RIDGE = 1e-3
LEAST = 0.05
WIDEST = 128
"""Contexts that lend each other strength; beyond, in blocks of so many."""


@dataclass(frozen=True)
class Shrunk:
    """The posterior of rows ρ_i ~ N(0, S), seen as r_i ~ N(ρ_i, diag V_i)."""

    mean: Floats
    """(rows, h): the posterior means."""
    covariance: Floats
    """(rows, h, h): the posterior covariance of each row."""
    gain: Floats
    """(rows, h): how much of a cell's own value went into its mean, from 0 (nothing) to 1."""
    spread: Floats
    """(h, h): S, the covariance of the rows themselves."""


def mvshrink(values: Floats, variances: Floats) -> Shrunk:
    """Estimate S by expectation–maximisation and give each row's posterior under it.

    Args:
        values: (rows, h), the noisy rows.
        variances: (rows, h) or anything that broadcasts to it, the noise's variances, all > 0.

    S starts at max(mean(r² − V), 0.05·mean r²)·I and takes 25 steps, each with a ridge of 10⁻³ of
    its mean diagonal. Contexts that go together (Saturday and Sunday) lend each other strength,
    and where the rows hold no more than noise S falls towards zero and so do the means.
    """
    rows, width = values.shape
    noise = np.broadcast_to(variances, values.shape)
    if width > WIDEST:
        return _in_blocks(values, noise)
    spread = np.eye(width) * _start(values, noise)
    mean, covariance, gain = _posterior(values, noise, spread)
    for _ in range(STEPS if rows else 0):
        spread = (mean.T @ mean + covariance.sum(axis=0)) / rows
        spread += np.eye(width) * (RIDGE * np.trace(spread) / width)
        mean, covariance, gain = _posterior(values, noise, spread)
    return Shrunk(mean, covariance, gain, spread)


def _in_blocks(values: Floats, noise: Floats) -> Shrunk:
    """Neighbouring contexts together, blocks apart: time grows with the cube of a block."""
    rows, width = values.shape
    mean, gain = np.zeros((rows, width)), np.zeros((rows, width))
    covariance, spread = np.zeros((rows, width, width)), np.zeros((width, width))
    for start in range(0, width, WIDEST):
        block = slice(start, min(start + WIDEST, width))
        part = mvshrink(values[:, block], noise[:, block])
        mean[:, block], gain[:, block] = part.mean, part.gain
        covariance[:, block, block], spread[block, block] = part.covariance, part.spread
    return Shrunk(mean, covariance, gain, spread)


def _start(values: Floats, noise: Floats) -> float:
    """The variance S starts from; above zero, so that every matrix can be inverted."""
    squares = values**2
    if not values.size:
        return 0.0
    return max(float(np.mean(squares - noise)), LEAST * float(np.mean(squares)), 1e-300)


def _posterior(values: Floats, noise: Floats, spread: Floats) -> tuple[Floats, Floats, Floats]:
    """Means S(S+V)⁻¹r and covariances S − S(S+V)⁻¹S: no inverse of S, which may be singular."""
    width = values.shape[1]
    total = spread + noise[:, :, None] * np.eye(width)
    # One common scale keeps the solver away from under- and overflow.
    scale = np.maximum(np.trace(total, axis1=1, axis2=2) / width, 1e-300)[:, None, None]
    gain = np.linalg.solve(total / scale, np.broadcast_to(spread, total.shape) / scale)
    gain = np.swapaxes(gain, 1, 2)  # S(S+V)⁻¹, since both are symmetric
    mean = np.einsum("ijk,ik->ij", gain, values)
    covariance = spread - gain @ spread
    symmetric = (covariance + np.swapaxes(covariance, 1, 2)) / 2
    return mean, symmetric, np.einsum("ijj->ij", gain)
