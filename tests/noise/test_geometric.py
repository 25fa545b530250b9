"""Geometric numbers: their digits one by one, and put together."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from crowdtally.errors import UsageError
from crowdtally.laws.balls import Rate, as_ball
from crowdtally.noise import geometric as module
from crowdtally.noise.geometric import (
    DigitLaw,
    Table,
    digit_laws,
    discrete_laplace,
    geometric,
    table,
)
from crowdtally.noise.source import system_words
from kit.draws import ONES, Scripted, Seeded
from kit.exact import ONE, ExactDigit, exp_neg

# ---- Whole geometric numbers: digits put together, extreme rates, dtypes, refusals ---------------


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


# ---- A digit against exact boundaries computed in plain integers, word by word -------------------


def case(rate: str, level: int, highest: bool) -> tuple[DigitLaw, ExactDigit]:
    x = Fraction(rate)
    law = DigitLaw(Rate.exact(x), level, highest)
    return law, exact(exp_neg(x * 256**level), highest)


def exact(alpha: tuple[int, int], highest: bool) -> ExactDigit:
    return ExactDigit(alpha, highest, 250)


def near_boundaries(table: Table) -> list[int]:
    """The words next to each boundary's range, both sides, and both ends of all words."""
    touched = [*table.below.tolist(), *table.above.tolist()]
    around = {word + step for word in touched for step in range(-3, 4)}
    return sorted(word for word in around | {0, 1, ONES - 1, ONES} if 0 <= word <= ONES)


CASES = [
    ("1/10", 0, False),
    ("1/10", 1, True),
    ("1/1000", 0, False),
    ("1/1000", 1, False),
    ("1/1000", 2, True),
    ("7/10", 0, True),
    ("69/100", 0, False),
    ("355/113", 0, True),
    ("1e-30", 0, False),
    ("5e-324", 3, False),
    ("179", 0, True),
    ("1e9", 0, True),
]


@pytest.mark.parametrize(("rate", "level", "highest"), CASES)
def test_each_word_near_a_boundary_gets_its_exact_digit(rate, level, highest):
    law, reference = case(rate, level, highest)
    table = Table(law)
    words = np.array(near_boundaries(table), dtype=np.uint64)
    digits, undecided = table.search(words)
    doubtful = set(undecided.tolist())
    for position, word in enumerate(words.tolist()):
        if position not in doubtful:
            assert digits[position] == reference.digit([word]), f"word {word}"
            continue
        for tail in ([0, 1], [2**63, 12345], [ONES, 99]):
            source = Scripted(*tail, 77, 88)
            digit = int(table.digits(words[position : position + 1], source)[0])
            assert digit == reference.digit([word, *tail, 77, 88]), f"word {word}, then {tail}"
    # The last word, and at most two words for a boundary.
    assert len(doubtful) <= 2 * table.below.size + 1


@pytest.mark.parametrize(("rate", "level", "highest"), CASES)
def test_guide_and_search_agree(rate, level, highest):
    table = Table(case(rate, level, highest)[0])
    grid = np.arange(0, 2**64, 2**46 - 12345, dtype=np.uint64)
    words = np.concatenate([grid, np.array(near_boundaries(table), dtype=np.uint64)])
    digits, undecided = table.search(words)
    sure = np.delete(np.arange(words.size), undecided)
    assert table.digits(words[sure], Scripted()).tolist() == digits[sure].tolist()


@pytest.mark.parametrize(("rate", "level", "highest"), CASES)
def test_tables_are_uint64_sorted_and_open(rate, level, highest):
    table = Table(case(rate, level, highest)[0])
    assert table.above.dtype == table.below.dtype == np.uint64
    assert table.guide.dtype == np.uint8
    assert (np.sort(table.above) == table.above).all()
    assert table.below.size == table.above.size + 1
    assert (table.below[:-1] <= table.above).all()
    assert table.search(np.array([ONES], dtype=np.uint64))[1].size == 1, "the tail is closed"


