"""From ρ to (ε, δ) and back, and what ε means as odds."""

from __future__ import annotations

import decimal
from collections.abc import Callable
from fractions import Fraction
from math import erfc, exp, log, sqrt

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import example, given
from hypothesis import strategies as st

import crowdtally as ct
from crowdtally.core.privacy import Delta, Epsilon, Rho
from crowdtally.errors import UsageError
from crowdtally.laws import conversion
from crowdtally.laws.balls import as_ball, precision
from crowdtally.laws.conversion import (
    LARGEST_DELTA,
    PRIORS,
    _down,
    _up,
    approximate,
    delta_of,
    epsilon_of,
    odds,
    odds_words,
    percent,
    rho_of,
    rounded_down,
    rounded_up,
)

# ---- ρ, ε and δ converted into each other: against the least bound of another derivation, each
#      way


BITS = 400
"""Of the other derivation: far more than what is tested keeps."""
TIGHT = 1 + Fraction(1, 2**60)
CASES = [
    (Fraction(1, 100), Fraction(1)),
    (Fraction(1, 3), Fraction(22, 7)),
    (Fraction(1, 10**6), Fraction(1, 10**7)),
    (Fraction(1, 10**6), Fraction(0)),
    (Fraction(7, 2), Fraction(5)),
    (Fraction(2), Fraction(1)),
    (Fraction(1, 50), Fraction(17, 4)),
    (Fraction(10**3 + 1, 10**3), Fraction(123, 10)),
]


def bound(a: arb, rho: Fraction, epsilon: Fraction) -> arb:
    """The bound of METHODS 13, as it is printed there."""
    exponent = (a - 1) * (a * as_ball(rho) - as_ball(epsilon))
    return exponent.exp() / (a - 1) * (1 - 1 / a) ** a


def least(function: Callable[[arb], arb], low: float, high: float) -> arb:
    """The least value of a function with one valley, by thirds; no derivative has a part in it."""
    left, right = as_ball(Fraction(low)), as_ball(Fraction(high))
    for _ in range(160):
        third = (right - left) / 3
        one, two = (left + third).mid(), (right - third).mid()
        if function(one) < function(two):
            right = two
        else:
            left = one
    return function(((left + right) / 2).mid())


@pytest.mark.parametrize(("rho", "epsilon"), CASES)
def test_delta_is_the_least_bound_rounded_up(rho: Fraction, epsilon: Fraction) -> None:
    with precision(BITS):
        true = min(least(lambda a: bound(a, rho, epsilon), 1 + 1e-9, 1e5), arb(1))
        assert as_ball(delta_of(rho, epsilon)) >= true
        assert as_ball(delta_of(rho, epsilon)) <= true * as_ball(TIGHT)


@pytest.mark.parametrize(("rho", "epsilon"), CASES)
@pytest.mark.parametrize("delta", [Fraction(1, 10**9), Fraction(1, 10), Fraction(3, 10**40)])
def test_epsilon_is_the_least_bound_rounded_up(
    rho: Fraction, epsilon: Fraction, delta: Fraction
) -> None:
    def solved(a: arb) -> arb:
        return as_ball(rho) * a + ((1 - 1 / a) ** a / (a - 1) / as_ball(delta)).log() / (a - 1)

    with precision(BITS):
        true = least(solved, 1 + 1e-9, 1e6)
        found = as_ball(epsilon_of(rho, delta))
        assert found >= true
        assert found <= max(true * as_ball(TIGHT), arb(0))


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(1, 20), Fraction(8)])
@pytest.mark.parametrize("delta", [Fraction(1, 10**9), Fraction(1, 10), Fraction(3, 10**40)])
def test_the_granted_rho_fits_and_no_larger_one_does(epsilon: Fraction, delta: Fraction) -> None:
    granted = rho_of(epsilon, delta)
    more = granted * (1 + Fraction(11, 10**12))
    with precision(BITS):
        fits = least(lambda a: bound(a, granted, epsilon), 1 + 1e-9, 1e6)
        beyond = least(lambda a: bound(a, more, epsilon), 1 + 1e-9, 1e6)
        assert fits <= as_ball(delta) < beyond
    assert delta_of(granted, epsilon) <= delta < delta_of(more, epsilon)
    assert granted == rounded_down(granted)


