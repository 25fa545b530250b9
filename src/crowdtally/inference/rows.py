"""How long users' rows are: read off a noisy histogram."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import erf, sqrt

import numpy as np

from crowdtally.errors import UsageError
from crowdtally.inference.posterior import Floats, Ints

# A user's row is all that she has: R records, or R distinct items. The histogram says how many
# users have which R, with noise. Everything here follows from it and from public numbers.

LOW: Ints = np.array([*range(1, 9), *(2**k + 1 for k in range(3, 14))])
"""The shortest rows of each bin: single lengths up to 8, then lengths that double."""
HIGH: Ints = np.append(LOW[1:] - 1, 2**14)
"""The longest; longer rows are in the last bin too."""
BINS = len(LOW)
SHORT = 8
"""Bins up to this length hold one length each."""
LARGEST_BOUND = int(HIGH[-1])
BOUNDS = tuple(sorted({*range(1, 33), *(round(32 * 1.1**k) for k in range(1, 64))}))
"""The bounds that are tried, up to the longest rows that there are."""

_WEAK = 5.0
"""Deviations: a histogram whose fullest bin is below says nothing."""
_RUN = ((0, 3.5), (1, 4.5), (3, 5.5), (7, 7.0))
"""A bin belongs to the run if it is so many deviations above 0, after so many bins that are not."""
_FIRST = 4.0
"""The same next to the run, of bins of one length."""
_MEANS = np.arange(0, 7.55, 0.1)
_SPREADS = np.array([0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.35, 1.5, 1.7, 2.0])
"""Of the logarithm of R, in the laws that are tried."""
_MODEL = 0.2
"""How far a law may be off, relative to each bin."""
_TAIL, _WEAK_TAIL = 2.5, 2.0
"""Beyond what is seen, the number of users falls no slower than R to minus this; where nothing is
seen well, no slower than the second."""


def _laws() -> Floats:
    """The share of users in each bin, for each lognormal law that is tried."""
    edges = np.log(np.append(LOW - 0.5, HIGH[-1] + 0.5))
    means, spreads = np.repeat(_MEANS, len(_SPREADS)), np.tile(_SPREADS, len(_MEANS))
    z = (edges - means[:, None]) / spreads[:, None]
    below = 0.5 * (1 + np.vectorize(erf)(z / sqrt(2)))
    below[:, 0], below[:, -1] = 0.0, 1.0
    return np.diff(below, axis=1)


@dataclass(frozen=True, eq=False)
class RowLengths:
    """What a noisy histogram of row lengths says.

    >>> lengths = RowLengths(np.array([100.0, 50.0] + [0.0] * 17), 1.0)
    >>> lengths.weak, lengths.end, round(lengths.kept(1)[0], 2)
    (False, 2, 0.75)
    """

    noisy: Floats
    """The noisy number of users in each bin."""
    deviation: float
    """Of the noise of one bin."""
    rich_from: float = float("inf")
    """Users in the run from which a release may afford to look twice."""
    by_norm: bool = False
    """Whether bounds are of squares: √(bound·R) of a longer row's R records are left of it."""

    def __post_init__(self) -> None:
        if self.noisy.shape != (BINS,):
            raise UsageError(f"row lengths come in {BINS} bins: received {self.noisy.shape}.")

    @cached_property
    def weak(self) -> bool:
        """Whether the histogram says nothing."""
        return float(self.noisy.max()) < _WEAK * self.deviation

    @cached_property
    def run(self) -> tuple[int, int]:
        """The first and the last bin that stand above the noise, around the fullest."""
        first = last = int(np.argmax(self.noisy))
        while (found := self._next(last, 1)) is not None:
            last = found
        while (found := self._next(first, -1)) is not None:
            first = found
        return first, last

    def _next(self, place: int, step: int) -> int | None:
        for gap in range(8):
            at = place + step * (1 + gap)
            if not 0 <= at < BINS:
                return None
            least = next(limit for most, limit in _RUN if gap <= most)
            if gap == 0 and at < SHORT:
                least = _FIRST
            if self.noisy[at] > least * self.deviation:
                return at
        return None

    @property
    def end(self) -> int:
        """The longest row of the run."""
        return int(HIGH[self.run[1]])

    @property
    def short(self) -> bool:
        """Whether the run ends where each bin is one length."""
        return self.end <= SHORT

    @cached_property
    def _law(self) -> Floats:
        """The bins of the lognormal law that fits best."""
        laws = _laws()
        size = np.maximum((laws @ self.noisy) / (laws**2).sum(axis=1), 0.0)
        bins = size[:, None] * laws
        variance = self.deviation**2 + (_MODEL * bins) ** 2
        misfit = ((self.noisy - bins) ** 2 / variance + np.log(variance)).sum(axis=1)
        return np.asarray(bins[np.argmin(misfit)], dtype=np.float64)

    @cached_property
    def _in_run(self) -> Floats:
        """Users of the run's bins: between the law and what was measured."""
        law, y, variance = self._law, self.noisy, self.deviation**2
        own = np.maximum(0.25 * law**2 / (0.25 * law**2 + variance), y**2 / (y**2 + 9 * variance))
        found = np.zeros(BINS)
        first, last = self.run
        found[first : last + 1] = np.maximum(law + own * (y - law), 0.0)[first : last + 1]
        return found

    @cached_property
    def rich(self) -> bool:
        """Whether there are so many users that part of the price buys a look at tastes."""
        first, last = self.run
        many = float(self._in_run.sum()) >= self.rich_from
        return many and not self.weak and last > first and not self.short

    @cached_property
    def users_in(self) -> Floats:
        """Users per bin: of the run, and what may be in the two bins after it."""
        found, law, y, sd = self._in_run.copy(), self._law, self.noisy, self.deviation
        after = slice(self.run[1] + 1, self._last + 1)
        more = law + law**2 / (law**2 + sd**2) * (np.minimum(y, 3 * sd) - law)
        found[after] = np.maximum(more, 0.0)[after] * (0.5 if self.rich else 1.0)
        if self.short:
            found[after] = np.where(y > 2 * sd, found, 0.0)[after]
        return found

    @cached_property
    def _last(self) -> int:
        """The last bin in which users are thought to be."""
        return min(self.run[1] + 2, SHORT - 1 if self.short else BINS - 1)

    @property
    def longest(self) -> int:
        """The longest row that there is thought to be."""
        return int(HIGH[self._last])

    @cached_property
    def bounds(self) -> tuple[int, ...]:
        """The bounds that are worth trying."""
        return (*(bound for bound in BOUNDS if bound < self.longest), self.longest)

    @cached_property
    def _slopes(self) -> Floats:
        """γ of each doubling bin: rows in it have the density R^(γ−1)."""
        users, found = self.users_in, np.ones(BINS)
        for k in range(SHORT, BINS):
            before = users[k - 1] if k > SHORT else users[4:SHORT].sum()
            after = users[k + 1] if k + 1 < BINS else 0.0
            slope = 0.5 * np.log2((after + self.deviation) / (before + self.deviation))
            found[k] = np.clip(slope, -3, 3)
        found = np.where(abs(found) < 1e-3, 1e-3, found)
        for pole in (-1.0, -0.5):
            found = np.where(abs(found - pole) < 1e-3, pole + 1e-3, found)
        return found

    def kept_each(self, bound: float) -> Floats:
        """Of each bin, how many records of a row are left on average: the mean of min(R, bound).

        By norm it is the mean of min(R, √(bound·R)).
        """
        low, high, slope = LOW - 0.5, HIGH + 0.5, self._slopes
        at, power = np.clip(bound, low, high), 0.5 if self.by_norm else 0.0
        below = (at ** (slope + 1) - low ** (slope + 1)) / (slope + 1)
        beyond = (high ** (slope + power) - at ** (slope + power)) / (slope + power)
        beyond *= np.minimum(at, bound) ** (1 - power)
        doubling = (below + beyond) * slope / (high**slope - low**slope)
        if not self.by_norm:
            doubling = np.where(bound < LOW, bound, np.minimum(doubling, bound))
        single = np.minimum(LOW, np.minimum(LOW, bound) ** (1 - power) * LOW**power)
        return np.where(LOW < HIGH, doubling, single).astype(np.float64)

    @cached_property
    def mean_row(self) -> Floats:
        return np.where(LOW < HIGH, self.kept_each(float(HIGH[-1]) + 0.5), LOW).astype(np.float64)

    @cached_property
    def users(self) -> float:
        """How many users there are; at least 1."""
        return max(float(self.users_in.sum()), 1.0)

    @cached_property
    def records(self) -> float:
        """How many records there are; at least 1."""
        return max(float((self.users_in * self.mean_row).sum()), 1.0)

    def records_up_to(self, length: int) -> float:
        """Records of the rows that are no longer."""
        return float((self.users_in * self.mean_row)[length >= HIGH].sum())

    def kept(self, bound: float, above: float = 0) -> tuple[float, float]:
        """The share of records that a bound leaves, and how much it shifts them to short rows.

        The shift is the greatest distance between the distributions of records and of what is
        left over the lengths of rows. With ``above``, both are of longer rows alone.
        """
        users = np.where(above < HIGH, self.users_in, 0.0)
        whole = users * self.mean_row
        left = users * np.minimum(self.kept_each(bound), self.mean_row)
        records, rest = max(float(whole.sum()), 1e-9), max(float(left.sum()), 1e-9)
        shift = float(np.max(np.cumsum(left) / rest - np.cumsum(whole) / records))
        return min(rest / records, 1.0), shift

    def unseen(self, bound: float) -> float:
        """Records beyond a bound that may be in bins after the run, at most."""
        lost = self.mean_row - np.minimum(self.kept_each(bound), self.mean_row)
        width, mean = HIGH - LOW + 1.0, self.mean_row
        tail = _WEAK_TAIL if self.weak else _TAIL
        found, most = 0.0, float(self.users_in[self.run[1]])
        for k in range(self.run[1] + 1, BINS):
            falls = most * (width[k] / width[k - 1]) * (mean[k - 1] / mean[k]) ** tail
            most = min(max(float(self.noisy[k]), 0.0) + self.deviation, falls)
            found += max(most - float(self.users_in[k]), 0.0) * float(lost[k])
        return found

    def doubt(self, bound: float) -> float:
        """How uncertain the noise of the histogram makes what a bound leaves, relative to it."""
        share = max(self.kept(bound)[0], 1e-9)
        off = np.minimum(self.deviation, self.users_in) * (
            self.mean_row - np.minimum(self.kept_each(bound), self.mean_row) / share
        )
        return float(np.sqrt((off[self.users_in > 0] ** 2).sum())) / self.records


def bin_of(length: int) -> int:
    """The bin of a row of this length.

    >>> [bin_of(length) for length in (1, 8, 9, 16, 17, 16384, 10**9)]
    [0, 7, 8, 8, 9, 18, 18]
    """
    return min(int(np.searchsorted(HIGH, length)), BINS - 1)
