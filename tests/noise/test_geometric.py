"""Whole geometric numbers: digits put together, extreme rates, dtypes, refusals."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from crowdtally.errors import UsageError
from crowdtally.laws.balls import Rate, as_ball
from crowdtally.noise import geometric as module
from crowdtally.noise.geometric import digit_laws, discrete_laplace, geometric, table
from crowdtally.noise.source import system_words
from kit.exactly import ExactDigit, exp_neg
from kit.words import ONES, Scripted, Seeded


@cache
def exact_digit(rate: Fraction, highest: bool) -> ExactDigit:
    return ExactDigit(exp_neg(rate), highest, 250)


def reference(rate: Fraction, words: list[list[int]]) -> int:
    """The number whose digits, lowest first, have these words."""
    value = 0
    for level, (law, script) in enumerate(zip(digit_laws(Rate.exact(rate)), words, strict=True)):
        digit = exact_digit(rate * 256**level, law.highest).digit(script)
        assert digit is not None
        value += digit * 256**level
    return value


@pytest.mark.parametrize("rate", ["1/10", "1/1000", "1e-6", "3", "1e-12"])
def test_scripted_words_become_the_exact_number(rate):
    x = Fraction(rate)
    words = Seeded(7)
    levels = len(digit_laws(Rate.exact(x)))
    for _ in range(20):
        script = words.words(levels).tolist()
        assert geometric(x, 1, Scripted(*script))[0] == reference(x, [[w] for w in script])


def test_words_go_digit_by_digit():
    x = Fraction(1, 10)
    low, high = [5, 2**63, ONES - 1], [0, 2**63, 2**64 - 2**20]
    drawn = geometric(x, 3, Scripted(*low, *high))
    assert drawn.tolist() == [reference(x, [[a], [b]]) for a, b in zip(low, high, strict=True)]


def test_a_tail_word_extends_its_own_number_only():
    x = Fraction(1, 10)
    script = Scripted(0, 2**63, ONES, 0, ONES, 2**63)  # two low words, two high, two more for one
    drawn = geometric(x, 2, script)
    assert drawn.tolist() == [
        reference(x, [[0], [ONES, ONES, 2**63]]),
        reference(x, [[2**63], [0]]),
    ]
    assert drawn[0] >= 256
    assert script.used == 6


@pytest.mark.parametrize("ones", [1, 22])
def test_numbers_beyond_int64_are_python_integers(ones):
    """At rate 1e-16 the highest digit counts 256^7: from 128 on, int64 does not hold it."""
    x = Fraction(1, 10**16)
    assert len(digit_laws(Rate.exact(x))) == 8
    tail = [ONES] * ones + [1, 2]
    drawn = geometric(x, 1, Scripted(*[9] * 7, *tail))
    assert drawn[0] == reference(x, [[9]] * 7 + [tail])
    assert drawn.dtype == (np.int64 if ones == 1 else object)
    assert (drawn[0] > 2**63) == (ones == 22)


def test_one_big_number_among_blocks_makes_them_all_python_integers(monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 1)
    small, big = [9] * 8, [9] * 7 + [ONES] * 22 + [1, 2]
    drawn = geometric(Fraction(1, 10**16), 3, Scripted(*small, *big, *small))
    assert drawn.dtype == object
    assert all(type(value) is int for value in drawn)
    assert drawn[0] == drawn[2] < 2**63 < drawn[1]


@pytest.mark.parametrize("rate", [Fraction(5e-324), Fraction(1, 10**30)])
def test_tiny_rates(rate):
    drawn = geometric(rate, 50, system_words())
    assert drawn.dtype == object
    assert all(type(value) is int and value >= 0 for value in drawn)
    scaled = [float(value * rate) for value in drawn]  # nearly exponential
    assert 0.2 < sum(scaled) / 50 < 3
    assert len({value % 256 for value in drawn}) > 20


@pytest.mark.parametrize("rate", [Fraction(10) ** 308, Fraction(10) ** 30, Fraction(800)])
def test_huge_rates(rate):
    drawn = geometric(rate, 100_000, system_words())
    assert drawn.dtype == np.int64
    assert not drawn.any()
    assert geometric(rate, 1, Scripted(ONES, ONES, 5)).tolist() == [0]


def test_a_huge_rate_still_has_a_tail():
    """e^(−800) is 2^−1154: after 19 words of ones a 1 is possible, and is returned."""
    script = [ONES] * 19 + [3, 4]
    assert geometric(Fraction(800), 1, Scripted(*script)).tolist() == [1]


def test_an_irrational_rate_by_balls():
    root = Rate.ball("sqrt(2)/10", lambda bits: as_ball(2).sqrt() / 10)
    drawn = geometric(root, 400_000, system_words())
    mean = 1 / math.expm1(math.sqrt(2) / 10)
    assert abs(drawn.mean() - mean) < 6 * math.sqrt(mean * (mean + 1) / 400_000)


def test_tables_are_built_once_for_each_exact_rate():
    laws = digit_laws(Rate.exact(Fraction(1, 10)))
    assert table(laws[0]) is table(digit_laws(Rate.exact(Fraction(10, 100)))[0])
    assert table(laws[0]) is not table(digit_laws(Rate.exact(Fraction(0.1)))[0])


def test_only_the_highest_digit_is_unbounded():
    for rate in (Fraction(5e-324), Fraction(1, 10), Fraction(7, 10), Fraction(10**9)):
        laws = digit_laws(Rate.exact(rate))
        assert [law.highest for law in laws] == [False] * (len(laws) - 1) + [True]
        assert rate * 256 ** (len(laws) - 1) >= Fraction(7, 10)


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_537])
def test_sizes(size):
    assert geometric(Fraction(1, 10), size, system_words()).size == size
    assert discrete_laplace(Fraction(10), size, system_words()).size == size


@pytest.mark.parametrize("rate", [Fraction(0), Fraction(-1), 0.1, "0.1"])
def test_wrong_rates_are_refused(rate):
    with pytest.raises(UsageError):
        geometric(rate, 1, Scripted())


@pytest.mark.parametrize("size", [-1, 1.0, True, None])
def test_wrong_sizes_are_refused(size):
    with pytest.raises(UsageError):
        geometric(Fraction(1), size, Scripted())


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1), 10.0, "10"])
def test_wrong_scales_are_refused(scale):
    with pytest.raises(UsageError):
        discrete_laplace(scale, 1, Scripted())


def test_laplace_is_the_first_number_minus_the_second():
    first, second = Seeded(1).words(6), Seeded(2).words(6)
    x = Fraction(1, 10)
    drawn = discrete_laplace(1 / x, 3, Scripted(*first.tolist(), *second.tolist()))
    expected = geometric(x, 3, Scripted(*first.tolist())) - geometric(
        x, 3, Scripted(*second.tolist())
    )
    assert drawn.tolist() == expected.tolist()


def test_laplace_of_an_extreme_scale():
    drawn = discrete_laplace(Fraction(10) ** 40, 200, system_words())
    assert drawn.dtype == object
    assert min(drawn) < 0 < max(drawn)
    assert max(map(abs, drawn)) > 10**39
