"""Noise for many people: drawn many at a time, handed out one by one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from crowdtally.noise.draws import SystemDraws
from crowdtally.noise.geometric import Integers
from crowdtally.noise.source import WordSource

_STOCK = 1 << 13


class Stock(SystemDraws):
    """The exact samplers, with Laplace noise drawn ahead for each scale.

    Draws are independent, so it does not matter when one is made; each is handed out once.
    """

    def __init__(self, source: WordSource | None = None) -> None:
        super().__init__(source)
        self._ahead: dict[Fraction, Integers] = {}

    def laplace(self, scale: Fraction, size: int) -> Integers:
        """See :meth:`crowdtally.noise.draws.Draws.laplace`."""
        left = self._ahead.get(scale, np.empty(0, dtype=np.int64))
        if len(left) < size:
            left = np.concatenate([left, super().laplace(scale, max(size, _STOCK))])
        self._ahead[scale] = left[size:]
        return left[:size]
