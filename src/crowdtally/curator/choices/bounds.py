"""Private choices of a bound: by rank, by DPSense's Algorithm 1, by a histogram of norms."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.integers import Integers
from crowdtally.core.numbers import is_whole, whole_number
from crowdtally.core.privacy import Epsilon, Price, Rho
from crowdtally.errors import UsageError
from crowdtally.noise.draws import Draws

# The public lists to choose from. Nothing here may depend on a record.

MOST_CANDIDATES = 1_000_000
"""Beyond it a choice would take longer than the release: each candidate costs an exponential."""


def log_spaced(most: int, *, fineness: int = 8) -> tuple[int, ...]:
    """1, 2, … while they are small, then each about 1/fineness larger than the last, to ``most``.

    A candidate is followed by itself plus ⌊itself/fineness⌋, at least 1: integers decide, so every
    platform makes the same list.

    >>> log_spaced(40, fineness=4)
    (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 22, 27, 33, 40)
    """
    whole_number(most, "the largest candidate", 1, 2**62)
    whole_number(fineness, "the fineness of the candidates", 1, 10_000)
    candidates = [1]
    while candidates[-1] < most:
        last = candidates[-1]
        candidates.append(min(most, last + max(1, last // fineness)))
    return tuple(candidates)


def check_theta(most: int, cells: int, cap: int, candidates: int) -> None:
    """Refuse a largest θ that no row could reach, or that makes too many candidates."""
    whole_number(cells, "the number of cells", 1, 2**62)
    whole_number(cap, "the cap per cell", 1, 2**31)
    if not is_whole(most) or not 1 <= most <= cells * cap:
        raise UsageError(
            f"max_records must be a whole number between 1 and {cells * cap} (cells times the "
            f"cap per cell), which no row can exceed: received {most!r}."
        )
    if candidates > MOST_CANDIDATES:
        raise UsageError(
            f"there would be {candidates} candidates to choose from, and at most {MOST_CANDIDATES} "
            "are weighed: lower the largest bound, or use the rank rule (choose=rank)."
        )


# What noise costs a table at a bound: the mean of its absolute value in one cell.
#
# Laplace noise of scale θ/ε is θ/ε away from 0 in the mean; Gaussian noise for counts that one
# user changes by at most Δ in L2 is Δ/√(πρ) away, with Δ = θ, or √θ where a user counts once in a
# cell (rounded: what a score says is public beside the counts, and decides how good a choice is,
# never what it costs).

_FINE = 1 << 20


@dataclass(frozen=True)
class NoiseCost:
    """In whole units, of which a count has :attr:`unit`.

    >>> NoiseCost(Epsilon.of("3/2")).at(10), NoiseCost(Epsilon.of("3/2")).unit
    (20, 3)
    """

    price: Price
    rooted: bool = False

    @property
    def unit(self) -> int:
        """Units of a count: a where ε = a/b, so that Laplace noise is not even rounded."""
        return self.price.value.numerator if isinstance(self.price, Epsilon) else _FINE

    def at(self, theta: int) -> int:
        if isinstance(self.price, Epsilon):
            return self.price.value.denominator * theta
        return self._gaussian(sqrt(theta) if self.rooted else theta)

    def step(self, theta: int) -> int:
        if isinstance(self.price, Epsilon):
            return self.price.value.denominator
        return self._gaussian(1 / (2 * sqrt(theta)) if self.rooted else 1)

    def _gaussian(self, distance: float) -> int:
        return round(_FINE * distance / sqrt(pi * float(self.price.value)))


# What the choices read of the records: row sums. Exact, private, never released.
#
# A user's row sum RC_u is the sum of that user's row: the number of distinct cells (binary rows),
# of records, or of records capped at a public r per cell. A broken precondition raises
# ``ValueError``, which names no value: it is a fault of the calling code, not of a curator's
# input.

# Sums of what a table holds stay far below 2^63, so that no total can wrap unnoticed.
_LARGEST_TOTAL = 2**61


@dataclass(frozen=True, eq=False)
class RowSums:
    """How many users have which row sum. One user changes one entry by 1."""

    sums: NDArray[np.int64]
    users: NDArray[np.int64]

    def __post_init__(self) -> None:
        _check(sums=self.sums, users=self.users)

    def above(self, bounds: NDArray[np.int64]) -> NDArray[np.int64]:
        """#{u: RC_u > θ} for each θ of ``bounds``.

        >>> RowSums(np.array([1, 5]), np.array([10, 2])).above(np.array([0, 1, 4, 5]))
        array([12,  2,  2,  0])
        """
        order = np.argsort(self.sums)
        up_to = np.concatenate(([0], np.cumsum(self.users[order])))
        places = np.searchsorted(self.sums[order], bounds, side="right")
        return np.asarray(up_to[-1] - up_to[places], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class RowNorms:
    """How many users have which sum of squares and which sum of a row; each is in one entry."""

    squares: NDArray[np.int64]
    """Q: sums of squares, at least 1."""
    sums: NDArray[np.int64]
    """RC: row sums, at least 1."""
    users: NDArray[np.int64]
    """How many users have both; a pair may stand in several entries, which then add up."""

    def __post_init__(self) -> None:
        _check(squares=self.squares, sums=self.sums, users=self.users)


@dataclass(frozen=True, eq=False)
class RowTable:
    """For each row sum ρ and column j, the total of column j over the users whose row sum is ρ.

    A user whose row is x adds x_j to each (Σx, j). For binary rows: the number of users with row
    sum ρ who have column j.
    """

    sums: NDArray[np.int64]
    """ρ of each entry."""
    columns: NDArray[np.int64]
    """j of each entry, from 0; a pair (ρ, j) may stand in several entries, which then add up."""
    totals: NDArray[np.int64]

    def __post_init__(self) -> None:
        _check(sums=self.sums, columns=self.columns, totals=self.totals)

    def fits(self, cells: int, cap: int) -> bool:
        if self.sums.size == 0:
            return True
        sums_fit = self.sums.min() >= 1 and self.sums.max() <= cells * cap
        return bool(sums_fit and self.columns.max() < cells)


def _check(**arrays: NDArray[Any]) -> None:
    if len({array.shape for array in arrays.values()}) != 1:
        raise ValueError(f"{' and '.join(arrays)} must be arrays of one length.")
    for name, array in arrays.items():
        if array.dtype != np.int64 or array.ndim != 1:
            raise ValueError(f"{name} must be a row of 64-bit integers, not {array.dtype}.")
        if array.size and array.min() < 0:
            raise ValueError(f"{name} must not be negative.")
    *_, weights = arrays.values()
    if weights.sum(dtype=np.float64) > _LARGEST_TOTAL:
        raise ValueError("the entries add up to more than 64-bit sums can hold.")


@dataclass(frozen=True)
class RankChoice:
    """The rank rule: the bound that the right number of users exceed.

    Contract. Relation: all records of one user added or removed. Score −|#{u: RC_u > θ} − N·C/ε_p|,
    of sensitivity 1, both ways; for Gaussian noise 1/ε_p is by how much the mean absolute noise
    grows where θ grows by 1, which is public too. Output law: θ of the public candidates with Pr ∝
    exp(ε_c·score/2), which is ε_c-differentially private (ε_c is ``epsilon``, ε_p ``published``).
    The proof is in ``rank.md``.

    It chooses θ for DPSense, and l for SRA and HPA, with RC_u the number of user u's records, or of
    distinct cells where users are counted. C is 1 without a quantity.

    >>> from crowdtally.noise.draws import SystemDraws
    >>> choice = RankChoice(100, log_spaced(1000), Epsilon.of(10**6), Epsilon.of(1))
    >>> choice.pick(RowSums(np.array([3, 20]), np.array([500, 100])), SystemDraws()) in range(3, 20)
    True
    """

    cells: int
    """N: the cells, each of which will get noise."""
    candidates: tuple[int, ...]
    epsilon: Epsilon
    published: Price
    times: int = 1
    """C: noise has scale θ·C/ε_p where a record counts up to C times. Public."""
    rooted: bool = False
    """Whether one user changes the published counts by √θ in L2, not by θ."""

    def __post_init__(self) -> None:
        if self.cells < 1:  # of any size: it only shifts the scores
            raise UsageError(f"the number of cells must be at least 1: received {self.cells!r}.")
        for candidate in self.candidates:
            whole_number(candidate, "a bound to choose from", 1, 2**62)
        if not 1 <= len(set(self.candidates)) == len(self.candidates) <= MOST_CANDIDATES:
            raise UsageError(
                f"the bounds to choose from must be distinct, and between 1 and {MOST_CANDIDATES} "
                f"of them: received {len(self.candidates)}."
            )

    def scores(self, rows: RowSums) -> list[int]:
        """−|a·#{u: RC_u > θ} − N·C·(a times the step of the noise)|: a times the score."""
        cost = NoiseCost(self.published, self.rooted)
        above = rows.above(np.array(self.candidates, dtype=np.int64)).tolist()
        return [
            -abs(cost.unit * users - cost.step(theta) * self.cells * self.times)
            for theta, users in zip(self.candidates, above, strict=True)
        ]

    @property
    def rate(self) -> Fraction:
        """ε_c/2 for scores in the units of :meth:`scores`: ε_c/(2a)."""
        return self.epsilon.value / (2 * NoiseCost(self.published, self.rooted).unit)

    def pick(self, rows: RowSums, draws: Draws) -> int:
        """Returns a candidate distributed as Pr ∝ exp(ε_c·score/2) over all of them."""
        return self.candidates[draws.choose(self.scores(rows), self.rate)]


