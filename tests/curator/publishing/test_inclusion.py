"""The probability that an empty cell is kept, and the law of its value, against exact sums."""

from __future__ import annotations

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from flint import arb

from crowdtally.core.counts import Keeping
from crowdtally.curator.summaries import sparse
from crowdtally.curator.summaries.sparse import empty_values, inclusion_probability
from crowdtally.laws.balls import Real, as_ball, precision
from crowdtally.laws.floors import empty_cell, tail
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.noise.draws import SystemDraws
from kit import laborious
from kit.exactly import PLACES
from kit.sparse_cases import RULES, named

SCALES = [Fraction(1, 2), Fraction(4), Fraction(22, 7)]
BITS = 500


def equals(p, bracket: tuple[int, int]) -> bool:
    """Whether a number known by balls is the bracketed one, to 480 bits."""
    if isinstance(p, Fraction):
        return p == 1 and bracket[0] <= 1 << PLACES <= bracket[1]
    with precision(PLACES + 200):
        low, high = (as_ball(Fraction(end, 1 << PLACES)) for end in bracket)
        ball = p.enclose(BITS)
        narrow = (high - low) / low < arb((1, -480)) and ball.rel_accuracy_bits() >= 480
        return bool(narrow and ball.lower() <= high and ball.upper() >= low)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("rule", RULES, ids=named)
def test_the_probability_is_the_exact_sum(rule, scale):
    assert equals(
        inclusion_probability(DiscreteLaplace(scale), rule), laborious.inclusion(scale, rule)
    )


def printed(scale: Fraction, rule: Keeping, whole: bool) -> Real:
    """The closed forms as they are written down, with t = ⌊τ⌋ or, if ``whole``, with t = τ."""

    def ball(bits: int):
        x, k, tau = as_ball(1 / scale), rule.cut, rule.threshold
        a = (-x).exp()
        if tau is None or tau <= k:
            both = 2 * a**k / (1 + a)
        else:
            t = as_ball(tau) if whole else as_ball(floor(tau))
            upper = (t + 1) * (-x * t).exp() - t * (-x * (t + 1)).exp()
            first = k * a**k - (k - 1) * a ** (k + 1) if k else a
            both = 2 / (as_ball(tau) * (1 - a**2)) * (first - a * upper)
            both = both + 2 * (-x * (t + 1)).exp() / (1 + a)
        return both if rule.sides == "two" else both / 2

    return Real.ball(("printed", scale, rule, whole), ball)


@pytest.mark.parametrize("rule", [rule for rule in RULES if not rule.keeps_all], ids=named)
def test_it_is_the_closed_form_of_the_method(rule):
    scale = Fraction(4)
    assert equals(printed(scale, rule, whole=False), laborious.inclusion(scale, rule))


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_the_formula_for_whole_thresholds_fails_at_others(rule):
    scale = Fraction(4)
    wrong = rule.samples and rule.threshold.denominator > 1
    if not rule.keeps_all:
        p = printed(scale, rule, whole=True)
        assert equals(p, laborious.inclusion(scale, rule)) != wrong


def test_a_two_sided_cut_of_zero_by_the_formula_is_no_probability():
    p = printed(Fraction(4), Keeping(0), whole=False)
    assert not equals(p, laborious.inclusion(Fraction(4), Keeping(0)))
    assert p.enclose(64) > 1


@pytest.mark.parametrize("rule", [rule for rule in RULES if not rule.keeps_all], ids=named)
def test_a_float_is_caught(rule):
    scale = Fraction(4)
    p = inclusion_probability(DiscreteLaplace(scale), rule)
    rounded = Real.exact(Fraction(float(p.enclose(200))))
    assert not equals(rounded, laborious.inclusion(scale, rule))


def test_far_tails_and_small_rates_keep_their_precision():
    for scale, rule in [
        (Fraction(1, 50), Keeping(40, Fraction(200))),
        (Fraction(10**12), Keeping(1, Fraction(3, 2))),
        (Fraction(10), Keeping(10**6, Fraction(10**7, 3), "one")),
    ]:
        assert (
            inclusion_probability(DiscreteLaplace(scale), rule).enclose(1000).rel_accuracy_bits()
            >= 1000
        )


