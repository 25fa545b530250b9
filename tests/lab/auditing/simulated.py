"""Made-up mechanisms with a known loss, drawn by numpy: quick stand-ins for real releases."""

from collections.abc import Callable
from typing import Any

import numpy as np

from crowdtally.lab.auditing.certify import Certificate, Runs, certify
from crowdtally.lab.auditing.observe import ABSENT, Matrix

Mechanism = Callable[[np.random.Generator, int, bool], Matrix]
"""From the number of runs, and whether the user is there."""


def laplace(rng: np.random.Generator, scale: float, shape: Any) -> Any:
    """Discrete Laplace noise."""
    p = -np.expm1(-1 / scale)
    return rng.geometric(p, shape) - rng.geometric(p, shape)


def dense(changes: list[int], scale: float, base: int = 20) -> Mechanism:
    """Every cell, of which the user changes these."""

    def draw(rng: np.random.Generator, runs: int, there: bool) -> Matrix:
        exact = base + there * np.array(changes)
        return np.asarray(exact + laplace(rng, scale, (runs, len(changes))), dtype=np.int64)

    return draw


def cut(mechanism: Mechanism, least: int) -> Mechanism:
    """Only what is at least so much, and the number of it."""

    def draw(rng: np.random.Generator, runs: int, there: bool) -> Matrix:
        noisy = mechanism(rng, runs, there)
        kept = noisy >= least
        return np.column_stack([np.where(kept, noisy, ABSENT), kept.sum(axis=1)])

    return draw


def shared(items: int, contexts: int, scale: float) -> Mechanism:
    """Two tables that were given the same noise; the user has two contexts of the first item."""

    def draw(rng: np.random.Generator, runs: int, there: bool) -> Matrix:
        noise = laplace(rng, scale, (runs, items * contexts))
        edges = np.zeros(items * contexts, dtype=np.int64)
        edges[:2] = there
        totals = edges.reshape(items, contexts).sum(axis=1)
        return np.column_stack([30 + totals + noise[:, :items], 10 + edges + noise])

    return draw


def chooser(rate: float, candidates: int = 8) -> Mechanism:
    """The exponential mechanism, its scores moved by 1: the first up, all others down."""

    def draw(rng: np.random.Generator, runs: int, there: bool) -> Matrix:
        scores = np.where(np.arange(candidates) == 0, 1.0, -1.0) * there
        weights = np.exp(rate * scores)
        return rng.choice(candidates, (runs, 1), p=weights / weights.sum()).astype(np.int64)

    return draw


def discovery(threshold: int, scale: float, own: int) -> Mechanism:
    """One item of many users, and ``own`` items that only the user has."""

    def draw(rng: np.random.Generator, runs: int, there: bool) -> Matrix:
        counts = np.array([30] + [int(there)] * own)
        noisy = counts + laplace(rng, scale, (runs, 1 + own))
        return np.where((counts > 0) & (noisy >= threshold), noisy, ABSENT).astype(np.int64)

    return draw


def audited(
    mechanism: Mechanism, runs: int, *, seed: int = 1, training: int | None = None, **asked: Any
) -> Certificate:
    """The certificate of so many runs a side, and as many to learn from unless told."""
    rng = np.random.default_rng(seed)
    learned, held_out = (
        Runs(mechanism(rng, size, True), mechanism(rng, size, False))
        for size in (training or runs, runs)
    )
    names = tuple(f"cell {place}" for place in range(held_out.without.shape[1]))
    return certify(learned, held_out, names, **{"claim": 1.0, "alpha": 1e-6, **asked})
