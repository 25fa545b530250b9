"""Lengths of users' rows, the bounds that they suggest, and what bounding loses."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log

import numpy as np
import pytest

from crowdtally.errors import UsageError
from crowdtally.inference import rows
from crowdtally.inference.facts import ItemFacts, Noisy
from crowdtally.inference.items import estimate_items
from crowdtally.inference.lifts import Head, common_of, head_lifts
from crowdtally.inference.rows import (
    BINS,
    Calibration,
    Sizes,
    Total,
    best_cap,
    best_theta,
    calibrate,
    is_light,
    read_sizes,
)
from crowdtally.inference.stopping import excess, squares_of
from crowdtally.laws.gaussian import GaussianNoise
from crowdtally.laws.interval import IntervalNoise
from crowdtally.laws.laplace import DiscreteLaplace

# ---- What a noisy histogram of row sizes says ----------------------------------------------------


def histogram(**users: float) -> list[float]:
    counts = [0.0] * BINS
    for name, count in users.items():
        counts[int(name[1:])] = count
    return counts


def test_only_the_run_around_the_largest_bin_is_kept():
    counts = histogram(b0=50, b1=0.5, b2=300, b3=1000, b4=20, b6=400, b12=-90)
    sizes = read_sizes(counts, 10.0)
    assert sizes.bins == tuple(histogram(b2=300, b3=1000, b4=20))
    assert sizes.users == 1320
    assert sizes.records == pytest.approx(1.38 * (300 * 4 + 1000 * 8 + 20 * 16))


def test_a_bin_must_stand_above_one_deviation_and_a_fifth():
    assert read_sizes(histogram(b3=1000, b4=12.0), 10.0).bins[4] == 0
    assert read_sizes(histogram(b3=1000, b4=12.1), 10.0).bins[4] == 12.1


def test_few_users_make_sizes_unreliable():
    assert not read_sizes(histogram(b3=34, b4=30), 10.0).reliable  # the largest bin
    assert not read_sizes(histogram(b3=40), 10.0).reliable  # all users
    assert read_sizes(histogram(b3=40, b4=30), 10.0).reliable
    nobody = read_sizes([0.0] * BINS, 10.0)
    assert not nobody.reliable
    assert (nobody.users, nobody.lost(5), nobody.kept(5)) == (1.0, 0.5, 0.5)


def test_what_is_lost_falls_straight_then_by_the_cube():
    sizes = read_sizes(histogram(b3=1000), 1.0)
    mean = 1.38 * 8
    assert sizes.lost(1) == pytest.approx((mean - 1) / mean)
    assert sizes.lost(8) == pytest.approx((mean - 8) / mean)
    assert sizes.lost(12) == pytest.approx(0.38 * 8 * 0.5**3 / mean)
    assert sizes.lost(16) == sizes.lost(100) == 0


def test_what_is_lost_is_near_what_rows_of_those_sizes_lose():
    rng = np.random.default_rng(3)
    rows = np.clip(np.rint(np.exp(rng.normal(3.0, 1.0, 20_000))), 1, 8000)
    counts = np.bincount(np.floor(np.log2(rows)).astype(int), minlength=BINS)
    sizes = read_sizes(counts, 10.0)
    for bound in (2, 5, 10, 30, 100):
        lost = np.maximum(rows - bound, 0).sum() / rows.sum()
        assert sizes.lost(bound) == pytest.approx(lost, abs=0.02)


def test_users_of_one_record_lose_nothing():
    sizes = read_sizes(histogram(b0=1000), 1.0)
    assert sizes.only_ones
    assert sizes.lost(1) == 0
    assert not read_sizes(histogram(b0=1000, b1=50), 1.0).only_ones


def test_another_number_of_bins_is_refused():
    with pytest.raises(UsageError, match="13 bins"):
        read_sizes([1.0, 2.0], 1.0)


def test_what_may_be_lost_unseen_is_in_the_bin_above_the_run():
    ones = read_sizes(histogram(b0=1000), 10.0)
    assert ones.hidden(1, 600) == pytest.approx(0.5 * 10 * 1.76 / 1000)
    assert ones.hidden(1, 2) == pytest.approx(0.5 * 10 * 1 / 1000)  # two records at most
    assert ones.hidden(1, 1) == ones.hidden(3, 600) == 0
    assert read_sizes(histogram(b12=1000), 10.0).hidden(1, 10**6) == 0  # there is none above
    assert read_sizes(histogram(b0=1), 10.0).hidden(1, 10**6) == 0


def test_no_more_users_than_two_deviations_above_their_number():
    assert read_sizes(histogram(b2=500, b3=500), 10.0).most_users == pytest.approx(
        1000 + 20 * np.sqrt(2)
    )
    assert read_sizes(histogram(b0=1), 10.0).most_users == np.inf


# ---- Bounds against a search by hand -------------------------------------------------------------


MANY = read_sizes([0, 0, 0, 0, 500, 1200, 1700, 1500, 800, 300, 40, 0, 0], 33.0)
ONES = read_sizes([5000.0] + [0.0] * 12, 33.0)
FEW = read_sizes([3.0] + [0.0] * 12, 33.0)


def by_hand(sizes: Sizes, epsilon: float, items: int) -> int:
    def error(theta: int) -> float:
        lost = sizes.lost(theta)
        spread = (0.27 * lost) ** 2 * 6 * (sizes.records / items) ** 2
        return 1.2 * (theta / (epsilon * (1 - lost))) ** 2 + spread

    errors = [error(theta) for theta in range(1, 2000)]
    return next(i for i, one in enumerate(errors, 1) if one <= 1.02 * min(errors))


@pytest.mark.parametrize("epsilon", [0.1, 0.8, 3.0])
@pytest.mark.parametrize("items", [200, 3883])
def test_theta_is_the_smallest_within_two_percent_of_the_least(epsilon, items):
    assert best_theta(MANY, epsilon, items, light=False) == max(by_hand(MANY, epsilon, items), 2)


def test_theta_is_at_least_two_unless_nobody_has_two():
    assert best_theta(MANY, 0.001, 10**6, light=False) >= 2
    assert best_theta(ONES, 1.0, 100, light=False) == 1


def test_light_theta_weighs_lost_mass_against_noise():
    sizes = read_sizes([3000, 900, 200, 50] + [0] * 9, 10.0)
    errors = [
        3 * (sizes.lost(theta) * sizes.records / 50) ** 2 + 2 * theta**2 for theta in range(1, 99)
    ]
    assert best_theta(sizes, 1.0, 50, light=True) == errors.index(min(errors)) + 1


def test_light_means_that_less_than_three_percent_is_lost():
    assert is_light(ONES, 1.0, 100)
    assert not is_light(MANY, 0.86, 3883)
    assert is_light(MANY, 1000.0, 10)


def test_cap_weighs_truncated_mass_against_the_noise_of_the_totals():
    errors = [
        (MANY.lost(cap) * MANY.records) ** 2 + 2 * 4 * (cap / 0.03) ** 2 for cap in range(1, 3000)
    ]
    assert best_cap(MANY, 4, 0.03) == errors.index(min(errors)) + 1


def test_unreliable_sizes_have_fixed_bounds():
    assert best_theta(FEW, 1.0, 1000, light=False) == 1
    assert best_cap(FEW, 4, 0.03) == 64
    assert not is_light(FEW, 1.0, 1000)


# ---- From bounded counts to counts ---------------------------------------------------------------


BOUNDED = np.repeat([400.0, 100.0, 25.0, 6.0], [5, 20, 80, 333])
GROUPS = np.repeat([0, 1, 2, 3], [5, 20, 80, 333])


def totals(a: float, b: float, deviation: float) -> list[Total]:
    slopes = np.log(BOUNDED) - np.average(np.log(BOUNDED), weights=BOUNDED)
    counts = BOUNDED * np.exp(a + b * slopes)
    return [
        Total(np.flatnonzero(g == GROUPS), float(counts[g == GROUPS].sum()), deviation)
        for g in range(4)
    ]


def test_clear_totals_are_met():
    found = calibrate(BOUNDED, 0.4, totals(log(3), 0.15, 1.0), None)
    assert (found.a, found.b) == pytest.approx((log(3), 0.15), abs=0.03)
    counts = BOUNDED * found.factors
    assert counts.sum() == pytest.approx(sum(t.value for t in totals(log(3), 0.15, 1.0)), rel=1e-3)
    assert found.factors[0] > found.factors[-1]  # heavy users have the large ones
    assert found.known


def test_without_totals_the_prior_speaks():
    found = calibrate(BOUNDED, 0.4, [], None)
    assert found.factors == pytest.approx(2.5)
    assert found.common == pytest.approx(0.03 + 0.3 * 0.6)


def test_noisy_totals_leave_it_to_the_prior():
    found = calibrate(BOUNDED, 0.4, totals(log(3), 0.15, 1e9), None)
    assert found.factors == pytest.approx(2.5, rel=1e-3)


def test_the_sum_stays_within_two_deviations_of_the_measured_total():
    """A prior far off and a narrow one: the total wins at its edge."""
    found = calibrate(BOUNDED, 0.99, totals(log(4), 0.0, 60.0), None)
    measured = sum(t.value for t in totals(log(4), 0.0, 60.0))
    assert (BOUNDED * found.factors).sum() == pytest.approx(measured - 2 * 2 * 60.0)


def test_the_slope_ends_where_totals_end():
    bounded = np.append(BOUNDED, [4000.0, 0.001])
    found = calibrate(bounded, 0.4, totals(log(3), 0.2, 1.0), None)
    assert found.factors[-2] == pytest.approx(found.factors[0])
    assert found.factors[-1] == pytest.approx(found.factors[437])


def test_empty_groups_are_dropped():
    parts = totals(log(3), 0.1, 1.0)
    bounded = BOUNDED.copy()
    bounded[GROUPS == 3] = 0.0
    found = calibrate(bounded, 0.4, parts, None)
    assert np.isfinite(found.factors).all()
    nothing = calibrate(np.zeros(10), 0.4, [Total(np.arange(10), 50.0, 1.0)], None)
    assert nothing.factors == pytest.approx(2.5)


def test_the_head_is_one_more_total():
    head = Total(np.arange(5), 5 * 400 * 5.0, 1.0)
    without, with_head = (calibrate(BOUNDED, 0.4, [], part) for part in (None, head))
    assert without.factors[0] == pytest.approx(2.5)
    assert with_head.factors[0] == pytest.approx(5.0, rel=0.15)
    assert with_head.common[0] < without.common[0]


def test_the_stated_deviation_is_that_of_repeated_fits():
    rng = np.random.default_rng(1)
    fits = []
    for _ in range(200):
        a, b = log(2.5) + 0.21 * rng.normal(), 0.15 * rng.normal()
        parts = [
            Total(part.places, part.value + 500 * rng.normal(), 500.0)
            for part in totals(a, b, 500.0)
        ]
        found = calibrate(BOUNDED, 0.4, parts, None)
        slopes = np.log(BOUNDED) - np.average(np.log(BOUNDED), weights=BOUNDED)
        fits.append((np.log(found.factors) - a - b * slopes)[[0, 437]] / found.common[[0, 437]])
    assert np.std(fits, axis=0) == pytest.approx(1.0, abs=0.35)


def test_nothing_known_changes_nothing():
    none = Calibration.none(3)
    assert none.factors.tolist() == [1, 1, 1]
    assert not none.known
    assert exp(none.a) == 1


def test_where_nothing_is_lost_only_what_is_hidden_is_uncertain():
    assert calibrate(BOUNDED, 1.0, [], None).common.max() < 1e-5
    found = calibrate(BOUNDED, 1.0, [], None, hidden=0.002)
    assert found.common == pytest.approx(0.002)
    assert calibrate(BOUNDED, 0.9, [], None, hidden=0.002).common == pytest.approx(0.06)


def test_where_sizes_say_nothing_totals_speak_alone():
    measured = totals(log(20), 0.0, 500.0)
    known, unknown = (
        calibrate(BOUNDED, 0.5, measured, None, reliable=reliable) for reliable in (True, False)
    )
    assert unknown.a == pytest.approx(log(20), abs=0.1)
    assert calibrate(BOUNDED, 0.5, [], None, reliable=False).common == pytest.approx(1.0)
    assert abs(unknown.a - log(20)) <= abs(known.a - log(20))


def test_many_items_are_fitted_as_if_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    bounded = rng.pareto(1.1, 60_000) * 3
    order = np.argsort(-bounded)
    groups = np.empty(len(bounded), dtype=np.int64)
    groups[order] = np.minimum(np.cumsum(bounded[order]) / bounded.sum() * 4, 3).astype(np.int64)
    true = bounded * np.exp(0.3 + 0.12 * np.log(bounded + 1e-9))
    totals = [
        Total(np.flatnonzero(groups == group), float(true[groups == group].sum()), 30.0)
        for group in range(4)
    ]
    gathered = calibrate(bounded, 0.7, totals, None)
    monkeypatch.setattr(rows, "_MOST_TERMS", len(bounded))
    alone = calibrate(bounded, 0.7, totals, None)
    assert gathered.b == pytest.approx(alone.b, rel=1e-5)
    np.testing.assert_allclose(gathered.factors, alone.factors, rtol=1e-6)
    np.testing.assert_allclose(gathered.common, alone.common, rtol=1e-5)


# ---- Estimates from rows that were scaled to a norm, with Gaussian noise -------------------------


@pytest.mark.parametrize("theta", [3, 8, 15])
def test_what_a_norm_leaves_out_is_expected(theta: int) -> None:
    """Of log-normal rows, by their histogram alone."""
    rng = np.random.default_rng(3)
    rows = np.maximum(np.rint(rng.lognormal(4, 1, 20_000)), 1)
    places = np.minimum(np.floor(np.log2(rows)), 12).astype(int)
    sizes = read_sizes(np.bincount(places, minlength=13), 5.0)
    for power in (0.5, 0.6):
        lost = float(np.maximum(rows - theta * rows ** (1 - power), 0).sum() / rows.sum())
        assert sizes.lost(theta, power) == pytest.approx(lost, abs=0.02)
    assert sizes.lost(theta, 0.5) < sizes.lost(theta)


def made(theta: int, seed: int = 5) -> tuple[ItemFacts, np.ndarray]:
    """Users of 100 items each, scaled to a norm of θ, and the true counts."""
    rng = np.random.default_rng(seed)
    users, items, each = 4000, 1500, 100
    likely = 1 / np.arange(3, items + 3)
    keys = rng.exponential(size=(users, items)) / likely
    has = np.zeros(items)
    for start in range(0, users, 500):
        chosen = np.argpartition(keys[start : start + 500], each, axis=1)[:, :each]
        has += np.bincount(chosen.ravel(), minlength=items)
    law = GaussianNoise(Fraction(theta**2 * 2**40, 2) / Fraction(1, 80), Fraction(1, 2**20))
    noisy = has * min(1, theta / each**0.5) + rng.normal(0, law.std(), items)
    bins = np.zeros(13)
    bins[6] = users
    sizes = Noisy(bins, DiscreteLaplace(Fraction(1)))
    return ItemFacts(items, Noisy(noisy, law), sizes, theta=theta, norm="l2"), has


def test_what_a_norm_left_out_is_put_back() -> None:
    facts, truth = made(5)
    found = estimate_items(facts)
    assert found.mean.sum() == pytest.approx(truth.sum(), rel=0.1)
    inside = (found.low <= truth) & (truth <= found.high)
    assert inside.mean() > 0.9


def test_intervals_hold_with_gaussian_noise() -> None:
    held = []
    for seed in range(4):
        facts, truth = made(10, seed)
        found = estimate_items(facts)
        held.append(np.mean((found.low <= truth) & (truth <= found.high)))
    assert 0.93 < np.mean(held) <= 1


def test_independent_noise_has_no_common_shift() -> None:
    assert common_of(IntervalNoise(Fraction(1), 20)) == 0.5
    law = GaussianNoise(Fraction(100))
    assert common_of(law) == 0
    expected = np.full((20, 3), 100.0)
    raised = expected + np.array([30.0, 0.0, 0.0])
    levels = [
        head_lifts(Head(np.arange(20), raised, 10.0, common), expected, np.full(3, 0.1)).level[0]
        for common in (0.0, 0.5)
    ]
    assert levels[0] == pytest.approx(0.3, abs=0.01)  # no shift explains any of it
    assert levels[1] < levels[0]


def test_squares_of_gaussian_noise_scatter_less() -> None:
    shares, rng = np.array([0.5, 0.3, 0.2]), np.random.default_rng(1)
    law = GaussianNoise(Fraction(81))
    scores = [
        excess(rng.normal(0, 9, (40, 3)), 9.0, shares, squares=squares_of(law)) for _ in range(400)
    ]
    assert np.std(scores) == pytest.approx(1, abs=0.15)
    assert squares_of(DiscreteLaplace(Fraction(9))) > squares_of(law)