@pytest.mark.parametrize(("rate", "level", "highest"), CASES)
@pytest.mark.parametrize("width", [8, 12, 16])
def test_the_complete_law_of_short_words(rate, level, highest, width):
    """Every word of ``width`` bits: a decided one lies wholly in its digit, so masses never exceed.

    Decided words then give each digit at most its probability; what is missing is in undecided
    words, which touch a boundary, and those are resolved by extension (above).
    """
    law, reference = case(rate, level, highest)
    table = Table(law, width)
    words = np.arange(1 << width, dtype=np.uint64)
    digits, undecided = table.search(words)
    doubtful = np.zeros(words.size, dtype=bool)
    doubtful[undecided] = True
    unit = ONE >> width
    bounds = [0, *(low for low, _ in reference.boundaries), ONE]
    uppers = [0, *(high for _, high in reference.boundaries), ONE]
    for digit in np.unique(digits[~doubtful]).tolist():
        mine = words[(digits == digit) & ~doubtful].tolist()
        assert min(mine) * unit >= uppers[digit]
        assert (max(mine) + 1) * unit <= bounds[digit + 1]
        assert len(mine) == max(mine) - min(mine) + 1
    around = [low + step for low, _ in reference.boundaries for step in (-(ONE >> 120), ONE >> 120)]
    touched = {place // unit for place in around}
    assert set(undecided.tolist()) <= touched | {(1 << width) - 1}


def power_of_four() -> tuple[DigitLaw, ExactDigit]:
    """x = ln 4: b(k) = 1 − 4^−(k+1) is itself a word, and no precision tells on which side."""
    law = DigitLaw(Rate.of_probability(Fraction(3, 4)), 0, highest=True)
    return law, exact((ONE // 4, ONE // 4), True)


@pytest.mark.parametrize("k", [0, 1, 15, 31])
def test_a_boundary_that_is_a_word_waits_for_the_next_word(k):
    law, reference = power_of_four()
    table = Table(law)
    boundary = 2**64 - 4 ** (31 - k)
    for word, tail, digit in [
        (boundary, [0, 0, 0, 5], k + 1),
        (boundary, [1], k + 1),
        (boundary, [ONES, 0], k + 1 + (k == 31)),
        (boundary - 1, [ONES, ONES, 0], k),
        (boundary - 1, [0], k),
    ]:
        if word == ONES:
            continue
        source = Scripted(*tail, 1)
        drawn = int(table.digits(np.array([word], dtype=np.uint64), source)[0])
        assert drawn == digit == reference.digit([word, *tail])
        assert source.used >= 1, "an undecidable word was decided"


def test_a_boundary_that_is_nearly_a_word_of_a_bounded_digit():
    """x = ln 2: bounded on 0..255, T = 1 − 2^−256, b(k) = (1−2^−(k+1))/T just above a word."""
    table = Table(DigitLaw(Rate.of_probability(Fraction(1, 2)), 0, highest=False))
    reference = exact((ONE // 2, ONE // 2), False)
    for k in range(60):
        word = np.array([2**64 - 2 ** (63 - k)], dtype=np.uint64)
        for tail in ([0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0], [0, 0, 0, 2**63, 1, 7], [5, 0, 0]):
            digit = int(table.digits(word, Scripted(*tail, 9))[0])
            assert digit == reference.digit([*word.tolist(), *tail, 9])


@pytest.mark.parametrize("ones", [1, 2, 3, 5])
def test_all_ones_reach_beyond_the_table(ones):
    law, reference = case("1", 0, True)
    table = Table(law)
    script = [ONES] * ones + [15 << 60, 3, 4]
    digit = int(table.digits(np.array(script[:1], dtype=np.uint64), Scripted(*script[1:]))[0])
    assert digit == reference.digit(script)
    assert digit > table.above.size


def test_a_bounded_digit_ends_at_255():
    law, reference = case("1/1000", 0, False)
    source = Scripted(ONES, ONES)
    assert Table(law).digits(np.array([ONES], dtype=np.uint64), source)[0] == 255
    assert reference.digit([ONES, ONES]) == 255
    assert source.used == 0


def test_probabilities_of_the_reference_are_the_law():
    """The yardstick itself: ratios of neighbouring probabilities are e^(−y)."""
    _, reference = case("1/10", 0, False)
    chances = np.array([reference.probability(k) for k in range(256)])
    assert chances.sum() == pytest.approx(1, abs=1e-12)
    assert np.allclose(chances[1:] / chances[:-1], np.exp(-0.1), rtol=1e-12)
