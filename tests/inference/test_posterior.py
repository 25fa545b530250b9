"""Posteriors of single values, and the priors that are fitted to many."""

from __future__ import annotations

from fractions import Fraction
from time import thread_time

import numpy as np
import pytest

from crowdtally.core.counts import Keeping
from crowdtally.inference import mixing
from crowdtally.inference.empirical_bayes import by_magnitude, within
from crowdtally.inference.facts import Chosen
from crowdtally.inference.items import chances_among, from_summary
from crowdtally.inference.mixing import posterior, sparse_posterior
from crowdtally.inference.posterior import LEVEL, Noise, Posterior
from crowdtally.laws.laplace import DiscreteLaplace

# ---- The flat prior on counts of at least 0, against the sum by hand -----------------------------


@pytest.mark.parametrize("scale", ["1/2", "3", "20", "400"])
@pytest.mark.parametrize("value", [-9, 0, 2, 30])
def test_it_is_the_law_cut_off_at_nobody(scale, value):
    law = DiscreteLaplace(Fraction(scale))
    counts = np.arange(0, 20_000)
    chances = law.probabilities(value - counts)
    chances /= chances.sum()
    mean = float(chances @ counts)
    below = np.cumsum(chances)
    found = posterior([float(value)], law, flat=True)
    loose = 0.02 * float(law.scale) + 1e-9
    assert found.mean[0] == pytest.approx(mean, abs=loose)
    assert found.variance[0] == pytest.approx(float(chances @ counts**2) - mean**2, rel=0.01)
    for part, share in ((found.low, 0.025), (found.median, 0.5), (found.high, 0.975)):
        assert part[0] == pytest.approx(np.searchsorted(below, share), abs=max(loose, 1.0))


def test_few_cells_have_a_flat_prior_and_many_have_not():
    law = DiscreteLaplace(Fraction(100))
    values = np.zeros(199)
    few, many = posterior(values, law), posterior(np.zeros(200), law)
    assert few.mean == pytest.approx(100.0, rel=0.02)
    assert many.mean.max() < 20
    assert posterior(np.zeros(200), law, flat=True).mean[:1] == pytest.approx(few.mean[:1])


def test_far_above_nobody_the_interval_is_the_noise_interval():
    law = DiscreteLaplace(Fraction(10))
    found = posterior([1000.0], law, flat=True)
    width = law.half_width(Fraction(19, 20))
    assert (found.low[0], found.high[0]) == pytest.approx((1000 - width, 1000 + width), abs=1)


# ---- Empirical Bayes against the best possible, and at the edges ---------------------------------


B = 1000.0
LAW = DiscreteLaplace(Fraction(1000))


def noisy(truth: np.ndarray, seed: int = 1, scale: float = B) -> np.ndarray:
    rng = np.random.default_rng(seed)
    size = len(truth)
    return np.rint(truth + scale * (rng.exponential(size=size) - rng.exponential(size=size)))


def squares(found: np.ndarray, truth: np.ndarray) -> float:
    return float(((found - truth) ** 2).mean()) / B**2


def sound(found: Posterior) -> None:
    for part in found.parts():
        assert np.isfinite(part).all()
        assert (part >= 0).all()
    assert (found.low <= found.median).all()
    assert (found.median <= found.high).all()


def test_it_learns_a_prior_of_two_points():
    rng = np.random.default_rng(5)
    truth = np.where(rng.random(4000) < 0.2, 5 * B, 0.0)
    values = noisy(truth)
    found = posterior(values, LAW)
    odds = 0.2 * np.exp(-np.abs(values - 5 * B) / B) / 0.8 / np.exp(-np.abs(values) / B)
    best = 5 * B * odds / (1 + odds)
    assert squares(found.mean, truth) < 1.15 * squares(best, truth)
    assert squares(found.mean, truth) < 0.4 * squares(values, truth)


def test_the_median_is_not_the_mean():
    rng = np.random.default_rng(6)
    truth = B * rng.pareto(1.3, 5000) / 10
    found = posterior(noisy(truth), LAW)
    sound(found)
    assert np.abs(found.median - truth).mean() < np.abs(found.mean - truth).mean()
    assert squares(found.mean, truth) < squares(found.median, truth)


