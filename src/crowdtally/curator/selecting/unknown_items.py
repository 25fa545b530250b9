"""Items that no public list names: those that enough users have, under (ε, δ).

Contract. Relation: all records of one user added or removed. Precondition: each user kept at most l
*distinct* items and added 1 to each, so an item that only one user has counts exactly 1. Output
law: every item with a count gets discrete Laplace noise of scale l/ε, and it is released, with its
noisy count, where that is at least T. This is (ε, δ′)-differentially private with the exact
δ′ = 1 − (1 − α^(T−1)/(1+α))^l ≤ δ, α = e^(−ε/l). The proof is in ``unknown_items.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import floor

import numpy as np
from flint import arb
from numpy.typing import NDArray

from crowdtally.errors import UsageError
from crowdtally.laws.balls import as_ball, certified_ceiling, precision
from crowdtally.noise.draws import Draws
from crowdtally.values.epsilon import Delta, Epsilon
from crowdtally.values.integers import within_64_bits
from crowdtally.values.whole import is_whole

_LARGEST_LIMIT = 2**31
_SHOWN_DIGITS = 6
_SMALLEST_SHOWN = Fraction(1, 10**400)
"""A smaller δ′ is reported as this: rounded up, as any."""


@dataclass(frozen=True, eq=False)
class Discovered:
    """The items that passed; this much may be released."""

    places: NDArray[np.int64]
    """Which of the given items passed, ascending."""
    noisy: NDArray[np.int64]
    """Their noisy counts of distinct users, each at least the threshold."""


@dataclass(frozen=True)
class UnknownItems:
    """Every public parameter of the discovery.

    >>> rule = UnknownItems(limit=10, epsilon=Epsilon.of(1), delta=Delta.of("1e-6"))
    >>> rule.threshold, float(rule.actual_delta)
    (156, 9.74042e-07)
    """

    limit: int
    """l: the most distinct items that one user keeps."""
    epsilon: Epsilon
    """ε of the discovery, counts included."""
    delta: Delta
    """The δ that may not be exceeded, above 0."""

    def __post_init__(self) -> None:
        if not is_whole(self.limit) or not 1 <= self.limit <= _LARGEST_LIMIT:
            raise UsageError(
                f"the items kept per user must be a whole number between 1 and {_LARGEST_LIMIT}: "
                f"received {self.limit!r}."
            )
        if self.delta.value == 0:
            raise UsageError(
                "discovering items needs a delta above 0: without one, no item may appear that "
                "only one user has. Give --delta, or a public list of items (--items)."
            )

    @property
    def scale(self) -> Fraction:
        """Of the noise: l/ε."""
        return self.limit / self.epsilon.value

    @cached_property
    def threshold(self) -> int:
        """T = 1+⌈ln(δ(1+α)/l)/ln α⌉, at least 1: the least with l·Pr[1+X ≥ T] ≤ δ, certified.

        The quotient is never an integer (α is transcendental), so some precision decides.
        """

        def steps() -> arb:
            share = self.limit / (as_ball(self.delta.value) * (1 + self._alpha()))
            return as_ball(self.scale) * share.log()

        return 1 + max(certified_ceiling(steps), 0)

    @cached_property
    def actual_delta(self) -> Fraction:
        """δ′ = 1 − (1 − α^(T−1)/(1+α))^l, rounded up to a short decimal, never above δ."""
        with precision(256):
            alone = (-as_ball((self.threshold - 1) / self.scale)).exp() / (1 + self._alpha())
            exact = -(self.limit * (-alone).log1p()).expm1()
            # With ε = 10^20 its decimal begins with 10^19 zeros.
            if exact.upper() <= as_ball(_SMALLEST_SHOWN):
                return min(_SMALLEST_SHOWN, self.delta.value)
            digits = _SHOWN_DIGITS - 1 - floor(float(exact.log() / arb(10).log()))
            tens = Fraction(10) ** digits
            above = Fraction(int((exact * as_ball(tens)).upper().ceil().unique_fmpz())) / tens
        return min(above, self.delta.value)

    def select(self, counts: NDArray[np.int64], draws: Draws) -> Discovered:
        """The items whose count plus noise reaches the threshold.

        Args:
            counts: distinct users of each discovered item, in an order that the items' own values
                fix (sorted), never the order of discovery. An item that nobody kept is as if it
                did not exist: no noise may make it appear.
            draws: where the noise comes from.
        """
        present = np.flatnonzero(counts > 0)
        # Python's integers: a sum that is held within 64 bits afterwards is post-processing, noise
        # held within 64 bits before it is not.
        noisy = counts[present].astype(object) + draws.laplace(self.scale, len(present))
        passing = np.flatnonzero(noisy >= self.threshold)
        return Discovered(present[passing], within_64_bits(noisy[passing]))

    def other(
        self, counts: NDArray[np.int64], released: Discovered, epsilon: Epsilon, draws: Draws
    ) -> int:
        """The mass of all items that were not released: one more count, for ``epsilon`` more.

        Given what is released, one user changes it by at most l. Law: the exact mass plus discrete
        Laplace noise of scale l/ε. Adaptive composition adds ``epsilon`` to the cost.
        """
        below = int(counts.sum()) - int(counts[released.places].sum())
        return below + int(draws.laplace(self.limit / epsilon.value, 1)[0])

    def _alpha(self) -> arb:
        return (-1 / as_ball(self.scale)).exp()
