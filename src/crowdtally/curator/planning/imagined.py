"""Records that nobody has: as many as public guesses say, spread as such records often are.

For ``plan``: no record is read, so nothing here is private and nothing is promised. Users' sizes
are log-normal, items follow Zipf's law in the order of their list, and contexts differ by waves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import erf, exp, log, pi, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from crowdtally.inference.rows import BINS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SPREAD = 1.0
"""σ of the logarithm of a user's number of records: a tenth of the users has half of them."""
_DIFFER = 0.4
"""How far an item's share in one context is from its share in all."""
_GOLDEN = (sqrt(5) - 1) / 2


@dataclass(frozen=True, eq=False)
class Imagined:
    """So many users with so many records of so many items in so many contexts."""

    users: int
    """n."""
    records: int
    """N."""
    items: int
    """m."""
    contexts: int
    """h."""
    repeats: bool
    """Whether a user may have an item several times."""

    @property
    def each(self) -> float:
        """Records of a user, on average."""
        return max(self.records / self.users, 1.0)

    @property
    def _middle(self) -> float:
        return log(self.each) - SPREAD**2 / 2

    def sizes(self) -> Ints:
        """How many users have 2^k … 2^(k+1) − 1 records."""
        below = [_normal((k * log(2) - self._middle) / SPREAD) for k in range(1, BINS)]
        shares = np.diff([0.0, *below, 1.0])
        return np.asarray(np.rint(self.users * shares), dtype=np.int64)

    def kept(self, bound: float, power: float = 1.0) -> float:
        """The share of the records that is left of rows scaled to a bound.

        Args:
            bound: of a row's length.
            power: a row of R records is R^power long, and keeps bound·R^(1−power) of them.
        """
        edge, most, rest = log(bound) / power - self._middle, self.each, 1 - power
        small = most * _normal((edge - SPREAD**2) / SPREAD)
        each = exp(rest * self._middle + (rest * SPREAD) ** 2 / 2)
        large = bound * each * (1 - _normal((edge - rest * SPREAD**2) / SPREAD))
        return min((small + large) / most, 1.0)

    @cached_property
    def _popularity(self) -> Floats:
        found = 1.0 / np.arange(1, self.items + 1)
        return np.asarray(found / found.sum(), dtype=np.float64)

    @cached_property
    def members(self) -> Floats:
        """Distinct users of each item."""
        return np.asarray(self.users * -np.expm1(-self._rate * self._popularity))

    @cached_property
    def _rate(self) -> float:
        """Records of a user that are drawn, so that as many as she has are different."""
        if self.repeats:
            return self.each
        wanted, low, high = min(self.each, 0.9 * self.items), 0.0, 1e12
        for _ in range(100):
            middle = (low + high) / 2
            different = float(-np.expm1(-middle * self._popularity).sum())
            low, high = (middle, high) if different < wanted else (low, middle)
        return high

    @cached_property
    def counts(self) -> Floats:
        """What is counted of each item: records, or distinct users where those do not repeat."""
        return self.records * self._popularity if self.repeats else self.members

    def in_context(self, values: Floats) -> Floats:
        """Values of items, or of anything else, by context: as many cells, the context fastest."""
        place = np.arange(len(values))[:, None] * _GOLDEN + np.arange(self.contexts) / self.contexts
        differ = 1 + _DIFFER * np.cos(2 * pi * place) if self.contexts > 1 else np.ones_like(place)
        return np.asarray((values[:, None] / self.contexts * differ).reshape(-1))


def _normal(value: float) -> float:
    """Φ."""
    return (1 + erf(value / sqrt(2))) / 2


def evenly(size: int) -> Floats:
    """Numbers within 0 … 1 that fill it evenly without being in order; no chance is in them."""
    return np.asarray((np.arange(1, size + 1) * _GOLDEN) % 1.0, dtype=np.float64)


def laplace_like(scale: float, size: int) -> Ints:
    """As many values as there are cells, spread as Laplace noise of that scale is."""
    middle = np.clip(evenly(size), 1e-12, 1 - 1e-12) - 0.5
    spread = -scale * np.sign(middle) * np.log1p(-2 * np.abs(middle))
    return np.asarray(np.rint(spread), dtype=np.int64)


def gaussian_like(deviation: float, size: int) -> Ints:
    """The same for Gaussian noise of that standard deviation."""
    law = NormalDist()
    spread = [law.inv_cdf(min(max(one, 1e-12), 1 - 1e-12)) for one in evenly(size).tolist()]
    return np.asarray(np.rint(deviation * np.array(spread)), dtype=np.int64)


def interval_like(rate: float, size: int) -> Ints:
    """The same for interval noise over so many cells: the mean width, and the middle of it."""
    width = (size + 2) / rate if rate < exp(10) else 0.0
    return np.rint((0.5 - evenly(size)) * width).astype(np.int64)