def test_a_gaussian_of_that_rho_has_no_larger_delta() -> None:
    """The exact δ of the Gaussian mechanism (Balle and Wang 2018), which is ρ-zCDP."""
    for rho in (0.001, 0.02, 0.5, 3.0):
        for epsilon in (0.0, 0.1, 1.0, 4.0):
            mu = sqrt(2 * rho)
            true = 0.5 * erfc((epsilon / mu - mu / 2) / sqrt(2)) - exp(epsilon) * 0.5 * erfc(
                (epsilon / mu + mu / 2) / sqrt(2)
            )
            said = float(delta_of(Fraction(rho), Fraction(epsilon)))
            assert true <= said * (1 + 1e-9)


@given(
    st.fractions(Fraction(1, 10**7), 40, max_denominator=10**8),
    st.fractions(0, 60, max_denominator=10**6),
)
def test_no_order_of_a_dense_search_is_better(rho: Fraction, epsilon: Fraction) -> None:
    u = np.geomspace(1e-9, 1e9, 20_000)
    logs = u * ((1 + u) * float(rho) - float(epsilon)) + u * np.log1p(-1 / (1 + u)) - np.log1p(u)
    found = delta_of(rho, epsilon)
    least_log = max(min(logs.min(), 0), -4096 * log(2))
    assert log(found.numerator) - log(found.denominator) <= least_log + 1e-9


@given(
    st.fractions(Fraction(1, 10**6), 50, max_denominator=10**7),
    st.fractions(Fraction(1, 10**12), LARGEST_DELTA, max_denominator=10**12),
)
def test_the_three_conversions_agree(epsilon: Fraction, delta: Fraction) -> None:
    rho = rho_of(epsilon, delta)
    if rho == 0:
        return
    assert delta_of(rho, epsilon) <= delta
    assert epsilon_of(rho, delta) <= epsilon * TIGHT
    assert epsilon_of(rho, delta) >= epsilon - (1 + epsilon) / 10**8
    assert rho_of(epsilon * 2, delta) > rho


def test_it_ends_at_any_size() -> None:
    tiny, huge = Fraction(1, 10**300), Fraction(10**300)
    assert delta_of(tiny, Fraction(1)) == Fraction(1, 2**4096)  # rounded up, never to nothing
    assert delta_of(huge, Fraction(1)) == 1
    assert delta_of(Fraction(1), huge) == Fraction(1, 2**4096)
    assert delta_of(Fraction(0), Fraction(0)) == 0
    assert delta_of(Fraction(0), Fraction(-1)) == delta_of(Fraction(1), Fraction(-1)) == 1
    assert epsilon_of(huge, Fraction(1, 10)) > huge
    assert 0 <= epsilon_of(tiny, Fraction(1, 10**9)) < Fraction(1, 10**100)
    assert epsilon_of(Fraction(0), Fraction(0)) == 0
    assert 0 < rho_of(tiny, Fraction(1, 10**9)) < Fraction(1, 10**17)  # about δ², as for ε = 0
    assert rho_of(huge, Fraction(1, 10**9)) > Fraction(10**290)
    assert rho_of(Fraction(0), Fraction(1, 10)) == rho_of(Fraction(1), Fraction(0)) == 0
    long = Fraction(3**9000, 7**3300)
    assert delta_of(long, Fraction(1)) == 1
    assert delta_of(1 / long, Fraction(1)) > 0


def test_a_sum_of_many_digits_is_never_rounded_in_ones_favour() -> None:
    rho = Fraction(1, 100)
    longer = rho + Fraction(1, 3**2000)
    assert delta_of(rho, Fraction(1)) <= delta_of(longer, Fraction(1))
    assert epsilon_of(rho, Fraction(1, 10**9)) <= epsilon_of(longer, Fraction(1, 10**9))
    less = Fraction(1, 10**9) - Fraction(1, 3**2000)
    assert epsilon_of(rho, Fraction(1, 10**9)) <= epsilon_of(rho, less)