@dataclass(frozen=True)
class DPSenseChoice:
    """DPSense's choice of θ (Day & Li 2015, Algorithm 1, without its factor ½).

    Contract. Relation: all records of one user added or removed. Score q(θ) = (1/N)·Σ_u min(RC_u,
    θ) − noise(θ), which is θ/ε_p for Laplace noise, and public for any; one user moves all scores
    the same way, each by at most Δ = θ_max/N. Output law: θ of {1..θ_max} with Pr ∝
    exp(ε_c·q(θ)/Δ), which is ε_c-differentially private. The proof is in ``dpsense.md``.

    >>> from crowdtally.noise.draws import SystemDraws
    >>> choice = DPSenseChoice(100, 20, epsilon=Epsilon.of(10**6), published=Epsilon.of(1))
    >>> choice.pick(RowSums(np.array([3, 20]), np.array([500, 10])), SystemDraws())
    3
    """

    cells: int
    most: int
    """θ_max."""
    epsilon: Epsilon
    published: Price
    cap: int = 1
    """r: the most that a user counts in one column; θ_max may go up to r·N."""
    rooted: bool = False

    def __post_init__(self) -> None:
        check_theta(self.most, self.cells, self.cap, self.most)

    @property
    def candidates(self) -> range:
        """Every θ, whatever the largest row: what no row reaches is a candidate too."""
        return range(1, self.most + 1)

    def scores(self, rows: RowSums) -> list[int]:
        """N·a·q(θ) for each candidate, a units per count: a·Σ_u min(RC_u, θ) − N·(a times noise).

        One user adds a·min(RC_u, θ) to the score of θ: between 0 and a·θ_max.
        """
        cost = self._cost
        # min(RC, θ) counts the t < θ that RC exceeds, so the kept totals are running sums. They
        # are Python's integers: a has as many digits as the curator typed.
        kept = accumulate(rows.above(np.arange(self.most)).tolist())
        return [
            cost.unit * total - self.cells * cost.at(theta)
            for theta, total in zip(self.candidates, kept, strict=True)
        ]

    @property
    def rate(self) -> Fraction:
        """ε_c/Δ for scores in the units of :meth:`scores`: ε_c/(a·θ_max). No ½: see the proof."""
        return self.epsilon.value / (self._cost.unit * self.most)

    @property
    def _cost(self) -> NoiseCost:
        return NoiseCost(self.published, self.rooted)

    def pick(self, rows: RowSums, draws: Draws) -> int:
        """Returns θ distributed as Pr ∝ exp(ε_c·q(θ)/Δ) over all candidates."""
        return self.candidates[draws.choose(self.scores(rows), self.rate)]


