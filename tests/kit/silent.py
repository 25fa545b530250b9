"""Draws without noise, so that two releases can be compared cell by cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from crowdtally.noise.draws import SystemDraws


class SilentDraws(SystemDraws):
    """All noise is zero, and the best candidate wins."""

    def geometric(self, rate: Any, size: int) -> Any:
        return np.zeros(size, dtype=np.int64)

    def interval(self, rate: Any, size: int) -> Any:
        return np.zeros(size, dtype=np.int64)

    def gaussian(self, variance: Any, size: int) -> Any:
        return np.zeros(size, dtype=np.int64)

    def choose(self, scores: Any, rate: Any) -> int:
        return max(range(len(scores)), key=lambda place: scores[place])
