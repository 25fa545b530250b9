"""A better phase 2: what people whose counts are like the noisy ones had.

The recommender knows the public people, the catalogue and the law of the noise. So it can say of
each public person how well that person's counts explain the noisy ones, and take the histories of
all of them by these odds. It sees noisy counts and public things only: it costs no ε, and nothing
is drawn. What it does not do is to keep the noisy counts themselves, as EpicRec's phase 2 does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.person.noisy import NoisyCategories
from crowdtally.person.planning import Plan
from crowdtally_research.recommenders.judging import Floats

_AT_ONCE = 64
"""People whose odds are worked out at once: an array of so many by the public people."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """The public people as a prior, by their counts of categories."""

    histories: Any
    """Who had what, a row for each public person."""
    counts: Floats
    """How many items of each category each of them had."""

    @classmethod
    def of(cls, public: Any, categories: NDArray[np.int64]) -> Posterior:
        """From the public people.

        Args:
            public: a sparse matrix, a row for each person.
            categories: 1 where an item, a row, has a category, a column.
        """
        return cls(public, np.asarray(public @ categories, dtype=np.float64))

    def weights(self, noisy: list[NoisyCategories], plan: Plan) -> Floats:
        """How likely each item is in each person's history: a row for each of the noisy counts."""
        scales = np.array([float(scale) for scale in plan.scales])
        values = np.array([one.values for one in noisy], dtype=np.float64)
        parts = [
            self._weights(values[start : start + _AT_ONCE], scales)
            for start in range(0, len(values), _AT_ONCE)
        ]
        return np.concatenate(parts)

    def _weights(self, values: Floats, scales: Floats) -> Floats:
        odds = np.zeros((len(values), len(self.counts)))
        for value, count, scale in zip(values.T, self.counts.T, scales, strict=True):
            # Two people of one taste differ by about the root of a count. Without that the odds
            # would stand on very few people where there is little noise.
            width = scale + np.sqrt(count + 1)
            odds -= np.abs(value[:, None] - count) / width + np.log(width)
        likely = np.exp(odds - odds.max(axis=1, keepdims=True))
        likely /= likely.sum(axis=1, keepdims=True)
        return np.asarray((self.histories.T @ likely.T).T, dtype=np.float32)


def rounded(weights: Floats) -> Floats:
    """A history of 0 and 1: the likeliest items, as many as are to be expected.

    >>> rounded(np.array([[0.9, 0.2, 0.7, 0.1]])).tolist()
    [[1.0, 0.0, 1.0, 0.0]]
    """
    number = np.rint(weights.sum(axis=1)).astype(np.int64)
    order = np.argsort(-weights, axis=1, kind="stable")
    chosen = np.zeros(weights.shape, dtype=np.float32)
    for row, places, many in zip(chosen, order, number, strict=True):
        row[places[:many]] = 1
    return chosen