BITS = 62
"""Bit lengths of Q: 1 … 62; sums of squares are held at 2^61."""
_CLEAR, _RELIABLE = 1.2, 3.5
"""By how many standard deviations a bin must exceed 0, and by how many the largest one must."""
_WITHIN = 8
"""Points that represent the rows of one bin, evenly in their logarithm."""


@dataclass(frozen=True)
class NormChoice:
    """θ for rows that are scaled to a Euclidean norm, from a noisy histogram of their norms.

    Contract. Relation: all records of one user added or removed. The histogram counts users by the
    bit length of Q, the sum of squares of their row; where a user may count several times in a
    cell, by those of Q and of the row's sum together. Each user is in one bin, so that one user
    changes it by 1 in L2. Output law: discrete Gaussian noise of variance 1/(2ρ) on every bin,
    which is ρ-zCDP; what is made of the noisy bins, θ above all, is post-processing. The proof is
    in ``norms.md``.
    """

    cells: int
    most: int
    rho: Rho
    """ρ_c: the price of the choice."""
    publish_rho: Rho
    """ρ_p: the price of the counts."""
    cap: int = 1

    @property
    def variance(self) -> Fraction:
        return 1 / (2 * self.rho.value)

    @property
    def sums(self) -> int:
        """How many bins, by row sums, the rows with one bit length of Q have.

        x ≤ x² ≤ cap·x, so Q/cap ≤ RC ≤ Q: the sum has at most as many bits as Q, and at least as
        many but for those of the cap. Where a user counts once in a cell RC is Q.
        """
        return 1 if self.cap == 1 else self.cap.bit_length() + 1

    def bins(self, norms: RowNorms) -> Integers:
        """The histogram, by the bit length of Q (rows) and how much shorter RC is (columns)."""
        bits, shorter = _bit_lengths(norms.squares), np.zeros(len(norms.squares), dtype=np.int64)
        if self.cap > 1:
            shorter = np.clip(bits - _bit_lengths(norms.sums), 0, self.sums - 1)
        counted = np.zeros((BITS, self.sums), dtype=np.int64)
        np.add.at(counted, (bits - 1, shorter), norms.users)
        return counted

    def pick(self, norms: RowNorms, draws: Draws) -> int:
        exact = self.bins(norms)
        noise = draws.gaussian(self.variance, exact.size)
        return self.fitting(exact + np.asarray(noise).reshape(exact.shape))

    def fitting(self, noisy: Integers) -> int:
        """θ with the least loss by scaling, Σ (1 − θ/√Q)+·RC, and noise, N·θ/√(πρ_p), together."""
        users, rows = self._rows(noisy.astype(float))
        norms, sums = np.sqrt(rows), rows * np.repeat(self._ratios(noisy), _WITHIN)
        noise = self.cells / sqrt(pi * float(self.publish_rho.value))

        def error(theta: int) -> float:
            return float(users @ (np.maximum(1 - theta / norms, 0) * sums)) + noise * theta

        return min(log_spaced(self.most), key=error)

    def _rows(self, noisy: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How many users have which Q: a bin's users at several points of it."""
        users = np.where(self._kept(noisy.sum(axis=1)), noisy.sum(axis=1), 0)
        places = (np.arange(_WITHIN) + 0.5) / _WITHIN
        rows = 2.0 ** (np.arange(BITS)[:, None] + places)
        rows[0] = 1  # one bit: Q is 1
        return np.repeat(users / _WITHIN, _WITHIN), rows.ravel()

    def _kept(self, users: NDArray[np.float64]) -> NDArray[np.bool_]:
        """The run of bins around the largest that exceed the noise.

        An empty bin of long rows would else outweigh all bins with users.
        """
        deviation = sqrt(float(self.variance) * self.sums)
        largest = int(users.argmax())
        kept = np.zeros(BITS, dtype=bool)
        if users[largest] < _RELIABLE * deviation:
            return kept
        for step in (-1, 1):
            place = largest
            while 0 <= place < BITS and users[place] > _CLEAR * deviation:
                kept[place] = True
                place += step
        return kept

    def _ratios(self, noisy: Integers) -> NDArray[np.float64]:
        """RC/Q of the rows with one bit length of Q, in the mean."""
        each = np.clip(0.5 ** np.arange(self.sums), 1 / self.cap, 1)
        weights = np.maximum(noisy.astype(float), 0)
        total = weights.sum(axis=1)
        return np.asarray(np.where(total > 0, weights @ each / np.maximum(total, 1), 1))


def _bit_lengths(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.searchsorted(2 ** np.arange(BITS, dtype=np.int64), numbers, side="right")