def test_tails_are_sums():
    for scale in SCALES:
        with precision(600):
            x = as_ball(1 / scale)
            for power in range(3):
                for start in (0, 1, 4):
                    terms = (v**power * (-x * v).exp() for v in range(start, 2500))
                    assert abs(tail(x, start, power) - sum(terms)) < arb(2) ** -300


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("rule", RULES, ids=named)
def test_moments_of_the_readers_value(rule, scale):
    values = range(-600, 601)
    p = np.array([laplace_float(scale, v) for v in values])
    kept = np.array([float(laborious.chance(v, rule)) for v in values])
    tau = float(rule.threshold) if rule.samples else 0.0
    seen = np.array([np.sign(v) * max(abs(v), tau) for v in values])
    cell = empty_cell(scale, rule)
    mean = (p * kept * seen).sum()
    assert cell.probability == pytest.approx((p * kept).sum(), rel=1e-9)
    assert cell.mean == pytest.approx(mean, rel=1e-9, abs=1e-9)
    assert cell.variance == pytest.approx((p * kept * seen**2).sum() - mean**2, rel=1e-9, abs=1e-9)


def laplace_float(scale: Fraction, v: int) -> float:
    rate = 1 / float(scale)
    return float(np.tanh(rate / 2) * np.exp(-rate * abs(v)))


class Recorder(SystemDraws):
    """Real draws that also write down what they were asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.rates, self.coins, self.each = set(), [], []

    def geometric(self, rate, size):
        self.rates.add(rate)
        return super().geometric(rate, size)

    def bernoulli(self, p, size):
        self.coins.append(p)
        return super().bernoulli(p, size)

    def bernoulli_each(self, numerators, denominators):
        self.each += zip(numerators.tolist(), denominators.tolist(), strict=True)
        return super().bernoulli_each(numerators, denominators)


SAMPLING = [rule for rule in RULES if rule.samples]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("rule", SAMPLING, ids=named)
def test_the_value_of_an_empty_cell_has_the_exact_conditional_law(rule, scale):
    """The proposal's law times its acceptance is α^ν·min(ν, τ), up to one constant, in balls."""
    least, tau = max(rule.cut, 1), rule.threshold
    draws = Recorder()
    empty_values(2000, DiscreteLaplace(scale), rule, draws)
    assert draws.rates == {1 / scale}
    rising = [coin for coin in draws.coins if coin != Fraction(1, 2)]
    assert bool(rising) == (tau >= least + scale)
    with precision(600):
        alpha = (-as_ball(1 / scale)).exp()
        share = rising[0].enclose(600) if rising else as_ball(1)
        target = None
        for v in range(least, least + 60):
            j = v - least
            second = j * (1 - alpha) ** 2 * alpha ** max(j - 1, 0) if j else as_ball(0)
            proposed = share * (1 - alpha) * alpha**j + (1 - share) * second
            accepted = min(tau / v, Fraction(1)) if rising else min(v / tau, Fraction(1))
            mass = proposed * as_ball(accepted) / (alpha**v * as_ball(min(Fraction(v), tau)))
            target = mass if target is None else target
            assert abs(mass / target - 1) < arb(2) ** -400
    wanted = {tau / v for v in range(1, 5000)} if rising else {v / tau for v in range(1, 5000)}
    assert {Fraction(a, b) for a, b in draws.each} <= wanted


def test_a_float_share_of_the_mixture_is_caught(monkeypatch):
    exactly = sparse._first_share
    monkeypatch.setattr(sparse, "_first_share", lambda *a: arb(float(exactly(*a))))
    with pytest.raises(AssertionError):
        test_the_value_of_an_empty_cell_has_the_exact_conditional_law(
            Keeping(5, Fraction(19, 2)), Fraction(22, 7)
        )
