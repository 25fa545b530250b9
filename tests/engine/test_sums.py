"""Sums over users, on each engine: exact, and never too large for 64 bits after the charge."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from crowdtally.records.engine import Engine, held_sum

HELD = 2**61
MOST = 2**40
"""The largest weight that the contract speaks of."""


def test_sums_of_weights_are_exact_and_held_at_their_limit(
    start_engine: Callable[[], Engine],
) -> None:
    """Weights of 2^58 and more stand for more users than a test can have."""
    weights = {
        0: [0, 1, MOST, MOST - 1, 2**20, 2**20 - 1, 12345678901],
        1: [HELD // 8] * 8,  # at the limit
        2: [2**60] * 16,  # 2^64: a sum of 64 bits would be 0
        3: [2**60] * 16 + [MOST + 7],  # one user more
        4: [2**62] * 8,
        5: [HELD - 1],
    }
    cells = np.repeat(list(weights), [len(some) for some in weights.values()])
    values = np.concatenate([np.array(some, dtype=np.int64) for some in weights.values()])
    with start_engine() as engine:
        rows = engine.load("weights", {"cell": cells.astype(np.int64), "weight": values})
        found = engine.arrays(rows.group_by("cell").agg(total=held_sum(rows.weight)))
    totals = dict(zip(found["cell"].tolist(), found["total"].tolist(), strict=True))
    assert totals[0] == sum(weights[0])
    assert totals[1] == totals[2] == totals[4] == HELD
    assert totals[5] == HELD - 1
    assert 0 <= totals[3] - totals[2] <= MOST + 7
    assert found["total"].dtype == np.int64
