"""Empty cells of a domain of any size, drawn as if each had been given noise. See empty.md."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from flint import arb
from numpy.typing import NDArray

from crowdtally.core.counts import Counts, Keeping
from crowdtally.core.numbers import Integers, exact_product, exact_sum, positions, repeated
from crowdtally.laws.balls import Probability, Real, as_ball
from crowdtally.laws.base import CellNoise
from crowdtally.laws.gaussian import GaussianNoise
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.noise.draws import Draws


def inclusion_probability(law: CellNoise, keeping: Keeping) -> Probability:
    """The exact probability that an empty cell is kept, as ever smaller balls around it."""
    if keeping.keeps_all:
        return Fraction(1)
    return Real.ball(("inclusion", law, keeping), lambda bits: law.inclusion(keeping))


def empty_cells(counts: Counts, law: CellNoise, keeping: Keeping, draws: Draws) -> Integers:
    """Returns, sorted, the kept ones among the cells that are not listed.

    Each is kept independently with exactly the probability above. Skip sampling runs over *all*
    cells, and hits on listed ones are discarded: the others are as if these did not exist.
    """
    hits = draws.hits(inclusion_probability(law, keeping), counts.size)
    _, listed = positions(counts.cells, hits)
    return hits[~listed]


def empty_values(size: int, law: CellNoise, keeping: Keeping, draws: Draws) -> Integers:
    """Returns ``size`` values distributed as the noise of an empty cell, given that it is kept."""
    if keeping.keeps_all:
        return law.draw(draws, size)
    if isinstance(law, DiscreteLaplace):
        return _laplace_values(size, law.scale, keeping, draws)
    if isinstance(law, GaussianNoise) and not keeping.samples:
        return draws.gaussian_beyond(law.variance, keeping.least, keeping.sides, size)
    raise TypeError(f"no empty cells are drawn with {law.kind} noise by this rule")


def _laplace_values(size: int, scale: Fraction, keeping: Keeping, draws: Draws) -> Integers:
    """Pr[v] ∝ α^|v|·min(w/τ, 1) on the weights w ≥ κ, with both signs or the positive one."""
    if keeping.samples and keeping.threshold is not None:
        weights = _accepted(size, _proposal(scale, keeping.least, keeping.threshold, draws))
    else:
        weights = exact_sum(draws.geometric(1 / scale, size), keeping.least)
    if keeping.sides == "two":
        # No weight is 0 here: a random sign would make a 0 twice as likely as it is.
        return np.where(draws.bernoulli(Fraction(1, 2), size), weights, -weights)
    return weights


Proposal = Callable[[int], tuple[Integers, NDArray[np.bool_]]]
"""From a number n: n proposed weights, and which of them are accepted."""


def _accepted(size: int, propose: Proposal) -> Integers:
    """Returns ``size`` weights, each the first accepted one of its own proposals."""
    weights: Integers = np.empty(size, dtype=np.int64)
    pending = np.arange(size)
    while pending.size:
        proposed, accepted = propose(pending.size)
        if proposed.dtype == object:
            weights = weights.astype(object, copy=False)
        weights[pending[accepted]] = proposed[accepted]
        pending = pending[~accepted]
    return weights


def _proposal(scale: Fraction, least: int, threshold: Fraction, draws: Draws) -> Proposal:
    """Of two proposals for one law, the one that is accepted more often: by public numbers.

    Their acceptances are as 1/E[ν] to 1/τ, E[ν] ≈ least + scale being the mean of the second; so
    the better one is accepted more than half of the time.
    """
    above, below = threshold.numerator, threshold.denominator

    def rising(size: int) -> tuple[Integers, NDArray[np.bool_]]:
        """ν ∝ ν·α^ν, accepted with min(1, τ/ν)."""
        weights = _rising(size, scale, least, draws)
        return weights, _coins(above, exact_product(weights, below), draws)

    def falling(size: int) -> tuple[Integers, NDArray[np.bool_]]:
        """ν ∝ α^ν, accepted with min(1, ν/τ)."""
        weights = exact_sum(draws.geometric(1 / scale, size), least)
        return weights, kept_by_chance(weights, threshold, draws)

    return rising if threshold >= least + scale else falling


def _rising(size: int, scale: Fraction, least: int, draws: Draws) -> Integers:
    """Returns ν ≥ least ≥ 1 with Pr ∝ ν·α^ν: least + G, or least + 1 + G + G′.

    (least + j)·α^j = least·α^j + j·α^j: two laws, with masses in the ratio least·(1−α) : α.
    """
    first = Real.ball(("first of two", scale, least), lambda bits: _first_share(scale, least))
    weights = exact_sum(draws.geometric(1 / scale, size), least)
    second = np.flatnonzero(~draws.bernoulli(first, size))
    more = exact_sum(draws.geometric(1 / scale, second.size), 1)
    added = np.zeros(size, dtype=more.dtype)
    added[second] = more
    return exact_sum(weights, added)


def _first_share(scale: Fraction, least: int) -> arb:
    rate = as_ball(1 / scale)
    first = least * -(-rate).expm1()
    return first / (first + (-rate).exp())


def kept_by_chance(weights: Integers, threshold: Fraction, draws: Draws) -> NDArray[np.bool_]:
    """Returns coins, each True with probability exactly min(w/τ, 1), for weights w ≥ 0."""
    above, below = threshold.numerator, threshold.denominator
    coins = np.asarray(weights >= -(-above // below), dtype=np.bool_)
    doubtful = np.flatnonzero(~coins)
    against = repeated(above, doubtful.size)
    # A doubtful w is below τ, so w·below is less than above: it fits where that does.
    numerators = exact_product(weights[doubtful], below).astype(against.dtype)
    coins[doubtful] = draws.bernoulli_each(numerators, against)
    return coins


def _coins(numerator: int, denominators: Integers, draws: Draws) -> NDArray[np.bool_]:
    """Returns coins, the i-th True with probability exactly min(1, numerator/denominators[i])."""
    coins = np.asarray(denominators <= numerator, dtype=np.bool_)
    doubtful = np.flatnonzero(~coins)
    against = denominators[doubtful]
    # A doubtful denominator is above the numerator: where one fits 64 bits, so does the other.
    numerators = repeated(numerator, against.size).astype(against.dtype)
    coins[doubtful] = draws.bernoulli_each(numerators, against)
    return coins
