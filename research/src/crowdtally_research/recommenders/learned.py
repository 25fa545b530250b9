"""A better phase 2: which items go with such noisy counts, learned from perturbed public people.

Public people's counts are known, so noise of the plan's law can be put on them as often as one
likes, and it can be learned which items people with such noisy counts have. Ridge regression on a
few functions of the counts is enough. It sees noisy counts and public things only: it costs no ε.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdtally.noise.draws import Draws
from crowdtally.person.noisy import NoisyCategories
from crowdtally.person.planning import Plan
from crowdtally_research.recommenders.judging import Floats

_TIMES = 4
"""How often each public person is perturbed to learn from."""
_RIDGE = 3.0
"""The weight of the squared coefficients, of features with variance 1."""
_NOBODY = 5.0
"""Added to the length of a history, so that shares of a short one do not jump."""


@dataclass(frozen=True, eq=False)
class Learned:
    """A regression from noisy counts to the weight of each item."""

    centre: Floats
    """What is taken off each feature."""
    spread: Floats
    """What each feature is divided by."""
    coefficients: Floats
    """A row for each feature, and one of its own for all alike, a column for each item."""

    @classmethod
    def of(cls, public: Any, counts: Floats, plan: Plan, draws: Draws) -> Learned:
        """Learn from the public people.

        Args:
            public: who had what, a row for each public person.
            counts: how many items of each category each of them had.
            plan: says how noisy the counts of others will be.
            draws: where the noise on the public people's counts comes from.
        """
        seen = [features(_noisy(counts, plan, draws)) for _ in range(_TIMES)]
        centre, spread = np.mean(seen, axis=(0, 1)), np.std(seen, axis=(0, 1)) + 1e-9
        rows = [_with_one((one - centre) / spread) for one in seen]
        squares = np.sum([row.T @ row for row in rows], axis=0)
        ridge = _RIDGE * np.eye(len(squares))
        ridge[-1, -1] = 0.0  # how many had an item on average is not to be shrunk
        # The items are the same whenever a person is perturbed anew: the sums come first.
        products = (public.T @ np.sum(rows, axis=0)).T
        return cls(centre, spread, np.linalg.solve(squares + ridge, products))

    def weights(self, noisy: list[NoisyCategories]) -> Floats:
        """How likely each item is in each person's history; a little below 0 or above 1 at times.

        Recommenders are linear, so nothing is cut off.
        """
        values = np.array([one.values for one in noisy], dtype=np.float64)
        row = _with_one((features(values) - self.centre) / self.spread)
        return np.asarray(row @ self.coefficients, dtype=np.float32)


def features(counts: Floats) -> Floats:
    """What is looked at: the length of a history, and each category's count and share."""
    known = np.maximum(counts, 0.0)
    total = known.sum(axis=1, keepdims=True) + _NOBODY
    share, length = known / total, np.log(total)
    return np.concatenate([length, length**2, share, np.sqrt(share), np.log1p(known)], axis=1)


def _noisy(counts: Floats, plan: Plan, draws: Draws) -> Floats:
    noise = [np.asarray(draws.laplace(scale, len(counts)), dtype=float) for scale in plan.scales]
    return np.asarray(counts + np.transpose(noise))


def _with_one(rows: Floats) -> Floats:
    return np.concatenate([rows, np.ones((len(rows), 1))], axis=1)
