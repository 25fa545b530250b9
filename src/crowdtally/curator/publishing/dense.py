"""Dense publishing: every cell of the public table, its count plus discrete Laplace noise.

Contract: for counts of L1 bound L the result satisfies ε-differential privacy for the unit that
the bound is about. Output law: independently for each cell, count + X with
Pr[X = k] ∝ e^(−|k|·ε/L). The proof note is ``dense.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.noise.draws import Draws
from crowdtally.published import NoisyTable
from crowdtally.values.counts import Counts
from crowdtally.values.epsilon import Epsilon
from crowdtally.values.rational import show


def dense(
    name: str,
    counts: Counts,
    epsilon: Epsilon,
    draws: Draws,
    more_facts: Mapping[str, Any] | None = None,
) -> NoisyTable:
    """The whole table with noise of scale L/ε on every cell, zeros included."""
    scale = Fraction(counts.l1_bound) / epsilon.value
    noisy = _added(counts.dense(), draws.laplace(scale, counts.size))
    facts: dict[str, Any] = {
        "epsilon": show(epsilon.value),
        "sensitivity": counts.l1_bound,
        "publishing": "dense",
    }
    return NoisyTable(
        name, counts.layout, noisy, scale, dict(more_facts or {}) | facts, counts.unit
    )


def _added(counts: NDArray[np.int64], noise: NDArray[Any]) -> NDArray[np.int64]:
    """Counts plus noise, held within 64 bits (which is post-processing, so it costs nothing)."""
    ends = np.iinfo(np.int64)
    # Below half the range both ways the sum of the two cannot wrap round.
    if noise.dtype == np.int64 and _largest(noise) < 2**62 and _largest(counts) < 2**62:
        return np.asarray(counts + noise, dtype=np.int64)
    exact = [int(c) + int(x) for c, x in zip(counts.tolist(), noise.tolist(), strict=True)]
    return np.array([min(max(v, ends.min), ends.max) for v in exact], dtype=np.int64)


def _largest(values: NDArray[np.int64]) -> int:
    return max(-int(values.min(initial=0)), int(values.max(initial=0)))
