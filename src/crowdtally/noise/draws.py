"""All that is drawn, behind one object.

Code that needs noise receives a :class:`Draws`: in a release :class:`SystemDraws`. A test may
replace single primitives, for instance ``geometric`` by an enumeration of its values.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Protocol

from numpy.typing import NDArray

from crowdtally.core.counts import Sides
from crowdtally.laws.balls import Probability, Rate
from crowdtally.noise import bernoulli as coins
from crowdtally.noise.exponential import Multiplicities, Scores, choose, choose_among, interval
from crowdtally.noise.gaussian import discrete_gaussian, gaussian_beyond
from crowdtally.noise.geometric import Integers, difference, geometric
from crowdtally.noise.skip import hits
from crowdtally.noise.source import WordSource, system_words, uniforms_below


class Draws(Protocol):
    """Each method states its law. All draws are independent."""

    def geometric(self, rate: Rate | Fraction, size: int) -> Integers:
        """Returns integers distributed as Pr[G=k] ∝ e^(−rate·k), k ≥ 0."""

    def laplace(self, scale: Fraction, size: int) -> Integers:
        """Returns integers distributed as Pr[X=k] ∝ e^(−|k|/scale): G − G′ of ``geometric``.

        Up to 2^16 at a time; each time ``geometric`` is called twice, first for G, then for G′.
        """
        return difference(self.geometric, scale, size)

    def interval(self, rate: Fraction, size: int) -> Integers:
        """Returns integers z distributed together as Pr[z] ∝ e^(−rate·(max z⁺ + max z⁻)).

        One call of ``choose_among``, then of ``geometric``, then of ``uniforms_below``.
        """
        return interval(self.geometric, self.choose_among, self.uniforms_below, rate, size)

    def gaussian(self, variance: Fraction, size: int) -> Integers:
        """Returns integers distributed as Pr[Z=k] ∝ e^(−k²/(2·variance))."""

    def gaussian_beyond(self, variance: Fraction, least: int, sides: Sides, size: int) -> Integers:
        """Returns integers of the law of ``gaussian`` given |Z| ≥ least, one-sided Z ≥ least."""

    def bernoulli(self, p: Probability, size: int) -> coins.Coins:
        """Returns coins that are True with probability ``p``."""

    def bernoulli_each(self, numerators: NDArray[Any], denominators: NDArray[Any]) -> coins.Coins:
        """Returns coins, the i-th True with probability numerators[i]/denominators[i]."""

    def hits(self, p: Probability, cells: int) -> Integers:
        """Returns, sorted, the cells of 0..cells−1, each included with probability ``p``."""

    def choose(self, scores: Scores, rate: Fraction) -> int:
        """Returns an index distributed as Pr[i] ∝ exp(rate·scores[i])."""

    def choose_among(self, scores: Scores, multiplicities: Multiplicities, rate: Fraction) -> int:
        """Returns an index distributed as Pr[i] ∝ multiplicities[i]·exp(rate·scores[i])."""

    def uniforms_below(self, bounds: NDArray[Any]) -> NDArray[Any]:
        """Returns integers, the i-th distributed uniformly on 0..bounds[i]−1."""


class SystemDraws(Draws):
    """The exact samplers over one source of words: the process's own unless another is given."""

    def __init__(self, source: WordSource | None = None) -> None:
        self._source: WordSource = system_words() if source is None else source

    def geometric(self, rate: Rate | Fraction, size: int) -> Integers:
        return geometric(rate, size, self._source)

    def gaussian(self, variance: Fraction, size: int) -> Integers:
        return discrete_gaussian(variance, size, self._source)

    def gaussian_beyond(self, variance: Fraction, least: int, sides: Sides, size: int) -> Integers:
        return gaussian_beyond(variance, least, sides, size, self._source)

    def bernoulli(self, p: Probability, size: int) -> coins.Coins:
        return coins.bernoulli(p, size, self._source)

    def bernoulli_each(self, numerators: NDArray[Any], denominators: NDArray[Any]) -> coins.Coins:
        return coins.bernoulli_each(numerators, denominators, self._source)

    def hits(self, p: Probability, cells: int) -> Integers:
        return hits(p, cells, self._source)

    def choose(self, scores: Scores, rate: Fraction) -> int:
        return choose(scores, rate, self._source)

    def choose_among(self, scores: Scores, multiplicities: Multiplicities, rate: Fraction) -> int:
        return choose_among(scores, multiplicities, rate, self._source)

    def uniforms_below(self, bounds: NDArray[Any]) -> NDArray[Any]:
        return uniforms_below(bounds, self._source)
