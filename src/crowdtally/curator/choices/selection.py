"""Private selection: the items that most users have, and cells without a public list."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from flint import arb
from numpy.typing import NDArray

from crowdtally.core.counts import Memberships
from crowdtally.core.integers import within_64_bits
from crowdtally.core.numbers import is_whole, show
from crowdtally.core.privacy import Delta, Epsilon, Price, Rho
from crowdtally.curator.pricing import noise_of, noise_part
from crowdtally.errors import UsageError
from crowdtally.laws.balls import as_ball, certified_ceiling, precision
from crowdtally.laws.base import CellNoise
from crowdtally.laws.gaussian_tails import rounded_up, unknown_delta, unknown_threshold
from crowdtally.ledger import Part
from crowdtally.noise.draws import Draws


@dataclass(frozen=True)
class TopItems:
    """The K items that most users have: selected one after another, then measured.

    Contract. Relation: all records of one user added or removed. Precondition: the scores are exact
    numbers of *distinct* users, so that adding a user raises every score by 0 or 1 and lowers none.
    Output law: K draws without replacement, each with Pr[i] ∝ exp(ε_i·score_i) among the items that
    are left, those that nobody has included. This is K·ε_i-differentially private, and
    K·ε_i²/8-zCDP; no factor ½ is needed, because all scores move the same way. The proof is in
    ``top_items.md``.
    """

    items: int
    """K: how many items are selected."""
    each: Epsilon
    """ε_i: the price of each draw."""

    def select(self, users: Memberships, draws: Draws) -> NDArray[np.int64]:
        """The places of the selected items, ascending: the order of the draws is not released."""
        left, rate = np.arange(users.size), self.each.value
        chosen = []
        for _ in range(self.items):
            place = draws.choose(users.values[left], rate)
            chosen.append(int(left[place]))
            left = np.delete(left, place)
        return np.sort(np.array(chosen, dtype=np.int64))


_LARGEST_LIMIT = 2**31
_SHOWN_DIGITS = 6
_ONE = Fraction(1)


@dataclass(frozen=True, eq=False)
class Kept:
    """Cells that users keep, each once, in the order of their values. Exact and private."""

    values: tuple[NDArray[Any], ...]
    """For each column the value of every cell; of a column with a public list, its place there."""
    users: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Discovered:
    """The cells that passed, ascending, and their noisy counts. This much may be released."""

    places: NDArray[np.int64]
    noisy: NDArray[np.int64]


@dataclass(frozen=True)
class UnknownCells:
    """Cells that no public list names: those that enough users have, under (ε, δ) or ρ and δ₂.

    Contract. Relation: all records of one user added or removed. Precondition: each user kept at
    most l *distinct* cells of the table and added 1 to each, so a cell that only one user has
    counts exactly 1, and what one user changes is at most l in L1 and √l in L2. Output law: every
    cell with a count gets noise, and it is released, with its noisy count, where that is at least
    T. For a price of ε the noise is discrete Laplace of scale l/ε, and this is (ε,
    δ′)-differentially private; for a price of ρ it is discrete Gaussian of variance l/(2ρ), and
    this is δ′-approximate ρ-zCDP. In both cases δ′ = 1 − (1−p)^l ≤ δ, p the chance that 1 plus
    noise is at least T, and T is the least for which that holds. The proof is in
    ``unknown_cells.md``.

    >>> from crowdtally.core.privacy import Epsilon
    >>> rule = UnknownCells(limit=10, price=Epsilon.of(1), delta=Delta.of("1e-6"))
    >>> rule.threshold, float(rule.actual_delta)
    (156, 9.74042e-07)
    >>> UnknownCells(limit=10, price=Rho.of("0.05"), delta=Delta.of("1e-6")).threshold
    54
    """

    unit: ClassVar[Fraction] = _ONE

    limit: int
    """l: the most distinct cells that one user keeps."""
    price: Price
    delta: Delta
    """The δ that may not be exceeded, above 0."""

    def __post_init__(self) -> None:
        if not is_whole(self.limit) or not 1 <= self.limit <= _LARGEST_LIMIT:
            raise UsageError(
                f"the cells kept per user must be a whole number between 1 and {_LARGEST_LIMIT}: "
                f"received {self.limit!r}."
            )
        if self.delta.value == 0:
            raise UsageError(
                "discovering cells needs a delta above 0: without one, no cell may appear that "
                "only one user has. Give --delta, or a public list for each column."
            )

    @property
    def l1_bound(self) -> int:
        """What one user can change: 1 in each kept cell."""
        return self.limit

    @property
    def l2_squared(self) -> int:
        """The cells are distinct, and each changes by 1."""
        return self.limit

    @property
    def law(self) -> CellNoise:
        return noise_of(self, self.price)

    @cached_property
    def threshold(self) -> int:
        """The least T ≥ 1 with 1 − (1−p)^l ≤ δ for p = Pr[1 + noise ≥ T], certified."""
        if isinstance(self.price, Rho):
            return unknown_threshold(self._variance(self.price), self.limit, self.delta.value)

        def steps() -> arb:
            # Pr[1+X ≥ T] = α^(T−1)/(1+α) may be at most 1 − (1−δ)^(1/l). The quotient of logarithms
            # is never an integer (α is transcendental), so some precision decides.
            single = -((-as_ball(self.delta.value)).log1p() / self.limit).expm1()
            return -(single * (1 + self._alpha())).log() * as_ball(self._scale)

        return 1 + max(certified_ceiling(steps), 0)

    @cached_property
    def actual_delta(self) -> Fraction:
        """δ′ = 1 − (1−p)^l at T, rounded up to a short decimal, never above δ."""
        if isinstance(self.price, Rho):
            exact = unknown_delta(self._variance(self.price), self.limit, self.threshold)
        else:
            with precision(256):
                alone = (-as_ball((self.threshold - 1) / self._scale)).exp() / (1 + self._alpha())
                exact = rounded_up(-(self.limit * (-alone).log1p()).expm1())
        return min(_short(exact), self.delta.value)

    def select(self, counts: NDArray[np.int64], draws: Draws) -> Discovered:
        """The cells whose count plus noise reaches the threshold.

        The cells' own values must fix their order, never the order of discovery. A cell that nobody
        kept is as if it did not exist: no noise may make it appear.
        """
        present = np.flatnonzero(counts > 0)
        # Python's integers: a sum that is held within 64 bits afterwards is post-processing, noise
        # held within 64 bits before it is not.
        noisy = counts[present].astype(object) + self.law.draw(draws, len(present))
        passing = np.flatnonzero(noisy >= self.threshold)
        return Discovered(present[passing], within_64_bits(noisy[passing]))

    def part(self, name: str) -> Part:
        if isinstance(self.price, Rho):
            parameters = {
                "sigma2": show(self._variance(self.price)),
                "l2_squared": str(self.l2_squared),
                "threshold": self.threshold,
            }
            mechanism = "thresholded-discrete-gaussian"
            return Part(name, None, mechanism, parameters, self.delta, rho=self.price)
        parameters = {"l1_bound": self.l1_bound}
        return Part(name, self.price, "thresholded-discrete-laplace", parameters, self.delta)

    def _variance(self, price: Rho) -> Fraction:
        return self.l2_squared / (2 * price.value)

    @property
    def _scale(self) -> Fraction:
        return self.l1_bound / self.price.value

    def _alpha(self) -> arb:
        return (-1 / as_ball(self._scale)).exp()


@dataclass(frozen=True)
class OtherMass:
    """How much of a table lies in cells that were not released: one more noisy count.

    Contract. Given what is released, one user changes it by at most l. Adaptive composition adds
    its price.
    """

    unit: ClassVar[Fraction] = _ONE

    limit: int
    price: Price

    @property
    def l1_bound(self) -> int:
        return self.limit

    @property
    def l2_squared(self) -> int:
        """It is one count: the same in L2, squared."""
        return self.limit**2

    @property
    def law(self) -> CellNoise:
        return noise_of(self, self.price)

    def draw(self, counts: NDArray[np.int64], released: Discovered, draws: Draws) -> int:
        below = int(counts.sum()) - int(counts[released.places].sum())
        return below + int(self.law.draw(draws, 1)[0])

    def part(self, name: str) -> Part:
        return noise_part(name, self, self.price)


def _short(value: Fraction) -> Fraction:
    """A decimal of a few digits that is no less.

    >>> _short(Fraction(1, 3)), _short(Fraction(1, 8))
    (Fraction(166667, 500000), Fraction(1, 8))
    """
    tens = _ONE
    while value * tens < 10 ** (_SHOWN_DIGITS - 1):
        tens *= 10
    return -(-value * tens // 1) / tens
