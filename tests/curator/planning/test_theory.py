"""Theorem 2, corrected: against enumeration, and against what the paper prints."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdtally.core.privacy import Epsilon, Rho
from crowdtally.curator.plan.compare import Guess, Noise, best_limit, expected_error, ideal_limit
from crowdtally.errors import UsageError

guesses = st.builds(
    Guess, st.integers(1, 10**6), st.integers(1, 300), st.fractions(Fraction(1, 10**6), 1)
)
epsilons = st.fractions(Fraction(1, 100), 100).map(Epsilon)
rhos = st.fractions(Fraction(1, 10000), 10).map(Rho)
noises = epsilons.map(Noise.of) | st.builds(
    lambda rho, once: Noise.of(rho, once=once), rhos, st.booleans()
)


@pytest.mark.parametrize(
    ("users", "records", "limit"), [(2, 3, 1), (2, 3, 2), (1, 6, 2), (3, 2, 2)]
)
def test_the_bounding_error_by_enumeration(users, records, limit):
    """All assignments of items to records; records are exchangeable, so keep the first l."""
    p = Fraction(2, 7)
    mean = Fraction(0)
    for hits in product((0, 1), repeat=users * records):
        chance = p ** sum(hits) * (1 - p) ** (len(hits) - sum(hits))
        kept = sum(hit for i, hit in enumerate(hits) if i % records < limit)
        mean += chance * (kept - sum(hits)) ** 2
    assert expected_error(Guess(users, records, p), limit, Noise.of(Epsilon.of(1))).bounding == mean


def test_what_the_paper_prints_is_something_else():
    n, m, p, limit = 2, 3, Fraction(2, 7), 3
    printed = n * limit * p * (1 - p * limit / m) + (n * limit * p - n * m * p) ** 2
    assert printed > 0 == expected_error(Guess(n, m, p), limit, Noise.of(Epsilon.of(1))).bounding


@given(guesses, noises)
def test_the_best_limit_beats_its_neighbours(guess, noise):
    best = best_limit(guess, noise)
    assert 1 <= best <= guess.records
    least = expected_error(guess, best, noise).total
    for limit in {max(best - 1, 1), min(best + 1, guess.records), 1, guess.records}:
        assert least <= expected_error(guess, limit, noise).total


@given(guesses, epsilons, epsilons)
def test_more_epsilon_never_means_a_smaller_limit(guess, one, other):
    low, high = map(Noise.of, sorted((one, other)))
    assert 1 <= ideal_limit(guess, low) <= ideal_limit(guess, high) <= guess.records
    assert best_limit(guess, low) <= best_limit(guess, high)


def test_beyond_all_records_only_noise_is_left():
    error = expected_error(Guess(10, 5, Fraction(1, 2)), 8, Noise.of(Epsilon.of(2)))
    assert (error.bounding, error.noise, error.total) == (0, 32, 32)


@pytest.mark.parametrize(
    "wrong", [(0, 5, Fraction(1, 2)), (5, 0, Fraction(1, 2)), (5, 5, Fraction(0)), (5, 5, 0.5)]
)
def test_wrong_guesses(wrong):
    with pytest.raises(UsageError, match="guessed"):
        Guess(*wrong)
