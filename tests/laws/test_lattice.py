"""Certified sums of a bell: both ways against each other, integers, and Poisson's formula."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb

from crowdtally.laws import gaussian_tails
from crowdtally.laws.balls import as_ball, precision
from crowdtally.laws.gaussian_tails import bell_sum, bell_total
from kit.exactly import ONE, PLACES, exp_neg


@pytest.mark.parametrize("power", [0, 1, 2])
@pytest.mark.parametrize("places", ["-3", "0", "1/2", "2", "7", "10", "14", "20", "60"])
@pytest.mark.parametrize("variance", ["64", "1000/3", "40000"])
def test_both_ways_agree(variance: str, places: str, power: int) -> None:
    v, bits = Fraction(variance), 128
    with precision(bits + 64):
        ball = as_ball(v)
        start = arb(int(Fraction(places) * int(v**0.5)))
        terms = gaussian_tails._term_by_term(ball, start, power, bits)
        derivatives = gaussian_tails._in_derivatives(ball, start, power, bits)
        assert terms.overlaps(derivatives)
        assert terms.rel_accuracy_bits() > bits - 8
        if not start > 0 or ball / (ball.sqrt() + start) > 8:
            assert derivatives.rel_accuracy_bits() > bits - 8


@pytest.mark.parametrize("start", [0, 1, 4])
@pytest.mark.parametrize("power", [0, 1, 2])
@pytest.mark.parametrize("variance", ["1/50", "1/3", "2", "15/2", "30"])
def test_against_plain_integers(variance: str, start: int, power: int) -> None:
    v, k, low, high = Fraction(variance), start, 0, 0
    while True:
        bracket = exp_neg(Fraction(k**2) / (2 * v))
        low, high = low + k**power * bracket[0], high + k**power * bracket[1]
        if bracket[1] < ONE >> 220 and k > start:
            break
        k += 1
    high += ONE >> 200
    with precision(200):
        found = bell_sum(v, start, power)
    with precision(2 * PLACES):
        assert found.lower() <= arb((high, -PLACES))
        assert found.upper() >= arb((low, -PLACES))
    assert found.rel_accuracy_bits() > 180


@pytest.mark.parametrize("bits", [64, 192, 1500])
@pytest.mark.parametrize("variance", ["1/8", "1", "50", "100/3", "1e12", "1e60"])
def test_the_total_against_poisson(variance: str, bits: int) -> None:
    """θ = σ√(2π)·Σ_m e^(−2π²σ²m²)."""
    v = Fraction(variance)
    with precision(bits + 64):
        exponent = -2 * arb.pi() ** 2 * as_ball(v)
        waves = 1 + 2 * sum(((exponent * m**2).exp() for m in range(1, 60)), arb(0))
        poisson = (2 * arb.pi() * as_ball(v)).sqrt() * (waves + arb(0, "1e-600"))
    with precision(bits):
        total = bell_total(v)
        assert total.overlaps(poisson)
        assert total.rel_accuracy_bits() > bits - 8


@pytest.mark.parametrize("variance", ["1/8", "2", "1000", "1e10"])
def test_a_start_between_integers(variance: str) -> None:
    """Sums from a and from a+1 differ by one term, for any real a; whole laws are even."""
    v = Fraction(variance)
    with precision(128):
        for start in (as_ball(Fraction(-7, 3)), as_ball(Fraction(1, 3)), as_ball(Fraction(31, 7))):
            for power in (0, 1, 2):
                first, second = bell_sum(v, start, power), bell_sum(v, start + 1, power)
                term = start**power * (-start * start / (2 * as_ball(v))).exp()
                assert (first - second).overlaps(term)


@pytest.mark.parametrize(("variance", "start"), [("2", 0), ("2", 3), ("100", 0), ("1e8", 30000)])
def test_a_sum_is_never_narrower_than_it_is_known(variance: str, start: int) -> None:
    """A ball of few bits holds the one of many."""
    v = Fraction(variance)
    with precision(600):
        exact = bell_sum(v, start)
    for bits in (16, 24, 32, 48, 80):
        with precision(bits):
            ball = as_ball(v)
            ways = [gaussian_tails._term_by_term] if v < 1000 else []
            ways += [gaussian_tails._in_derivatives] if v > 50 else []
        with precision(600):  # so that roundings do not hide what is left out
            for way in ways:
                assert way(ball if ball.is_exact() else as_ball(v), arb(start), 0, bits).contains(
                    exact.mid()
                )
