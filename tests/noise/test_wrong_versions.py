"""Deliberately wrong samplers: each must be rejected by a check that the right one passes.

What statistics cannot see (events of probability 2^−64) is seen by scripted words.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from crowdtally.laws.balls import Rate
from crowdtally.noise import exponential as choosing
from crowdtally.noise.exponential import choose
from crowdtally.noise.geometric import DigitLaw, Table, discrete_laplace, geometric
from crowdtally.noise.source import Uniform, system_words
from kit.draws import ONES, Scripted
from kit.sampler_checks import digits_are_exact, fits, histogram, laplace_law

RATE = Fraction(1, 10)
LOW = DigitLaw(Rate.exact(RATE), 0, highest=False)
HIGH = DigitLaw(Rate.exact(RATE), 1, highest=True)


class ClosedTail(Table):
    """The largest digit of the table takes the whole tail: larger ones become impossible."""

    def digits(self, words, source):
        return self.search(words)[0]


class Redraw(Table):
    """An undecided word is thrown away and another one drawn."""

    def digits(self, words, source):
        while self.search(words)[1].size:
            words = source.words(words.size)
        return self.search(words)[0]


class FloatBoundaries(Table):
    """The distribution function in floats: wrong in its last 11 bits."""

    def __init__(self, law):
        super().__init__(law)
        y = float(law.rate.enclose(64)) * 256**law.level
        total = 1.0 if law.highest else -math.expm1(-256 * y)
        cdf = [-math.expm1(-y * (k + 1)) / total for k in range(self.above.size)]
        self.above = np.array([min(int(b * 2.0**64), ONES) for b in cdf], dtype=np.uint64)
        self.below = np.append(self.above, np.uint64(ONES))


class FloatComparison(Table):
    """int64 beside uint64: numpy compares floats of 53 bits."""

    def search(self, words):
        digits = np.searchsorted(self.above.astype(float), words.astype(float), side="right")
        return digits, np.flatnonzero(words.astype(float) >= self.below.astype(float)[digits])

    def digits(self, words, source):
        digits, undecided = self.search(words)
        for i in undecided.tolist():
            digits[i] = self.law.settle(Uniform(int(words[i]), 64), source)
        return digits


class FloatRate(Table):
    """The rate 0.1 as a float is another rate."""

    def __init__(self, law):
        super().__init__(DigitLaw(Rate.exact(Fraction(float(RATE))), law.level, law.highest))


class ForeignSuffix(Table):
    """The further words decide alone: the first word is forgotten."""

    def digits(self, words, source):
        digits, undecided = self.search(words)
        for i in undecided.tolist():
            digits[i] = self.law.settle(Uniform(int(source.words(1)[0]), 64), source)
        return digits


@pytest.mark.parametrize("law", [LOW, HIGH])
def test_the_table_passes(law):
    assert digits_are_exact(Table(law), RATE)


@pytest.mark.parametrize(
    ("mutant", "law"),
    [
        (ClosedTail, HIGH),
        (Redraw, HIGH),
        (Redraw, LOW),
        (FloatBoundaries, LOW),
        (FloatComparison, LOW),
        (FloatRate, LOW),
        (ForeignSuffix, HIGH),
        (ForeignSuffix, LOW),
    ],
)
def test_wrong_tables_are_rejected(mutant, law):
    assert not digits_are_exact(mutant(law), RATE)


def passes(draw) -> bool:
    """10^6 draws at scale 1 and at scale 10."""
    for scale in (Fraction(1), Fraction(10)):
        counts = histogram(lambda n, scale=scale: draw(scale, n), 10**6, 2001, two_sided=True)
        if not all(verdict.fits for verdict in fits(counts, laplace_law(float(1 / scale), 2001))):
            return False
    return True


def scale_used_as_a_rate(scale, n):
    return discrete_laplace(1 / scale, n, system_words())


def sign_times_magnitude(scale, n):
    """Zero gets twice its probability."""
    signs = (system_words().words(n) & np.uint64(2)).astype(np.int64) - 1
    return signs * geometric(1 / scale, n, system_words())


def one_sided(scale, n):
    return geometric(1 / scale, n, system_words()) - int(scale)


def rounded_float(scale, n):
    """A continuous Laplace number, rounded: nearly the law, and not it."""
    uniform = (system_words().words(2 * n) >> np.uint64(11)).astype(float) * 2.0**-53
    difference = np.diff(np.log1p(-uniform).reshape(2, n), axis=0)[0]
    return np.rint(float(scale) * difference).astype(np.int64)


def clipped(scale, n):
    """Cut at five scales, as if more could not happen."""
    return np.clip(discrete_laplace(scale, n, system_words()), -5 * int(scale), 5 * int(scale))


def test_laplace_passes():
    assert passes(lambda scale, n: discrete_laplace(scale, n, system_words()))


@pytest.mark.parametrize(
    "mutant", [scale_used_as_a_rate, sign_times_magnitude, one_sided, rounded_float, clipped]
)
def test_wrong_laplace_is_rejected(mutant):
    assert not passes(mutant)


def chooses_the_negligible() -> bool:
    return choose([0, -100], Fraction(1), Scripted(ONES, ONES, ONES, 5)) == 1


def test_a_choice_that_drops_negligible_candidates_is_rejected(monkeypatch):
    assert chooses_the_negligible()
    place = choosing._place

    def pruned(exponents, counts, source):
        kept = [i for i, e in enumerate(exponents) if e > -40]
        return place([exponents[i] for i in kept], [counts[i] for i in kept], source)

    monkeypatch.setattr(choosing, "_place", pruned)
    assert not chooses_the_negligible()
