"""Dense publishing: every cell of the public table, its count plus discrete Laplace noise.

Contract: for counts of L1 bound L the result satisfies ε-differential privacy for the unit that
the bound is about. Output law: independently for each cell, count + X with
Pr[X = k] ∝ e^(−|k|·ε/L). The proof note is ``dense.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.noise.draws import Draws
from crowdtally.published import NoisyTable
from crowdtally.values.counts import Counts
from crowdtally.values.epsilon import Epsilon
from crowdtally.values.integers import exact_sum, within_64_bits
from crowdtally.values.layout import Layout
from crowdtally.values.rational import show


def dense(
    name: str,
    layout: Layout,
    counts: Counts,
    epsilon: Epsilon,
    draws: Draws,
    more_facts: Mapping[str, Any] | None = None,
) -> NoisyTable:
    """The whole table with noise of scale L/ε on every cell, zeros included."""
    law = DiscreteLaplace(counts.l1_bound / epsilon.value, counts.unit)
    noisy = _added(counts.dense(), law.draw(draws, counts.size))
    facts: dict[str, Any] = {
        "epsilon": show(epsilon.value),
        "sensitivity": counts.l1_bound,
        "publishing": "dense",
    }
    return NoisyTable(name, layout, noisy, law, dict(more_facts or {}) | facts)


def _added(counts: NDArray[np.int64], noise: NDArray[Any]) -> NDArray[np.int64]:
    """Counts plus noise, held within 64 bits (which is post-processing, so it costs nothing)."""
    return within_64_bits(exact_sum(counts, noise))
