"""Coins: exact thresholds, forced undecided words, both ends."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from crowdtally.errors import UsageError
from crowdtally.laws.balls import Real, as_ball
from crowdtally.noise.bernoulli import bernoulli, bernoulli_each
from crowdtally.noise.source import system_words
from kit.draws import ONES, Scripted
from kit.exact import PLACES, exp_neg
from kit.sampler_checks import SIGNIFICANCE


def exp_real(y: Fraction) -> Real:
    return Real.ball(("e^-", y), lambda bits: (-as_ball(y)).exp())


def third() -> Real:
    """1/3 as balls only: no ball function says that it is rational."""
    return Real.ball("third", lambda bits: as_ball(Fraction(1, 3)))


def half() -> Real:
    """1/2 by balls that never become exact: a word 2^63 is never decided by one word."""
    return Real.ball("half", lambda bits: (as_ball(2).sqrt() / 2) ** 2)


@pytest.mark.parametrize(
    "p", [Fraction(1, 2), Fraction(1, 3), Fraction(10**30, 3 * 10**30 + 1), Fraction(999, 1000)]
)
def test_rational_coins(p):
    size = 10_000 if p.denominator > 2**64 else 10**6
    heads = int(bernoulli(p, size, system_words()).sum())
    assert stats.binomtest(heads, size, float(p)).pvalue > SIGNIFICANCE, f"{heads} of {size}"


@pytest.mark.parametrize("y", [Fraction(1, 100), Fraction(1), Fraction(7)])
def test_real_coins(y):
    heads = int(bernoulli(exp_real(y), 10**6, system_words()).sum())
    p = float(np.exp(-float(y)))
    assert stats.binomtest(heads, 10**6, p).pvalue > SIGNIFICANCE, f"{heads}, expected {p * 1e6}"


def test_every_value_of_a_small_denominator_once():
    """All 3-bit words: of the 7 kept values exactly 3 are heads."""
    coins = bernoulli(Fraction(3, 7), 7, Scripted(*range(7)))
    assert coins.tolist() == [True] * 3 + [False] * 4
    assert bernoulli(Fraction(3, 7), 1, Scripted(7, 2)).tolist() == [True]  # 7 is rejected


@pytest.mark.parametrize("y", [Fraction(1, 100), Fraction(1), Fraction(7), Fraction(40)])
def test_real_coins_next_to_the_threshold(y):
    low, high = exp_neg(y)
    word = low >> (PLACES - 64)
    for step in (-2, -1, 1, 2):
        if 0 <= word + step <= ONES:
            assert bernoulli(exp_real(y), 1, Scripted(word + step)).tolist() == [step < 0]
    second = (low >> (PLACES - 128)) & ONES
    for step in (-1, 1):
        script = Scripted(word, second + step)
        assert bernoulli(exp_real(y), 1, script).tolist() == [step < 0]
        assert script.used == 2
    assert high - low < 1 << 100


def test_undecided_coins_keep_their_word():
    for words, coin in [
        ([2**63, 0, 0, 1], False),
        ([2**63 - 1, ONES, ONES, 0], True),
        ([2**63 - 1, 0], True),
        ([2**63, ONES], False),
    ]:
        source = Scripted(*words)
        assert bernoulli(half(), 1, source).tolist() == [coin]
        assert source.used == len(words)


def test_repeating_thirds():
    """1/3 is 0.5555… in hexadecimal: its own words leave the coin open, however many."""
    word = ONES // 3
    assert bernoulli(third(), 1, Scripted(*[word] * 5, 0)).tolist() == [True]
    assert bernoulli(third(), 1, Scripted(*[word] * 5, ONES)).tolist() == [False]


def test_a_probability_within_a_word_of_one_or_zero():
    near_one = Real.ball("1-2^-100", lambda bits: 1 - as_ball(Fraction(1, 2**100)))
    near_zero = Real.ball("2^-100", lambda bits: as_ball(Fraction(1, 2**100)))
    assert bernoulli(near_one, 2, Scripted(ONES - 1, 0)).all()
    assert bernoulli(near_one, 1, Scripted(ONES, 0)).all()
    assert not bernoulli(near_one, 1, Scripted(ONES, ONES)).any()
    assert not bernoulli(near_zero, 2, Scripted(ONES, 1)).any()
    assert bernoulli(near_zero, 1, Scripted(0, 0)).all()
    assert not bernoulli(near_zero, 1, Scripted(0, 2**63)).any()


def test_a_probability_that_a_ball_does_not_tell_from_one():
    nearest = Real.ball("1-2^-300", lambda bits: 1 / (1 + as_ball(Fraction(1, 2**300))))
    assert bernoulli(nearest, 1, Scripted(0)).all()
    assert bernoulli(nearest, 1, Scripted(*[ONES] * 4, 0)).all()
    assert not bernoulli(nearest, 1, Scripted(*[ONES] * 8)).any()


def test_certain_coins():
    for one in (Fraction(1), Real.exact(1)):
        assert bernoulli(one, 1000, system_words()).all()
    for zero in (Fraction(0), Real.exact(0)):
        assert not bernoulli(zero, 1000, system_words()).any()


@pytest.mark.parametrize("p", [Fraction(-1, 2), Fraction(3, 2), 0.5, Real.exact(2), Real.exact(-1)])
def test_what_is_no_probability_is_refused(p):
    with pytest.raises(UsageError):
        bernoulli(p, 1, Scripted())


def test_each_coin_has_its_own_probability():
    n = 60_000
    numerators = np.tile(np.array([0, 1, 2, 3, 2**62]), n)
    denominators = np.tile(np.array([9, 2, 7, 3, 2**63 - 1]), n)
    heads = bernoulli_each(numerators, denominators, system_words()).reshape(n, 5).sum(axis=0)
    assert heads[0] == 0
    assert heads[3] == n
    for k, p in ((1, 1 / 2), (2, 2 / 7), (4, 1 / 2)):
        assert stats.binomtest(int(heads[k]), n, p).pvalue > SIGNIFICANCE


def test_each_coin_is_compared_as_integers():
    """2^63−1 and 2^63 are one float: a comparison through floats would toss the other coin."""
    bound = np.array([2**63 + 1] * 2, dtype=np.uint64)
    first = np.array([2**63, 2**63 - 1], dtype=np.uint64)
    assert bernoulli_each(first, bound, Scripted(2**63 - 1, 2**63 - 1)).tolist() == [True, False]


def test_each_coin_with_python_integers():
    numerators = np.array([10**30, 0], dtype=object)
    denominators = np.array([10**30, 10**30], dtype=object)
    assert bernoulli_each(numerators, denominators, system_words()).tolist() == [True, False]


@pytest.mark.parametrize(
    ("numerators", "denominators"), [([-1], [2]), ([3], [2]), ([0], [0]), ([0.5], [1.0])]
)
def test_each_coin_must_be_a_probability(numerators, denominators):
    with pytest.raises(UsageError):
        bernoulli_each(np.array(numerators), np.array(denominators), Scripted())
