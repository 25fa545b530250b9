"""The lazily extended uniform, and integers below n."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from crowdtally.errors import UsageError
from crowdtally.noise.source import Uniform, system_words, uniform_below, uniforms_below
from kit.chisquare import goodness
from kit.words import ONES, Scripted


def test_extending_keeps_the_number():
    uniform, source = Uniform(), Scripted(3, ONES, 0)
    before = uniform.interval()
    for _ in range(3):
        uniform.extend(source)
        low, high = uniform.interval()
        assert before[0] <= low < high <= before[1]
        before = (low, high)
    assert low == Fraction(3, 2**64) + Fraction(ONES, 2**128)
    assert high - low == Fraction(1, 2**192)


def test_the_ends_as_balls_are_the_ends():
    uniform = Uniform(2**300 + 1, 320)
    for end, exact in zip(uniform.ends(), uniform.interval(), strict=True):
        assert end.is_exact()
        assert Fraction(*map(int, (end.fmpq().p, end.fmpq().q))) == exact


def test_every_small_n_is_uniform_over_its_words():
    """All words of 3 bits: each kept value has exactly one, the others are rejected."""
    for n in range(1, 9):
        bits = (n - 1).bit_length()
        kept = Counter()
        for word in range(2**bits):
            source = Scripted(word, 0)
            value = uniform_below(n, source)
            if source.used <= 1:
                kept[value] += 1
        assert kept == Counter(range(n))


def test_n_of_one_needs_no_word():
    assert uniform_below(1, Scripted()) == 0


def test_big_n_uses_all_its_words():
    n = 2**100
    assert uniform_below(n, Scripted(ONES, ONES)) == n - 1
    assert uniform_below(n - 1, Scripted(ONES, ONES, 1, 5)) == 2**64 + 5  # n−1 itself is rejected
    assert 0 <= uniform_below(10**400, system_words()) < 10**400


@pytest.mark.parametrize("n", [0, -3])
def test_nothing_to_choose_from(n):
    with pytest.raises(UsageError):
        uniform_below(n, Scripted())
    with pytest.raises(UsageError):
        uniforms_below(np.array([2, n]), Scripted())


def test_arrays_follow_each_their_own_bound():
    bounds = np.tile(np.array([1, 2, 3, 5, 2**63 - 1]), 40_000)
    drawn = uniforms_below(bounds, system_words()).reshape(-1, 5)
    assert drawn.dtype == np.uint64
    for column, n in enumerate((1, 2, 3, 5)):
        counts = np.bincount(drawn[:, column].astype(np.int64), minlength=n)
        verdict = goodness(counts, np.full(n, 1 / n))
        assert verdict.fits, f"below {n}: {verdict}"
    eighths = (drawn[:, 4] >> np.uint64(60)).astype(np.int64)
    assert goodness(np.bincount(eighths, minlength=8), np.full(8, 1 / 8)).fits


def test_bounds_up_to_the_last_word():
    top = np.array([2**64 - 1, 2**63, 2**63 + 1], dtype=np.uint64)
    values = uniforms_below(top, Scripted(ONES, ONES, 2**63, 7))
    assert values.tolist() == [7, 2**63 - 1, 2**63]


def test_object_bounds_are_python_integers():
    values = uniforms_below(np.array([10**30, 1], dtype=object), system_words())
    assert all(type(value) is int for value in values)
    assert values[1] == 0
    with pytest.raises(UsageError):
        uniforms_below(np.array([2.0]), Scripted())
