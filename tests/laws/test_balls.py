"""Rates and probabilities: exact keys, shrinking balls, refusals."""

from __future__ import annotations

import threading
from fractions import Fraction

import pytest
from flint import ctx

from crowdtally.errors import UsageError
from crowdtally.laws.balls import Rate, Real, as_ball, as_probability, as_rate, precision
from crowdtally.noise.geometric import DigitLaw, Table
from crowdtally.noise.geometric import table as remembered
from kit.exact import PLACES, exp_neg


def inside(ball, low: Fraction, high: Fraction) -> bool:
    with precision(4096):
        return bool(ball.lower() <= as_ball(high) and ball.upper() >= as_ball(low))


@pytest.mark.parametrize("y", ["1/10", "25.6", "1e-30", "179", "355/113"])
@pytest.mark.parametrize("bits", [64, 192, 1000])
def test_balls_contain_the_number_and_are_as_small_as_asked(y, bits):
    real = Real.ball(("exp", y), lambda work: (-as_ball(Fraction(y))).exp())
    ball = real.enclose(bits)
    low, high = (Fraction(end, 1 << PLACES) for end in exp_neg(Fraction(y)))
    assert inside(ball, low, high)
    assert ball.rel_accuracy_bits() >= bits


def test_cancellation_inside_the_function_is_made_up_for():
    tiny = Fraction(1, 10**60)
    real = Real.ball("cancels", lambda bits: (1 + as_ball(tiny)) - 1)
    assert real.enclose(100).rel_accuracy_bits() >= 100


@pytest.mark.parametrize("p", [Fraction(1, 10**300), 1 - Fraction(1, 10**300), Fraction(1, 3)])
def test_rate_of_a_probability_inverts_it(p):
    x = Rate.of_probability(p).enclose(200)
    with precision(2000):
        assert (-(-x).expm1()).overlaps(as_ball(p))
    assert x.rel_accuracy_bits() >= 200


def test_rate_of_a_real_probability():
    p = Real.ball("e^-1", lambda bits: (-as_ball(1)).exp())
    x = Rate.of_probability(p).enclose(200)
    with precision(2000):
        assert (-(-x).expm1()).overlaps((-as_ball(1)).exp())


def test_keys_are_exact():
    assert Rate.exact(Fraction(1, 10)) == Rate.exact(Fraction(10, 100))
    assert Rate.exact(Fraction(1, 10)) != Rate.exact(Fraction(0.1))  # the float is another number
    assert Rate.of_probability(Fraction(1, 2)) != Rate.exact(Fraction(1, 2))
    assert hash(as_rate(Fraction(1, 10))) == hash(Rate.exact(Fraction(1, 10)))


def test_numbers_of_different_keys_share_no_table():
    """Tables are kept by key: what is drawn for one scale must not serve another."""
    reals = [Real.ball(("share", n), lambda bits, n=n: as_ball(Fraction(1, n))) for n in (3, 4)]
    assert reals[0] != reals[1]
    rates = [Rate.of_probability(real) for real in reals]
    assert rates[0] != rates[1]
    laws = [remembered(DigitLaw(rate, 0, highest=True)) for rate in rates]
    assert laws[0].below[0] != laws[1].below[0]


@pytest.mark.parametrize("rate", [Fraction(0), Fraction(-1), 0.5, True, "1", None])
def test_a_rate_must_be_positive_and_exact(rate):
    with pytest.raises(UsageError):
        as_rate(rate)


def test_a_rate_that_may_be_zero_is_refused():
    with pytest.raises(UsageError, match="certainly"):
        Rate.ball("zero", lambda bits: as_ball(2).sqrt() ** 2 - 2)


@pytest.mark.parametrize("p", [Fraction(-1, 9), Fraction(10, 9), 0.5, True, None])
def test_a_probability_must_be_exact_and_inside(p):
    with pytest.raises(UsageError):
        as_probability(p)


@pytest.mark.parametrize("shift", [Fraction(1, 10**50), Fraction(-1, 10**50)])
def test_real_probabilities_are_told_apart_from_one(shift):
    p = Real.ball(("near one", shift), lambda bits: as_ball(1 + shift) * as_ball(2).sqrt() ** 2 / 2)
    if shift < 0:
        assert as_probability(p) is p
    else:
        with pytest.raises(UsageError):
            as_probability(p)


def test_a_real_that_is_exactly_zero_or_one_becomes_a_fraction():
    assert as_probability(Real.exact(1)) == Fraction(1)
    assert as_probability(Real.ball("0", lambda bits: as_ball(0))) == Fraction(0)


def test_precision_is_given_back():
    before = ctx.prec
    with precision(777):
        assert ctx.prec == 777
    assert ctx.prec == before
    with pytest.raises(ZeroDivisionError), precision(777):
        as_ball(Fraction(1, 0))
    assert ctx.prec == before


def test_threads_build_the_same_tables_as_one():
    laws = [DigitLaw(Rate.exact(Fraction(i, 97)), 0, highest=False) for i in range(1, 9)]
    alone = [Table(law) for law in laws]
    together: dict[int, Table] = {}

    def work(i: int) -> None:
        together[i] = Table(laws[i])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(laws))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, table in enumerate(alone):
        assert table.above.tolist() == together[i].above.tolist()
        assert table.below.tolist() == together[i].below.tolist()
