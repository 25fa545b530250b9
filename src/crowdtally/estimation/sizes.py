"""How many users there are and how many records they have, from a noisy histogram of sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crowdtally.errors import UsageError

Floats = NDArray[np.float64]
Norm = Literal["l1", "l2"]
"""What is bounded of a row: its sum, or the root of the sum of its squares."""

BINS = 13
"""Bin k holds the users with 2^k … 2^(k+1) − 1 records; the last is open."""
_STANDS_OUT = 1.2
"""A bin is kept if it is so many standard deviations above 0, next to others that are."""
_LEAST_PEAK, _LEAST_USERS = 3.5, 5.0
"""In standard deviations of one bin: below either, the histogram says nothing."""
_MEAN = 1.38
"""The mean size in bin k ≥ 1 over 2^k: sizes thin out within a bin."""
_WITHIN = 1 + (np.arange(16) + 0.5) / 16
"""Sizes within a bin, over 2^k, evenly."""
_THINNING = (1 - 12 * (1.5 - _MEAN) * (_WITHIN - 1.5)) / 16
"""The share of a bin's users at each: falling, so that their mean is the bin's."""
_REPEATING = 0.6
"""A row of R records that repeat is about so long in L2, as a power of R."""
_UNSEEN = 0.5
"""Users, in standard deviations of one bin, that may be in a bin that does not stand out."""
_UNKNOWN = 0.5
"""The share that is taken for lost where the histogram says nothing."""


@dataclass(frozen=True)
class Sizes:
    """What the histogram says.

    >>> sizes = read_sizes([100, 50, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 1.0)
    >>> sizes.reliable, sizes.users, sizes.records, round(sizes.lost(1), 3)
    (True, 150.0, 238.0, 0.37)
    """

    reliable: bool
    """Whether the histogram stands above its noise."""
    users: float
    """n̂: at least 1."""
    records: float
    """N̂."""
    bins: tuple[float, ...]
    """Users per bin; 0 outside the run of bins that stand out."""
    deviation: float = 0.0
    """Of the noise of one bin."""

    @property
    def only_ones(self) -> bool:
        """Whether only bin 0 stands out: nobody has more than one record."""
        return self.bins[0] > 0 and not any(self.bins[1:])

    def lost(self, bound: float, power: float = 1.0) -> float:
        """The share of the records that is lost where each row is scaled to ``bound``.

        Args:
            bound: of a row's length.
            power: a row of R records is R^power long, see :func:`power_of`.
        """
        return float(self.lost_at(np.array([bound], dtype=np.float64), power)[0])

    def lost_at(self, bounds: Floats, power: float = 1.0) -> Floats:
        """The same for each of several bounds."""
        if not self.reliable:
            return np.full(bounds.shape, _UNKNOWN)
        mass = sum(users * _lost(k, bounds, power) for k, users in enumerate(self.bins) if users)
        return np.minimum(mass / self.records, 1.0)

    def kept(self, bound: float, power: float = 1.0) -> float:
        """The share that is left."""
        return 1 - self.lost(bound, power)

    @property
    def most_users(self) -> float:
        """Two standard deviations above n̂; without limit where the histogram says nothing."""
        kept = sum(1 for users in self.bins if users)
        return self.users + 2 * self.deviation * sqrt(kept) if self.reliable else inf

    def hidden(self, bound: float, longest: float, power: float = 1.0) -> float:
        """The share that may be lost unseen: of users in the bin above the run, too few to show.

        Args:
            bound: what each row is scaled to.
            longest: no row has more records.
            power: a row of R records is R^power long.
        """
        above = max((k for k, users in enumerate(self.bins) if users), default=BINS) + 1
        if not self.reliable or above >= BINS or 2**above > longest:
            return 0.0
        row = min(_MEAN * 2.0**above, longest)
        lost = max(row - bound * float(row ** (1 - power)), 0.0)
        return _UNSEEN * self.deviation * lost / self.records


def power_of(norm: Norm, *, repeats: bool) -> float:
    """p, where a row of R records is about R^p long.

    In L1 it is R long, in L2 √R where all its records are of different items, and R where all are
    of one. Where records repeat, no histogram says how often; in real data p was .52 to .76.

    >>> power_of("l1", repeats=True), power_of("l2", repeats=False), power_of("l2", repeats=True)
    (1.0, 0.5, 0.6)
    """
    if norm == "l1":
        return 1.0
    return _REPEATING if repeats else 0.5


def _lost(k: int, bounds: Floats, power: float) -> Floats:
    """Records that a user of bin k loses: bin 0 has one record exactly, and loses none.

    In L1, above 2^k it falls as the cube of the distance to 2^(k+1): few users of a bin are near
    its end. A row of R records that is R^p long keeps bound·R^(1−p) of them.
    """
    if k == 0:
        return np.zeros_like(bounds)
    if power < 1:
        rows = 2.0**k * _WITHIN[:, None]
        lost = np.maximum(rows - bounds * rows ** (1 - power), 0.0)
        return np.asarray(_THINNING @ lost)
    least = 2.0**k
    beyond = (_MEAN - 1) * least * np.maximum(2 - bounds / least, 0.0) ** 3
    return np.where(bounds <= least, _MEAN * least - bounds, beyond)


def read_sizes(counts: ArrayLike, std: float) -> Sizes:
    """What 13 noisy counts say, the noise of each having the standard deviation ``std``."""
    found = np.asarray(counts, dtype=np.float64)
    if found.shape != (BINS,):
        raise UsageError(f"a histogram of sizes has {BINS} bins: received {found.shape}.")
    bins = _standing_out(found.tolist(), _STANDS_OUT * std)
    users = max(1.0, sum(bins))
    records = bins[0] + sum(_MEAN * 2.0**k * bins[k] for k in range(1, BINS))
    reliable = max(bins) >= max(_LEAST_PEAK * std, 1e-9) and users >= _LEAST_USERS * std
    return Sizes(reliable, users, max(records, 1.0), bins, std)


def _standing_out(counts: Sequence[float], least: float) -> tuple[float, ...]:
    """The run of bins around the largest that are all above ``least``; 0 elsewhere."""
    first = last = max(range(len(counts)), key=counts.__getitem__)
    if counts[first] <= least:
        return (0.0,) * len(counts)
    while first > 0 and counts[first - 1] > least:
        first -= 1
    while last + 1 < len(counts) and counts[last + 1] > least:
        last += 1
    return tuple(count if first <= k <= last else 0.0 for k, count in enumerate(counts))