def test_pure_noise_is_near_nothing():
    found = posterior(noisy(np.zeros(3000)), LAW)
    sound(found)
    assert found.mean.mean() < 0.15 * B
    assert np.median(found.median) < 0.1 * B


def test_clear_signals_are_nearly_left_alone():
    truth = np.random.default_rng(7).uniform(100 * B, 10_000 * B, 1000)
    values = noisy(truth)
    found = posterior(values, LAW)
    assert np.array_equal(found.mean, values)
    assert found.variance == pytest.approx(2 * B**2, rel=1e-3)
    spread = posterior(noisy(truth / 200), LAW)
    assert squares(spread.mean, truth / 200) < 2.02  # not worse than the values themselves


def test_a_larger_value_never_has_a_smaller_estimate():
    rng = np.random.default_rng(8)
    truth = B * np.append(rng.pareto(0.8, 2000), rng.uniform(60, 90, 300))
    values = noisy(truth)
    order = np.argsort(values)
    found = posterior(values, LAW)
    for part in (found.mean, found.median, found.low, found.high):
        # where values are left alone their margin is that of the noise
        assert (np.diff(part[order]) >= -1e-6 * B).all()


@pytest.mark.parametrize("scale", ["1/1000000", "1/3", "1", "7", "1000", "1000000000000"])
def test_any_scale_any_values(scale):
    law = DiscreteLaplace(Fraction(scale))
    b = max(float(law.scale), 1.0)
    rng = np.random.default_rng(9)
    for values in ([5.0], [0.0] * 500, [3 * b] * 500, [-4 * b] * 300, rng.normal(0, 9 * b, 700)):
        found = posterior(np.rint(values), law)
        sound(found)
        assert len(found.mean) == len(values)
    lonely = posterior([1000 * b], law)
    assert lonely.mean[0] == pytest.approx(1000 * b, rel=0.01)
    assert posterior([], law).mean.shape == (0,)


def test_without_noise_counts_are_what_they_are():
    values = np.arange(400.0)
    found = posterior(values, DiscreteLaplace(Fraction(1, 1000)))
    assert np.array_equal(found.mean, values)
    assert np.array_equal(found.low, values)


def test_units_become_counts():
    law = DiscreteLaplace(Fraction(1000), Fraction(1, 8))
    values = noisy(np.full(500, 20 * B))
    assert posterior(values, law).mean == pytest.approx(posterior(values, LAW).mean / 8)
    assert posterior(values, law).variance == pytest.approx(posterior(values, LAW).variance / 64)


def test_values_are_taken_together_without_a_visible_difference():
    rng = np.random.default_rng(10)
    values = noisy(B * rng.pareto(1.5, 2000))
    fine = posterior(values, LAW)
    coarse = posterior(values * 1024, DiscreteLaplace(Fraction(1_024_000), Fraction(1, 1024)))
    assert coarse.mean == pytest.approx(fine.mean, abs=0.15 * B)
    assert np.abs(coarse.mean - fine.mean).mean() < 0.005 * B
    assert np.abs(coarse.high - fine.high).mean() < 0.02 * B


def test_a_million_cells_take_about_a_second():
    rng = np.random.default_rng(11)
    values = noisy(B * rng.pareto(1.2, 10**6))
    start = thread_time()
    posterior(values, LAW)
    assert thread_time() - start < 2  # the processor's time: others' work does not count


@pytest.mark.parametrize("share", [0.1, 0.01])
def test_a_large_table_of_mostly_empty_cells_keeps_its_total(share):
    """After a hundred EM steps the empty ones were taken for a few each: 46% too much."""
    rng = np.random.default_rng(12)
    truth = np.zeros(10**6)
    some = int(share * len(truth))
    truth[:some] = rng.normal(100, 20, some).round()
    law = DiscreteLaplace(Fraction(10))
    p = -np.expm1(-0.1)
    values = truth + rng.geometric(p, len(truth)) - rng.geometric(p, len(truth))
    assert posterior(values, law).mean.sum() == pytest.approx(truth.sum(), rel=0.03)


