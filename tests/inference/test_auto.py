"""What ``auto`` infers on the way: heads, repeats, tastes, and when to stop."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from crowdtally.inference.facts import Chosen, ItemFacts, Noisy
from crowdtally.inference.heads import blend, total_of
from crowdtally.inference.items import bounded_counts
from crowdtally.inference.joint import Again
from crowdtally.inference.mixing import posterior
from crowdtally.inference.posterior import Noise
from crowdtally.inference.repeats import in_records
from crowdtally.inference.stopping import differ, excess
from crowdtally.inference.tastes import Tastes, odds, represented, shrunk_tastes
from crowdtally.laws.base import Combination
from crowdtally.laws.interval import IntervalNoise
from crowdtally.laws.laplace import DiscreteLaplace

# ---- Measured items join the calibrated ones -----------------------------------------------------


PLACES = np.arange(4)
COUNTS = np.array([1000.0, 800.0, 600.0, 400.0])
NONE = np.zeros(4)


def head(values: np.ndarray, scale: int = 10) -> Chosen:
    return Chosen(PLACES, values, DiscreteLaplace(Fraction(scale)))


def test_sharp_measurements_win():
    found = blend(head(COUNTS * 1.5, 1), COUNTS, np.full(4, 100.0**2), NONE, repeats=False)
    assert found is not None
    assert found.mean == pytest.approx(COUNTS * 1.5, rel=1e-2)
    assert np.sqrt(found.own) == pytest.approx(1.36, rel=0.02)
    assert found.scatter == pytest.approx(0.5, rel=0.15)


def test_blunt_measurements_hardly_count():
    found = blend(head(COUNTS * 1.5, 10**5), COUNTS, np.full(4, 4.0), NONE, repeats=False)
    assert found is not None
    assert found.mean == pytest.approx(COUNTS, rel=1e-3)
    assert found.scatter == 0.05  # at least


def test_scatter_that_noise_hides_is_the_usual_one():
    loud = COUNTS + 900 * np.array([1.0, -1.0, 1.0, -1.0])
    found = blend(head(loud, 500), COUNTS, NONE, NONE, repeats=False, usual=0.1)
    assert found is not None
    assert found.scatter == pytest.approx(0.1, abs=0.02)
    sharp = blend(head(COUNTS * 1.3, 5), COUNTS, NONE, NONE, repeats=False, usual=0.1)
    assert sharp is not None
    assert sharp.scatter == pytest.approx(0.3, rel=0.01)


def test_correlated_noise_hides_more():
    cells = 30
    counts, away = np.full(cells, 1000.0), np.where(np.arange(cells) % 2, 300.0, -300.0)
    law = IntervalNoise(Fraction(1, 10), cells)
    alike = DiscreteLaplace(Fraction(round(law.std() / 2**0.5 * 64), 64))
    found = [
        blend(Chosen(np.arange(cells), counts + away, one), counts, np.zeros(cells),
              np.zeros(cells), repeats=False)
        for one in (law, alike)
    ]  # fmt: skip
    assert found[0] is not None
    assert found[1] is not None
    assert found[0].scatter < found[1].scatter < 0.3


def test_the_weight_is_that_of_the_variances():
    law = DiscreteLaplace(Fraction(30))
    found = blend(head(COUNTS + 20, 30), COUNTS, np.full(4, 900.0), NONE, repeats=False)
    assert found is not None
    doubt = 900 + 0.05**2 * COUNTS**2
    weight = doubt / (doubt + law.std() ** 2)
    assert found.mean == pytest.approx(COUNTS + 20 * weight)
    assert found.own == pytest.approx(doubt * law.std() ** 2 / (doubt + law.std() ** 2))


def test_with_repeats_only_the_proportions_count():
    users = COUNTS[::-1] / 3
    found = blend(head(users, 1), COUNTS, np.full(4, 300.0**2), NONE, repeats=True)
    assert found is not None
    assert found.mean.sum() == pytest.approx(COUNTS.sum(), rel=0.05)
    assert found.mean[3] > found.mean[0]


def test_with_repeats_sharp_counts_are_not_overruled():
    users = np.array([300.0, 500.0, 200.0, 400.0])
    found = blend(head(users, 1), COUNTS, np.full(4, 1.0), NONE, repeats=True, usual=0.05)
    assert found is not None
    assert found.mean == pytest.approx(COUNTS, rel=0.1)
    assert found.mean.sum() == pytest.approx(COUNTS.sum())


def test_with_repeats_a_head_of_noise_is_left_out():
    assert blend(head(np.array([9.0, -9, 5, -4])), COUNTS, NONE, NONE, repeats=True) is None
    assert blend(head(COUNTS), NONE, NONE, NONE, repeats=True) is None


def test_an_error_of_the_calibration_counts_where_it_is_leaned_on():
    common = np.full(4, 0.2)
    leaning = blend(head(COUNTS, 10**4), COUNTS, NONE, common, repeats=False)
    sharp = blend(head(COUNTS, 1), COUNTS, np.full(4, 100.0**2), common, repeats=False)
    assert leaning is not None
    assert sharp is not None
    assert np.sqrt(leaning.variance - leaning.own) == pytest.approx(0.2 * COUNTS, rel=0.01)
    assert np.sqrt(sharp.variance) == pytest.approx(np.sqrt(sharp.own), rel=0.01)


def test_the_total_asks_the_law_about_its_sum():
    class Together(DiscreteLaplace):
        def std(self, of: Combination = Combination(1.0, 1.0)) -> float:  # noqa: B008
            return of.total

    chosen = Chosen(PLACES, COUNTS, Together(Fraction(1)))
    assert total_of(chosen).deviation == 4.0
    assert total_of(chosen).value == COUNTS.sum()


# ---- Cells that were measured twice --------------------------------------------------------------


B = 1000.0
LAW = DiscreteLaplace(Fraction(1000))
SHARP = DiscreteLaplace(Fraction(500))


def noise(rng: np.random.Generator, scale: float, size: int) -> np.ndarray:
    return np.rint(scale * (rng.exponential(size=size) - rng.exponential(size=size)))


def test_chosen_noise_is_seen_through():
    """Items chosen for their noise: both values together say that there is nothing."""
    rng = np.random.default_rng(1)
    values = noise(rng, B, 4000)
    places = np.sort(np.argsort(-values)[:300])
    again = Again(places, noise(rng, B, 300), Noise(LAW))
    found = posterior(values, LAW, also=again)
    assert found.mean[places].mean() < 0.35 * B
    assert (found.low[places] == 0).mean() > 0.95


def test_a_second_value_lowers_the_error_of_its_own_cells():
    rng = np.random.default_rng(2)
    truth = B * rng.pareto(1.2, 4000)
    values = np.rint(truth + noise(rng, B, 4000))
    alone = posterior(values, LAW)
    places = np.sort(np.argsort(-alone.mean)[:500])
    second = np.rint(truth[places] + noise(rng, B / 2, 500))
    both = posterior(values, LAW, also=Again(places, second, Noise(SHARP)))

    def error(found: np.ndarray) -> float:
        return float(((found - truth)[places] ** 2).mean())

    assert error(both.mean) < 0.35 * error(alone.mean)
    inside = (both.low[places] <= truth[places]) & (truth[places] <= both.high[places])
    assert 0.9 < inside.mean() < 0.99


def test_another_unit_and_a_ratio_say_the_same():
    rng = np.random.default_rng(3)
    values = np.rint(B * rng.pareto(1.2, 1000) + noise(rng, B, 1000))
    places = np.arange(0, 1000, 7)
    second = np.rint(values[places] + noise(rng, B, len(places)))
    plain = posterior(values, LAW, also=Again(places, second, Noise(LAW)))
    halves = posterior(values, LAW, also=Again(places, second, Noise(SHARP, 2.0)))
    assert halves.mean == pytest.approx(plain.mean, rel=1e-2, abs=1.0)


def test_many_pairs_are_taken_together_without_a_visible_difference(monkeypatch):
    rng = np.random.default_rng(4)
    truth = B * rng.pareto(2, 1500)
    values = np.rint(truth + noise(rng, B, 1500))
    again = Again(np.arange(1000), np.rint(truth[:1000] + noise(rng, B, 1000)), Noise(LAW))
    fine = posterior(values, LAW, also=again)
    monkeypatch.setattr("crowdtally.inference.joint._MOST_ROWS", 300)
    coarse = posterior(values, LAW, also=again)
    assert np.abs(coarse.mean - fine.mean).mean() < 0.06 * B


def test_a_zoom_is_brought_to_the_size_of_the_table_by_posterior_means():
    """The zoom keeps three times as much; raw sums of chosen items are too large for a ratio."""
    rng = np.random.default_rng(5)
    truth = np.append(np.full(100, 6.0), np.zeros(3900))
    law, unit = DiscreteLaplace(Fraction(4000), Fraction(1, 1000)), 1000
    table = np.rint(unit * (truth + 4 * (rng.exponential(size=4000) - rng.exponential(size=4000))))
    alone = posterior(table, law)
    places = np.sort(np.argsort(-table)[:300])
    zoomed = 3 * truth[places] + 4 * (rng.exponential(size=300) - rng.exponential(size=300))
    facts = ItemFacts(
        4000,
        table=Noisy(table / unit, law),
        zoom=Chosen(places, np.rint(zoomed * unit) / unit, law),
    )
    found = bounded_counts(facts)
    error = ((found.mean - truth) ** 2).mean()
    assert error < 0.9 * ((alone.mean - truth) ** 2).mean()
    # A ratio of raw sums would make the chosen items half as large again.
    assert found.mean[places].sum() < 1.35 * truth[places].sum()


def test_a_zoom_of_nothing_but_noise_is_left_out():
    rng = np.random.default_rng(6)
    values = noise(rng, B, 1000)
    facts = ItemFacts(
        1000,
        table=Noisy(values, LAW),
        zoom=Chosen(np.arange(20), -np.abs(noise(rng, B, 20)), LAW, 1),
    )
    assert np.array_equal(bounded_counts(facts).mean, posterior(values, LAW).mean)


# ---- A head of distinct users beside counts of records -------------------------------------------


USERS = np.array([6000.0, 5900.0, 5500.0, 4800.0, 4000.0, 3000.0])
RECORDS = np.array([90_000.0, 50_000.0, 30_000.0, 18_000.0, 11_000.0, 6_000.0])


def test_sharp_counts_say_how_records_grow_with_users():
    found = in_records(USERS, 1.0, RECORDS, (0.02 * RECORDS) ** 2)
    assert found.values.sum() == pytest.approx(RECORDS.sum())
    assert found.values[0] / found.values[-1] > 4  # of users twice as many


def test_blunt_counts_leave_records_in_proportion_to_users():
    found = in_records(USERS, 1.0, RECORDS, (5.0 * RECORDS) ** 2)
    assert found.values / USERS == pytest.approx(RECORDS.sum() / USERS.sum(), rel=0.1)


def test_what_the_fit_leaves_over_is_scatter():
    straight = in_records(USERS, 1.0, 3 * USERS, np.full(6, 1.0))
    zigzag = in_records(USERS, 1.0, USERS * [1, 5, 1, 5, 1, 5], np.full(6, 1.0))
    assert straight.scatter == 0.07**2
    assert straight.values == pytest.approx(3 * USERS, rel=1e-3)
    assert zigzag.scatter > 0.2


def test_noise_below_zero_does_not_matter():
    found = in_records(np.array([900.0, -20.0]), 2500.0, np.array([0.0, 0.0]), np.ones(2))
    assert np.isfinite(found.values).all()
    assert np.isfinite(found.noise).all()


# ---- Whether contexts differ: how often the look is wrong either way -----------------------------


SHARES = np.array([0.1, 0.2, 0.3, 0.4])
COUNTS_STOPPING = np.linspace(300, 100, 60)


def rate(true, scale: float, *, counts=None, shares=SHARES, times: int = 400) -> float:
    """How often noisy versions of these cells are found to differ."""
    rng = np.random.default_rng(7)
    seen = (true + rng.laplace(0, scale, true.shape) for _ in range(times))
    return np.mean([differ(cells, 2**0.5 * scale, shares, counts=counts) for cells in seen])


def test_contexts_that_do_not_differ_are_stopped_mostly():
    assert 0.2 < rate(np.outer(COUNTS_STOPPING, SHARES), 20, counts=COUNTS_STOPPING) < 0.4
    assert 0.2 < rate(np.zeros((15, 4)), 20) < 0.4


def test_contexts_that_differ_are_seen():
    rng = np.random.default_rng(1)
    lifted = np.outer(COUNTS_STOPPING, SHARES) * (1 + 0.6 * rng.standard_normal((60, 4)))
    assert rate(lifted, 20, counts=COUNTS_STOPPING) > 0.97
    tastes = 400 * SHARES * rng.standard_normal((15, 4)) * 0.3
    assert rate(tastes, 20) > 0.97


def test_a_context_of_heavy_users_is_no_difference():
    heavy = np.array([0.2, 0.2, 0.3, 0.3])  # of these rows; step 8 said something else
    assert rate(np.outer(COUNTS_STOPPING, heavy), 5, counts=COUNTS_STOPPING) < 0.4
    popular = COUNTS_STOPPING**1.3  # and the items' sizes are not quite as estimated either
    assert (
        rate(
            np.outer(popular * COUNTS_STOPPING.sum() / popular.sum(), SHARES),
            5,
            counts=COUNTS_STOPPING,
        )
        < 0.4
    )


def test_the_score_is_in_standard_deviations():
    rng = np.random.default_rng(5)
    scores = [excess(rng.laplace(0, 9, (40, 4)), 9 * 2**0.5, SHARES) for _ in range(600)]
    assert np.mean(scores) == pytest.approx(0, abs=0.2)
    assert 0.7 < np.std(scores) < 1.3


@pytest.mark.parametrize(
    "cells", [np.ones((5, 1)), np.empty((0, 4)), np.zeros((3, 4))], ids=["one", "none", "empty"]
)
def test_there_is_nothing_to_tell_apart(cells):
    shares = np.full(cells.shape[1], 1 / cells.shape[1])
    assert not differ(cells, 1.0, shares)
    assert not differ(cells, 0.0, shares)


# ---- Likings of features: how many users they stand for, and how far they reach ------------------


SHARES_TASTES = np.array([0.5, 0.3, 0.2])
PROFILE = np.array([0.25, 0.25, 0.5])
TASTES = Tastes(
    np.eye(3), np.zeros((3, 3)), 0.15 * 600 * SHARES_TASTES, PROFILE, PROFILE**-0.5, 0.15, 1e-6
)  # fmt: skip


def test_the_anchors_say_how_many_users_are_represented():
    assert represented(TASTES, 1000) == pytest.approx(600)
    assert represented(TASTES, 500) == 500  # never more than there are
    assert represented(replace(TASTES, anchors=-TASTES.anchors), 1000) == 50
    noisy = replace(TASTES, deviation=9.0)  # one deviation of the sum is added
    assert represented(noisy, 1000) == pytest.approx(600 + 3**0.5 * 9 / 0.15)


def test_likings_are_relative_to_the_profile():
    """A context whose users have 10% more of each of two features, and less of the third."""
    more = np.array([[0.0, 0.0, 0.025], [0.0, 0.0, 0.025], [0.0, 0.0, -0.05]])
    sums = TASTES.weights[:, None] * more * (600 * SHARES_TASTES)
    found = shrunk_tastes(replace(TASTES, sums=sums), SHARES_TASTES, np.zeros(3), 1000)
    ahead = found.mean[:, 2] - found.mean[:, 0]
    assert ahead == pytest.approx([0.1, 0.1, -0.1], abs=0.005)


def test_no_liking_is_endless_where_a_context_is_almost_empty():
    sums = np.array([[0, 0, 900.0], [0, 0, -900.0], [0, 0, 5.0]])
    found = shrunk_tastes(replace(TASTES, sums=sums), SHARES_TASTES, np.zeros(3), 1000)
    assert np.abs(found.mean).max() == 1.0


def test_a_share_that_is_too_small_by_chance_is_held_up_by_the_anchor():
    sums = TASTES.weights[:, None] * np.array([[0.02], [-0.02], [0.01]]) * (600 * SHARES_TASTES)
    wrong, unsure = np.array([0.6, 0.39, 0.01]), np.array([0.01, 0.01, 100.0])
    found = shrunk_tastes(replace(TASTES, sums=sums, deviation=1.0), wrong, unsure, 1000)
    assert np.abs(found.mean[:, 2]).max() < 0.1


def test_odds_leave_little_to_what_most_have():
    counts = np.array([-3.0, 0.0, 500.0, 5000.0])
    assert odds(counts, 1000, repeats=False) == pytest.approx([1.0, 1.0, 0.5, 0.1])
    assert odds(counts, 1000, repeats=True) == pytest.approx([1.0] * 4)
