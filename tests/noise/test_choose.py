"""The exponential mechanism: exact weights, negligible ones included."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest

from crowdtally.errors import UsageError
from crowdtally.noise.exponential import choose, choose_group
from crowdtally.noise.source import system_words
from kit.chisquare import goodness
from kit.exactly import ONE, exp_neg
from kit.words import ONES, Scripted

RUNS = 20_000


def law(scores, rate) -> np.ndarray:
    weights = np.exp([float(rate * (s - max(scores))) for s in scores])
    return weights / weights.sum()


@pytest.mark.parametrize(
    ("scores", "rate"),
    [
        ([0, 1, 2, 3], Fraction(1, 2)),
        ([3, 0, 3, 1, 0, 3], Fraction(1, 3)),
        ([Fraction(1, 3), Fraction(-5, 7), 0], Fraction(2)),
        ([10**30, 10**30 - 1, 10**30 - 1], Fraction(1)),
        (np.array([5, -5, 5, 4], dtype=np.int32), Fraction(1, 4)),
    ],
)
def test_frequencies_follow_the_weights(scores, rate):
    source = system_words()
    counts = np.bincount([choose(scores, rate, source) for _ in range(RUNS)], minlength=len(scores))
    exact = [s if isinstance(s, Fraction) else int(s) for s in scores]
    verdict = goodness(counts, law(exact, rate))
    assert verdict.fits, verdict
    assert not goodness(counts, law(exact, 2 * rate)).fits, "twice the rate passes too"


def test_multiplicities_count_as_candidates():
    source = system_words()
    scores, copies = [0, 2, 1], [1000, 3, 0]
    drawn = [choose_group(scores, copies, Fraction(1), source) for _ in range(RUNS - 1)]
    drawn.append(choose_group(np.array(scores), np.array(copies), Fraction(1), source))
    assert {g for g, _ in drawn} == {0, 1}
    assert all(0 <= r < copies[g] for g, r in drawn)
    weights = np.array([1000.0, 3 * np.exp(2)])
    counts = np.bincount([g for g, _ in drawn], minlength=2)
    assert goodness(counts, weights / weights.sum()).fits
    members = np.bincount([r // 100 for g, r in drawn if g == 0], minlength=10)
    assert goodness(members, np.full(10, 1 / 10)).fits


def exact_place(words: list[int], exponents: list[Fraction], counts: list[int]) -> int | None:
    """Which weight U = 0.w₁w₂… falls into, from brackets of e^(−y) in plain integers."""
    brackets = [exp_neg(-e) for e in exponents]
    lows = list(accumulate(c * low for c, (low, _) in zip(counts, brackets, strict=True)))
    highs = list(accumulate(c * high for c, (_, high) in zip(counts, brackets, strict=True)))
    head = 0
    for word in words:
        head = head << 64 | word
    unit = 1 << 64 * len(words)
    for j in range(len(counts)):
        last = j == len(counts) - 1
        if last or (head + 1) * highs[-1] <= lows[j] * unit:
            above = j == 0 or head * lows[-1] >= highs[j - 1] * unit
            return j if above else None
    return None


def boundary(exponents: list[Fraction], j: int, words: int) -> list[int]:
    """The first words of (e₀+…+e_j)/(e₀+…)."""
    weights = [exp_neg(-e)[0] for e in exponents]
    scaled = sum(weights[: j + 1]) * (ONE >> 8) // sum(weights)
    head = scaled * (1 << 64 * words) // (ONE >> 8)
    return [(head >> 64 * (words - 1 - i)) & ONES for i in range(words)]


def test_words_next_to_boundaries():
    """Descending scores 0, −1, …: words at every boundary, undecided ones with words behind."""
    rate = Fraction(1, 2)
    scores = list(range(0, -12, -1))
    exponents = [rate * s for s in scores]
    for j in range(len(scores) - 1):
        first, second = boundary(exponents, j, 2)
        for words in (
            [first - 1],
            [first + 1],
            [first, second - 1],
            [first, second + 1],
            [first, second, 0],
            [first, second, ONES],
        ):
            source = Scripted(*words, 1, 2, 3)
            chosen = choose(scores, rate, source)
            assert chosen == exact_place([*words, 1, 2, 3], exponents, [1] * len(scores))
            assert chosen in (j, j + 1)
            assert source.used >= (2 if words[0] == first else 1), "an undecided word was decided"


def test_the_negligible_take_part():
    """e^(−100) of the weight is at the end: 145 ones lead there."""
    words = [ONES, ONES, ONES, 5]
    assert choose([0, -100], Fraction(1), Scripted(*words)) == 1
    assert exact_place(words, [Fraction(0), Fraction(-100)], [1, 1]) == 1
    words = [ONES, ONES, 5, 7]
    assert choose([0, -100], Fraction(1), Scripted(*words)) == 0
    assert exact_place(words, [Fraction(0), Fraction(-100)], [1, 1]) == 0
    assert choose([0, -700, -100], Fraction(1), Scripted(*[ONES] * 16, 3)) == 1


def test_scores_far_apart():
    source = system_words()
    for scores in ([0, 10**9], [0, 10**300], [-(10**9), 0, -(10**18)], [Fraction(1, 3), 10**9]):
        for _ in range(50):
            assert scores[choose(scores, Fraction(1), source)] == max(scores)


def test_equal_scores_are_uniform_whatever_they_are():
    source = system_words()
    drawn = [choose([-(10**12)] * 5, Fraction(1), source) for _ in range(RUNS)]
    assert goodness(np.bincount(drawn, minlength=5), np.full(5, 1 / 5)).fits


def test_many_candidates_with_few_scores():
    scores = np.tile(np.arange(100), 100_000)
    index = choose(scores, Fraction(1), system_words())
    assert 0 <= index < scores.size
    assert scores[index] > 50


def test_the_order_of_candidates_does_not_matter():
    for scores, best in (([5, 1, 5, 9], 3), ([9, 5, 5, 1], 0)):
        assert choose(scores, Fraction(1), Scripted(0)) == best
    assert choose([1, 5, 5], Fraction(1), Scripted(0, 1)) == 2  # the second of the equals


@pytest.mark.parametrize(
    "scores", [[], [1.0, 2], [True, 2], [None], np.array([1.0]), np.array([[1]]), ["1"]]
)
def test_inexact_scores_are_refused(scores):
    with pytest.raises(UsageError):
        choose(scores, Fraction(1), Scripted())


@pytest.mark.parametrize("rate", [Fraction(0), Fraction(-1), 0.5])
def test_a_rate_must_be_positive_and_exact(rate):
    with pytest.raises(UsageError):
        choose([1, 2], rate, Scripted())


@pytest.mark.parametrize("copies", [[1], [1, -1], [0, 0], [1.0, 2], []])
def test_multiplicities_must_be_numbers_of_candidates(copies):
    with pytest.raises(UsageError):
        choose_group([1, 2], copies, Fraction(1), Scripted())