@pytest.mark.parametrize("bits", [2, 3, 5, 8])
def test_inputs_of_few_bits_are_rounded_the_safe_way(
    bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 256 bits the last rounding hides which way the inputs went; with a few it cannot."""
    exact = [
        (rho, epsilon, delta, delta_of(rho, epsilon), epsilon_of(rho, delta))
        for rho, epsilon in CASES
        for delta in (Fraction(1, 10**9), Fraction(1, 10), Fraction(3, 10**40))
    ]
    up, down = conversion._up, conversion._down
    monkeypatch.setattr(conversion, "_up", lambda number, kept=bits: up(number, kept))
    monkeypatch.setattr(conversion, "_down", lambda number, kept=bits: down(number, kept))
    for rho, epsilon, delta, its_delta, its_epsilon in exact:
        assert delta_of(rho, epsilon) >= its_delta
        assert epsilon_of(rho, delta) >= its_epsilon


def test_the_same_everywhere() -> None:
    """Whatever arithmetic the program around it chose: two computers must decide alike."""
    expected = delta_of(Fraction(1, 30), Fraction(1)), rho_of(Fraction(1), Fraction(1, 10**6))
    rho_of.cache_clear()  # else the second answer is the first one, remembered
    with decimal.localcontext(decimal.Context(prec=3, rounding=decimal.ROUND_UP)):
        bits, ctx.prec = ctx.prec, 30
        try:
            found = delta_of(Fraction(1, 30), Fraction(1)), rho_of(Fraction(1), Fraction(1, 10**6))
        finally:
            ctx.prec = bits
    assert found == expected
    assert expected[1] == Fraction(48711940719, 2 * 10**12)


def test_the_delta_of_a_gaussian_guarantee() -> None:
    assert approximate(Delta.of("0.1")) == LARGEST_DELTA
    with pytest.raises(UsageError, match=r"needs a delta above 0.*--delta 1e-9"):
        approximate(Delta())
    with pytest.raises(UsageError, match=r"above 1/10 is refused: received 0.2.*one person in ten"):
        approximate(Delta.of("0.2"))
    with pytest.raises(UsageError, match="below 1: received 1"):
        Delta.of(1)
    with pytest.raises(UsageError, match="above 1/10"):
        rho_of(Epsilon.of(1), Delta.of("1/2"))
    with pytest.raises(UsageError, match="between 0 and 1"):
        epsilon_of(Fraction(1), Fraction(0))


def test_rho_is_exact_and_positive() -> None:
    assert Rho.of("0.01").value == Fraction(1, 100)
    assert str(Rho.of("1/3") * 2) == "2/3"
    for wrong in ("0", "-1", "nan", "x", None, True):
        with pytest.raises(UsageError, match="rho"):
            Rho.of(wrong)
    with pytest.raises(UsageError, match="Fraction"):
        Rho(0.5)  # type: ignore[arg-type]


@given(st.fractions(Fraction(1, 10**30), 10**20))
@example(Fraction(10**20) - Fraction(1, 10**30))
@example(Fraction(1) - Fraction(1, 10**50))
def test_twelve_digits(number: Fraction) -> None:
    down, up = rounded_down(number), rounded_up(number)
    assert down <= number <= up
    assert up - down <= down / 10**11
    assert rounded_down(down) == down
    assert rounded_up(up) == up


@given(st.fractions(-(10**9), 10**9), st.integers(2, 40))
def test_fewer_bits(number: Fraction, bits: int) -> None:
    down, up = _down(number, bits), _up(number, bits)
    assert down <= number <= up
    assert up - down <= abs(number) * Fraction(4, 2**bits)
    third = Fraction(1, 3) + Fraction(1, 3**2000)
    assert _down(third) < third < _up(third) < third * (1 + Fraction(1, 2**250))


# ---- ε as odds: what a belief becomes, rounded up and never down ---------------------------------


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("epsilon", ["1e-9", "0.01", "0.5", "1", "2.948", "8"])
def test_it_is_bayes_rule_rounded_up(epsilon: str, prior: Fraction) -> None:
    p, e = float(prior), exp(float(epsilon))
    exact = p * e / (1 - p + p * e)
    step = 0.001 if exact < 0.999 else 1e-6
    assert exact <= float(odds(Epsilon.of(epsilon), prior)) <= exact + step


def test_certainty_is_said_only_where_it_is_near() -> None:
    half = Fraction(1, 2)
    assert odds(Fraction(10), half) == Fraction(999955, 10**6)
    assert odds(Fraction(100), half) == odds(Fraction(10**6), half) == 1
    assert odds(Fraction(0), half) == half


def test_in_words() -> None:
    assert percent(Fraction(999955, 10**6)) == "99.9955%"
    assert "one of 50% at most 62.3%" in odds_words(Epsilon.of("0.5"))


def test_what_is_no_belief() -> None:
    for prior in (Fraction(0), Fraction(1), 0.5):
        with pytest.raises(ct.UsageError, match="a belief is"):
            odds(Fraction(1), prior)  # type: ignore[arg-type]
    with pytest.raises(ct.UsageError, match="negative"):
        odds(Fraction(-1), Fraction(1, 2))
