"""The discrete Gaussian law far from its centre, and the sums that balls of lattice points need."""

from __future__ import annotations

from fractions import Fraction
from math import erfc, sqrt

import pytest
from flint import arb

from crowdtally.errors import UsageError
from crowdtally.laws import gaussian_tails
from crowdtally.laws.balls import as_ball, precision
from crowdtally.laws.gaussian import GaussianNoise
from crowdtally.laws.gaussian_tails import (
    bell_sum,
    bell_total,
    beyond,
    beyond_at_most,
    rounded_up,
    unknown_delta,
    unknown_threshold,
)
from kit.exact import ONE, PLACES, exp_neg

# ---- Tails of the Gaussian law, what is promised by them, cuts and thresholds --------------------


def brackets(variance: Fraction, least: int) -> tuple[Fraction, Fraction]:
    """Pr[Z ≥ least] in plain integers."""
    reach = abs(least) + 5
    while exp_neg(Fraction(reach**2) / (2 * variance))[1] > ONE >> 250:
        reach += 1
    terms = [exp_neg(Fraction(k**2) / (2 * variance)) for k in range(reach)]
    rest = ONE >> 230
    low, high = (
        sum(terms[abs(k)][side] for k in range(max(least, 1 - reach), reach)) for side in (0, 1)
    )
    whole = [sum(terms[abs(k)][side] for k in range(1 - reach, reach)) for side in (0, 1)]
    return Fraction(low, whole[1] + rest), Fraction(high + rest, whole[0])


@pytest.mark.parametrize("variance", ["1/8", "3/7", "2", "100/3"])
@pytest.mark.parametrize("least", [-3, 0, 1, 2, 7, 20])
def test_tails_against_plain_integers(variance: str, least: int) -> None:
    low, high = brackets(Fraction(variance), least)
    with precision(128):
        found = beyond(Fraction(variance), least)
        assert found.overlaps(as_ball(low).union(as_ball(high)))
        assert found.rel_accuracy_bits() > 110
    told = beyond_at_most(Fraction(variance), least)
    assert low <= told <= high * (1 + Fraction(1, 1 << 60)) + Fraction(1, 10**399)


@pytest.mark.parametrize("sigmas", [0, 1, 3, 8, 30])
def test_wide_laws_are_nearly_normal(sigmas: int) -> None:
    sigma = 10**9
    with precision(128):
        found = float(beyond(Fraction(sigma**2), sigmas * sigma + 1))
    assert found == pytest.approx(erfc((sigmas + 0.5 / sigma) / sqrt(2)) / 2, rel=1e-9)


@pytest.mark.parametrize("chance", ["1/3", "1", "1e-5", "123456789/987654321", "1e-300", "1e-500"])
def test_what_is_promised_is_rounded_up(chance: str) -> None:
    exact = Fraction(chance)
    with precision(200):
        told = rounded_up(as_ball(exact))
    assert exact <= told <= max(exact * (1 + Fraction(1, 1 << 60)), Fraction(1, 10**400))
    with precision(30):  # the ball's upper end counts
        wide = as_ball(exact)
        assert as_ball(rounded_up(wide)) >= wide.lower()
    with precision(400):
        assert as_ball(rounded_up(wide)) >= wide.upper() or rounded_up(wide) == 1
    assert rounded_up(arb(3)) == 1


@pytest.mark.parametrize("variance", ["1/8", "2", "100/3"])
@pytest.mark.parametrize("limit", [1, 10])
@pytest.mark.parametrize("delta", ["1e-3", "1e-6", "1e-12"])
def test_the_threshold_is_the_least_that_keeps_the_promise(
    variance: str, limit: int, delta: str
) -> None:
    """In plain integers: 1 − (1 − Pr[1 + Z ≥ T])^l ≤ δ, and T − 1 does not keep it."""
    v, most = Fraction(variance), Fraction(delta)
    found = unknown_threshold(v, limit, most)
    alone, before = brackets(v, found - 1), brackets(v, found - 2)
    assert 1 - (1 - alone[1]) ** limit <= most
    assert found == 1 or 1 - (1 - before[0]) ** limit > most
    told = unknown_delta(v, limit, found)
    exact = 1 - (1 - alone[0]) ** limit
    assert exact <= told <= min(most, exact * (1 + Fraction(1, 1 << 50)))


def test_thresholds_grow_with_cells_and_noise_and_shrink_with_delta() -> None:
    v, delta = Fraction(100), Fraction(1, 10**6)
    assert unknown_threshold(v, 1, delta) < unknown_threshold(v, 100, delta)
    assert unknown_threshold(v, 1, delta) < unknown_threshold(4 * v, 1, delta)
    assert unknown_threshold(v, 1, delta) < unknown_threshold(v, 1, delta**2)
    assert unknown_threshold(v, 1, Fraction(9, 10)) == 1
    assert unknown_threshold(Fraction(10**30), 5, delta) == pytest.approx(5.0690 * 1e15, rel=1e-3)


@pytest.mark.parametrize(("variance", "cells", "size"), [("2", 1000, 10), ("100", 10**6, 10**5)])
@pytest.mark.parametrize("sides", [1, 2])
def test_the_cut_is_the_least_with_so_few_empty_cells(
    variance: str, cells: int, size: int, sides: int
) -> None:
    v = Fraction(variance)
    cut = GaussianNoise(v).cut(Fraction(size, sides * cells))
    with precision(128):
        assert cells * sides * beyond(v, cut) <= size
        assert cells * sides * beyond(v, cut - 1) > size
    assert GaussianNoise(v).cut(Fraction(1)) == 1


@pytest.mark.parametrize(
    ("limit", "delta"),
    [(0, Fraction(1, 9)), (1.5, Fraction(1, 9)), (1, 0.1), (1, Fraction(0)), (1, Fraction(1))],
)
def test_wrong_promises_are_refused(limit: object, delta: object) -> None:
    with pytest.raises(UsageError):
        unknown_threshold(Fraction(1), limit, delta)  # type: ignore[arg-type]


# ---- Certified sums of a bell: both ways against each other, integers, and Poisson's formula -----


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
