"""Which items are popular, and draws by popularity in constant time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Skew:
    """How popularity falls with the rank r of N: (N + 1 − r)^drop / (r + shift)^slope.

    Zipf's and Mandelbrot's law, with an end that falls away as it does in real lists.
    """

    shift: float
    """How flat the top is."""
    slope: float
    """How steep the middle is; 1 is Zipf's law."""
    drop: float
    """How fast the least popular fall away; 0 is not at all."""

    def weights(self, items: int) -> NDArray[np.float64]:
        """Probabilities of all items, the most popular first."""
        ranks = np.arange(1, items + 1, dtype=np.float64)
        weights = (items + 1 - ranks) ** self.drop / (ranks + self.shift) ** self.slope
        return np.asarray(weights / weights.sum(), dtype=np.float64)


class Popularity:
    """Draws items, each kind of user by weights of its own.

    Walker's alias method: a draw costs the same however many items there are.
    """

    def __init__(self, weights: NDArray[np.float64]) -> None:
        """Prepare to draw.

        Args:
            weights: a row for each kind of user, a column for each item; every row sums to 1.
        """
        self.weights = weights
        self.kinds, self.items = weights.shape
        tables = [_alias(row) for row in weights]
        self._own = np.concatenate([own for own, _ in tables])
        self._other = np.concatenate([other for _, other in tables])

    def draw(self, rng: np.random.Generator, kinds: NDArray[np.int32]) -> NDArray[np.int32]:
        """One item for each entry of ``kinds``, independently, repeats allowed."""
        column = rng.integers(0, self.items, len(kinds), dtype=np.int32)
        place = column if self.kinds == 1 else column + kinds * np.int32(self.items)
        kept = rng.random(len(kinds), dtype=np.float32) < self._own[place]
        return np.where(kept, column, self._other[place])


def _alias(weights: NDArray[np.float64]) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """For each item the chance to stay with it, and where to go otherwise."""
    items = len(weights)
    share = (weights * items).tolist()
    other = list(range(items))
    poor = [item for item in other if share[item] < 1]
    rich = [item for item in other if share[item] >= 1]
    while poor and rich:
        taker, giver = poor.pop(), rich.pop()
        other[taker] = giver
        share[giver] -= 1 - share[taker]
        (poor if share[giver] < 1 else rich).append(giver)
    for item in (*poor, *rich):  # what rounding left
        share[item] = 1.0
    return np.array(share, dtype=np.float32), np.array(other, dtype=np.int32)