def test_a_rare_start_weighs_every_doubling_the_same():
    grid = np.append(0.0, np.geomspace(1, 1024, 400))
    weights = by_magnitude(grid)
    assert weights.sum() == pytest.approx(1)
    doublings = [weights[(grid > 2.0**k) & (grid < 2.0 ** (k + 1))].sum() for k in range(10)]
    assert doublings == pytest.approx([np.mean(doublings)] * 10, rel=0.1)
    assert weights[0] < 0.01


def test_a_prior_that_explains_the_mean_is_fitted_no_further():
    values = noisy(np.full(8000, 0.02 * B))
    limit = values.mean() + 2 * LAW.std() / 8000**0.5
    rare = posterior(values, LAW, rare=True).mean.mean()
    assert posterior(values, LAW).mean.mean() < 0.8 * rare  # fitted to the end: to the noise
    assert 0.93 * limit < rare < limit


def test_a_table_that_hardly_anybody_is_in_keeps_its_total():
    """One cell in twenty holds one, under noise of 20: from a flat prior it was 1.8 times that."""
    rng = np.random.default_rng(13)
    truth = (rng.random(400_000) < 0.05).astype(float)
    p = -np.expm1(-1 / 20)
    values = truth + rng.geometric(p, len(truth)) - rng.geometric(p, len(truth))
    values -= values.mean() - truth.mean()  # what is told apart is the bias, not this draw's luck
    found = posterior(values, DiscreteLaplace(Fraction(20))).mean.sum()
    assert found == pytest.approx(truth.sum(), rel=0.4)


# ---- Summaries that leave cells out, against the dense table they were taken from ----------------


LAW_CENSORED = DiscreteLaplace(Fraction(20))
SIZE = 5000
RULES = {
    "filter": Keeping(60),
    "one-sided": Keeping(60, sides="one"),
    "threshold": Keeping(0, Fraction(150)),
    "both": Keeping(40, Fraction(200), "one"),
}


def summary(keeping: Keeping, seed: int = 1) -> tuple[np.ndarray, Chosen]:
    rng = np.random.default_rng(seed)
    truth = np.rint(np.where(rng.random(SIZE) < 0.1, 150 * rng.pareto(1.5, SIZE), 0))
    values = truth + rng.geometric(1 - np.exp(-1 / 20), SIZE)
    values -= rng.geometric(1 - np.exp(-1 / 20), SIZE)
    weight = np.abs(values) if keeping.sides == "two" else np.maximum(values, 0)
    kept = weight >= keeping.least
    if keeping.samples:
        assert keeping.threshold is not None
        kept &= rng.random(SIZE) < weight / float(keeping.threshold)
    places = np.flatnonzero(kept)
    found = values[places].astype(float)
    return truth, Chosen(found, LAW_CENSORED, places=places, keeping=keeping)


@pytest.mark.parametrize("rule", RULES)
def test_missing_cells_are_estimated_by_what_is_left_out(rule):
    truth, found = summary(RULES[rule])
    kept, others = sparse_posterior(found, SIZE, LEVEL)
    missing = np.delete(truth, found.places)
    assert others.mean[0] == pytest.approx(missing.mean(), rel=0.5, abs=1.5)
    assert (missing <= others.high[0]).mean() > 0.94
    assert others.low[0] == 0
    inside = (kept.low <= truth[found.places]) & (truth[found.places] <= kept.high)
    assert inside.mean() > 0.9


def test_kept_noise_is_seen_through():
    truth, found = summary(Keeping(60))
    kept, _ = sparse_posterior(found, SIZE, LEVEL)
    known = truth[found.places]
    assert ((kept.mean - known) ** 2).mean() < 0.9 * ((found.values - known) ** 2).mean()


