"""Empty cells that a summary keeps: with which chance, with which value, under either noise."""

from __future__ import annotations

from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
import pytest
from flint import arb

from crowdtally.core.counts import Counts, Keeping
from crowdtally.curator.summaries import sparse
from crowdtally.curator.summaries.sparse import (
    draw_sample,
    empty_cells,
    empty_values,
    inclusion_probability,
)
from crowdtally.laws.balls import Real, as_ball, precision
from crowdtally.laws.floors import empty_cell, tail
from crowdtally.laws.gaussian import GaussianNoise
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.noise.draws import SystemDraws
from kit import summaries
from kit.exact import PLACES, gaussian, law
from kit.sampler_checks import goodness
from kit.summaries import RULES, named

# ---- The probability that an empty cell is kept, and the law of its value, against exact sums ----


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
        inclusion_probability(DiscreteLaplace(scale), rule), summaries.inclusion(scale, rule)
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
    assert equals(printed(scale, rule, whole=False), summaries.inclusion(scale, rule))


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_the_formula_for_whole_thresholds_fails_at_others(rule):
    scale = Fraction(4)
    wrong = rule.samples and rule.threshold.denominator > 1
    if not rule.keeps_all:
        p = printed(scale, rule, whole=True)
        assert equals(p, summaries.inclusion(scale, rule)) != wrong


def test_a_two_sided_cut_of_zero_by_the_formula_is_no_probability():
    p = printed(Fraction(4), Keeping(0), whole=False)
    assert not equals(p, summaries.inclusion(Fraction(4), Keeping(0)))
    assert p.enclose(64) > 1


@pytest.mark.parametrize("rule", [rule for rule in RULES if not rule.keeps_all], ids=named)
def test_a_float_is_caught(rule):
    scale = Fraction(4)
    p = inclusion_probability(DiscreteLaplace(scale), rule)
    rounded = Real.exact(Fraction(float(p.enclose(200))))
    assert not equals(rounded, summaries.inclusion(scale, rule))


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
    kept = np.array([float(summaries.chance(v, rule)) for v in values])
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


# ---- Empty cells under Gaussian noise: the short cut has the law of the whole noisy table --------


RULES_GAUSSIAN = [Keeping(1), Keeping(2), *(Keeping(cut, None, "one") for cut in (0, 1, 3))]
VARIANCE = Fraction(7, 5)
LAW = GaussianNoise(VARIANCE)


def counts(size: int, listed: list[int]) -> Counts:
    cells = np.array(listed, dtype=np.int64)
    return Counts(size, cells, np.full(len(cells), 5, dtype=np.int64), 5 * max(len(cells), 1))


def short_cut(keeping: Keeping, draws: Any) -> tuple[tuple[int, int], ...]:
    """Kept cells of two empty ones among three, with their values."""
    cells = empty_cells(counts(3, [1]), LAW, keeping, draws)
    values = empty_values(len(cells), LAW, keeping, draws)
    return tuple(zip(cells.tolist(), values.tolist(), strict=True))


@pytest.mark.parametrize("keeping", RULES_GAUSSIAN, ids=str)
def test_the_short_cut_has_the_law_of_the_whole_table(keeping: Keeping) -> None:
    """Every outcome: the product over both empty cells of the noise's own probabilities."""

    def kept(value: int) -> bool:
        return (abs(value) if keeping.sides == "two" else value) >= keeping.cut

    dropped = sum(gaussian(VARIANCE, k) for k in range(-40, 41) if not kept(k))

    def laborious(outcome: tuple[tuple[int, int], ...]) -> float:
        found, chance = dict(outcome), 1.0
        assert set(found) <= {0, 2}, "a listed cell is no empty one"
        for cell in (0, 2):
            chance *= gaussian(VARIANCE, found[cell]) if cell in found else dropped
            assert cell not in found or kept(found[cell])
        return chance

    found = law(lambda draws: short_cut(keeping, draws), reach=6, floor=1e-6)
    assert found.left_out < 1e-3
    assert found.misfit(laborious) < 1e-5


@pytest.mark.parametrize("variance", ["1/3", "100", "1e12"])
@pytest.mark.parametrize("sides", ["one", "two"])
def test_the_probability_is_known_by_ever_smaller_balls(variance: str, sides: Any) -> None:
    v = Fraction(variance)
    keeping = Keeping(1 + int(2 * v**0.5), None, sides)
    p = inclusion_probability(GaussianNoise(v), keeping)
    assert isinstance(p, Real)
    balls = [p.enclose(bits) for bits in (64, 200, 1000)]
    assert all(
        ball.rel_accuracy_bits() >= bits for ball, bits in zip(balls, (64, 200, 1000), strict=True)
    )
    assert balls[0].overlaps(balls[1])
    assert balls[1].overlaps(balls[2])
    assert (
        p.key != inclusion_probability(GaussianNoise(v), Keeping(keeping.cut + 1, None, sides)).key
    )  # type: ignore[union-attr]
    assert p == inclusion_probability(GaussianNoise(v * 2 / 2), keeping)


def test_over_many_cells_numbers_and_values_fit() -> None:
    """10^18 cells, of which about 3000 are expected to pass."""
    wide, keeping, draws = GaussianNoise(Fraction(10**6)), Keeping(7925), SystemDraws()
    p = inclusion_probability(wide, keeping)
    assert isinstance(p, Real)
    expected = float(p.enclose(64)) * 10**18
    assert 1000 < expected < 5000
    cells = empty_cells(counts(10**18, [7]), wide, keeping, draws)
    assert abs(len(cells) - expected) < 6 * expected**0.5
    assert (np.diff(cells) > 0).all()
    values = empty_values(100_000, wide, keeping, draws)
    steps = np.arange(7925, 9000)
    weights = np.exp(-(steps.astype(float) ** 2 - 7925.0**2) / 2e6)
    seen = np.bincount(np.minimum(np.abs(values) - 7925, len(steps) - 1), minlength=len(steps))
    assert goodness(seen, weights / weights.sum()).fits


def test_all_cells_are_kept_without_a_cut() -> None:
    assert inclusion_probability(LAW, Keeping()) == 1
    values = empty_values(1000, LAW, Keeping(), SystemDraws())
    assert {-1, 0, 1} <= set(values.tolist())


@pytest.mark.parametrize("sides", ["one", "two"])
def test_a_sample_is_that_of_what_passes_the_cut(sides: Any) -> None:
    """Every outcome of a listed and an empty cell: noise, the cut, a coin of min(w/τ, 1)."""
    keeping = Keeping(2, Fraction(7, 2), sides)

    def sampled(draws: Any) -> tuple[tuple[int, int], ...]:
        cells, values = draw_sample(counts(2, [1]), LAW, keeping, draws)
        return tuple(zip(cells.tolist(), values.tolist(), strict=True))

    def chance(value: int) -> float:
        weight = abs(value) if sides == "two" else value
        return 0.0 if weight < keeping.cut else min(weight / 3.5, 1.0)

    def seen(held: int, found: int | None) -> float:
        if found is not None:
            return gaussian(VARIANCE, found - held) * chance(found)
        return sum(gaussian(VARIANCE, k) * (1 - chance(held + k)) for k in range(-40, 41))

    def laborious(outcome: tuple[tuple[int, int], ...]) -> float:
        found = dict(outcome)
        return seen(0, found.get(0)) * seen(5, found.get(1))

    found = law(sampled, reach=6, floor=1e-6)
    assert found.left_out < 1e-3
    assert found.misfit(laborious) < 1e-5
