"""θ for rows that are scaled to a Euclidean norm, from a noisy histogram of their norms.

Contract. Relation: all records of one user added or removed. The histogram counts users by the bit
length of Q, the sum of squares of their row; where a user may count several times in a cell, by
those of Q and of the row's sum together. Each user is in one bin, so that one user changes it by 1
in L2. Output law: discrete Gaussian noise of variance 1/(2ρ) on every bin, which is ρ-zCDP; what is
made of the noisy bins, θ above all, is post-processing. The proof is in ``norms.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import pi, sqrt

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.numbers import Integers
from crowdtally.core.privacy import Rho
from crowdtally.curator.choosing.candidates import log_spaced
from crowdtally.curator.choosing.rows import RowNorms
from crowdtally.noise.draws import Draws

BITS = 62
"""Bit lengths of Q: 1 … 62; sums of squares are held at 2^61."""
_CLEAR, _RELIABLE = 1.2, 3.5
"""Standard deviations that a bin must stand above, and that the largest one must."""
_WITHIN = 8
"""Points that stand for the rows of one bin, evenly in their logarithm."""


@dataclass(frozen=True)
class NormChoice:
    """Every public parameter of the choice."""

    cells: int
    """N: the number of cells, each of which will get noise."""
    most: int
    """The largest candidate."""
    rho: Rho
    """ρ_c: what the choice costs."""
    publish_rho: Rho
    """ρ_p: what the counts will be published for once θ is known."""
    cap: int = 1
    """The most that a user counts in one cell."""

    @property
    def variance(self) -> Fraction:
        """Of the noise on each bin."""
        return 1 / (2 * self.rho.value)

    @property
    def sums(self) -> int:
        """Into how many bins the rows with one bit length of Q fall by their sums.

        x ≤ x² ≤ cap·x, so Q/cap ≤ RC ≤ Q: the sum has at most as many bits as Q, and at least as
        many but for those of the cap. Where a user counts once in a cell RC is Q.
        """
        return 1 if self.cap == 1 else self.cap.bit_length() + 1

    def bins(self, norms: RowNorms) -> Integers:
        """The exact histogram: bit lengths of Q in rows, those that RC is shorter by in columns."""
        bits, shorter = _bit_lengths(norms.squares), np.zeros(len(norms.squares), dtype=np.int64)
        if self.cap > 1:
            shorter = np.clip(bits - _bit_lengths(norms.sums), 0, self.sums - 1)
        counted = np.zeros((BITS, self.sums), dtype=np.int64)
        np.add.at(counted, (bits - 1, shorter), norms.users)
        return counted

    def pick(self, norms: RowNorms, draws: Draws) -> int:
        """Returns the θ that fits the noisy histogram best."""
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
        """The run of bins around the largest that stand out of the noise: the others are noise.

        A bin of long rows that holds nobody would else outweigh all that hold somebody.
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