def test_every_cell_of_a_list_has_an_estimate():
    truth, found = summary(RULES["filter"])
    dense = from_summary(found, SIZE, LEVEL)
    assert dense.mean.sum() == pytest.approx(truth.sum(), rel=0.1)
    missing = np.delete(dense.mean, found.places)
    assert (missing == missing[0]).all()
    assert missing[0] < dense.mean[found.places].mean() / 10


def test_any_number_of_cells():
    _, found = summary(RULES["filter"])
    kept, others = sparse_posterior(found, 10**18, LEVEL)
    assert np.isfinite(kept.mean).all()
    assert others.mean[0] < 1
    no_places = np.empty(0, dtype=np.int64)
    nothing = Chosen(np.empty(0), LAW_CENSORED, places=no_places, keeping=Keeping(60))
    for size in (10, 10**9):
        kept, others = sparse_posterior(nothing, size, LEVEL)
        assert kept.mean.shape == (0,)
        assert 0 <= others.mean[0] < 60
        assert others.high[0] >= others.median[0] >= others.low[0]


@pytest.mark.parametrize("rule", RULES)
def test_the_chance_of_missing_is_that_of_the_rule(rule):
    keeping = RULES[rule]
    counts = np.array([0.0, 30.0, 100.0])
    found = mixing._missing(Noise(LAW_CENSORED), keeping, counts)
    values = np.arange(-1500, 1500)
    weight = np.abs(values) if keeping.sides == "two" else np.maximum(values, 0)
    kept = (weight >= keeping.least).astype(float)
    if keeping.samples:
        assert keeping.threshold is not None
        kept *= np.minimum(weight / float(keeping.threshold), 1)
    for chance, count in zip(found, counts, strict=True):
        missing = float(LAW_CENSORED.probabilities(values - count) @ (1 - kept))
        assert chance == pytest.approx(missing, rel=0.01)


# ---- Cells that noise may explain have no more than is left for them -----------------------------


SIZE_SPARSE = 100_000


def posterior_sparse() -> tuple[Posterior, np.ndarray]:
    """One large cell, one doubtful one, some small ones, and many that were not published."""
    found, seen = Posterior.empty(SIZE_SPARSE), np.zeros(SIZE_SPARSE, dtype=np.bool_)
    seen[:50] = True
    found.mean[:], found.variance[:], found.high[:] = 0.05, 0.2, 3.0
    found.mean[:50], found.variance[:50] = 0.5, 2.0
    found.mean[0], found.low[0], found.high[0], found.variance[0] = 400.0, 380.0, 420.0, 100.0
    found.mean[1], found.variance[1], found.high[1] = 20.0, 40.0, 30.0
    return found, seen


def test_they_add_up_to_what_is_left() -> None:
    (before, seen), (found, _) = posterior_sparse(), posterior_sparse()
    within(900.0, seen, found)
    assert found.mean.sum() == pytest.approx(900.0, rel=1e-6)
    assert found.mean[0] == 400.0
    assert 10.0 < found.mean[1] < 20.0  # more evidence loses less
    assert found.mean[2] / before.mean[2] < found.mean[1] / before.mean[1]
    assert len(np.unique(found.mean[50:])) == 1
    assert (found.variance[1:] > 0).all()
    np.testing.assert_array_equal(found.high, before.high)


def test_nothing_changes_where_there_is_enough() -> None:
    (before, seen), (found, _) = posterior_sparse(), posterior_sparse()
    within(1e6, seen, found)
    np.testing.assert_array_equal(found.mean, before.mean)


def test_nothing_is_left_where_large_cells_have_all() -> None:
    found, seen = posterior_sparse()
    within(300.0, seen, found)
    assert found.mean.sum() == pytest.approx(400.0, abs=1e-3)


def test_cells_far_below_the_line_do_not_matter() -> None:
    """Chances add up to k, whether most cells leave the race early or late."""
    mean = np.concatenate([np.linspace(100, 50, 20), np.zeros(5_000)])
    found = chances_among(mean, np.concatenate([np.full(20, 6.0), np.full(5_000, 0.5)]), 7)
    assert found.sum() == pytest.approx(7, abs=1e-6)
    assert (np.diff(found[:20]) <= 0).all()
    assert not found[20:].any()
