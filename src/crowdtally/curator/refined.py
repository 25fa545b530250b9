"""The cells of a table that was released before, with less noise.

Contract: for counts of L1 bound L that are those of the earlier table, released with noise of scale
b = L/ε, this one adds ε to what the earlier cost: both together are 2ε-differentially private, as
this one is alone. Output law: independently for each cell, count + F, Pr[F = k] ∝ e^(−|k|·2ε/L);
the earlier values are these plus something that no count has to do with. The proof note is
``noise/refining.md``.

With Gaussian noise nothing is gained by refining: a second, independent draw at the same ρ costs
what it says, and the mean of both has the variance of one draw at 2ρ.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from crowdtally.core.counts import Counts
from crowdtally.core.integers import exact_sum, within_64_bits
from crowdtally.core.numbers import show
from crowdtally.core.privacy import Rho
from crowdtally.curator.table import Table
from crowdtally.errors import CrowdtallyError
from crowdtally.format import NoisyTable
from crowdtally.laws.gaussian import GaussianNoise
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.noise.draws import Draws

_ENDS = np.iinfo(np.int64)


def can_be_refined(before: NoisyTable) -> bool:
    """Whether its noise is still what was drawn: no value was held at an end of 64 bits."""
    values = before.values
    return bool(((values > _ENDS.min) & (values < _ENDS.max)).all())


@dataclass(frozen=True, eq=False)
class Refined(Table):
    """A table of cells that an earlier one has with more noise. Its ε is what it adds to that."""

    before: NoisyTable = field(kw_only=True)
    """The earlier one: dense, untransformed."""

    @property
    def law(self) -> DiscreteLaplace:
        """The law of its noise: half the scale of the earlier one's."""
        return DiscreteLaplace(self._scale_before / 2, self.unit)

    def publish(self, counts: Counts, draws: Draws) -> NoisyTable:
        """The table with its noise; it stops where it is not what was charged for.

        Args:
            counts: exact counts, the same that the earlier table was made of.
            draws: where the noise comes from.
        """
        self._check(counts)
        if self.l1_bound / self.epsilon.value != self._scale_before:
            raise self._wrong("noise of another scale")
        if self.before.values.shape != (counts.size,) or not can_be_refined(self.before):
            raise self._wrong("values that are not counts and noise")
        exact = counts.dense()
        noise = self.before.values.astype(object) - exact.astype(object)
        finer = draws.refine(noise, self._scale_before)
        values = within_64_bits(exact_sum(exact.astype(object), finer))
        facts = {
            "transform": self.transform.facts(),
            "epsilon": show(2 * self.epsilon.value),
            "sensitivity": self.l1_bound,
            "publishing": self.publishing.name,
        }
        return NoisyTable(self.name, self.layout, values, self.law, facts)

    @property
    def _scale_before(self) -> Fraction:
        law = self.before.law
        if not isinstance(law, DiscreteLaplace):
            raise self._wrong("noise that is not Laplace's")
        return law.scale

    def _wrong(self, received: str) -> CrowdtallyError:
        return CrowdtallyError(
            f"the table {self.name!r} refines {self.before.name!r}, which has {received}: this is "
            "a fault of the program, and nothing is released."
        )


@dataclass(frozen=True, eq=False)
class Averaged(Table):
    """The mean of an earlier table and of a second draw of the same counts. Its ρ is the second's.

    In units of half of the earlier one's, so that it is the sum of both. Δ² is then four times, and
    the variance twice as large: what is released is as good as one draw at 2ρ. The sum of two wide
    discrete Gaussians is discrete Gaussian but for less than any float can tell.
    """

    before: NoisyTable = field(kw_only=True)
    """The earlier one: dense, untransformed."""

    @property
    def law(self) -> GaussianNoise:
        """The law of its noise."""
        return GaussianNoise(2 * self._second.variance, self.unit / 2)

    @property
    def _second(self) -> GaussianNoise:
        """The law of the second draw."""
        return GaussianNoise(self.l2_squared / (2 * self.price.value), self.unit)

    def publish(self, counts: Counts, draws: Draws) -> NoisyTable:
        """The table with its noise; it stops where it is not what was charged for.

        Args:
            counts: exact counts, the same that the earlier table was made of.
            draws: where the noise comes from.
        """
        self._check(counts)
        if not isinstance(self.price, Rho) or self.before.law != self._second:
            raise self._wrong()
        if self.before.values.shape != (counts.size,):
            raise self._wrong()
        second = exact_sum(counts.dense(), self._second.draw(draws, counts.size))
        values = within_64_bits(exact_sum(self.before.values, second))
        facts = {
            "transform": self.transform.facts(),
            "rho": show(2 * self.price.value),
            "sensitivity": 2 * self.l1_bound,
            "sensitivity_squared": 4 * self.l2_squared,
            "publishing": self.publishing.name,
        }
        return NoisyTable(self.name, self.layout, values, self.law, facts)

    def _wrong(self) -> CrowdtallyError:
        return CrowdtallyError(
            f"the table {self.name!r} is the mean of {self.before.name!r} and of a second draw, "
            "and that has another noise or shape: this is a fault of the program, and nothing is "
            "released."
        )
