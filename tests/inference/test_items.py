"""Estimates of items: near the truth, and right as often as they say."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from crowdtally.core.counts import Keeping
from crowdtally.errors import UsageError
from crowdtally.inference.facts import Chosen, ItemFacts, Noisy, Summary
from crowdtally.inference.items import (
    ItemEstimates,
    bounded_counts,
    chances_among,
    equal_mass_groups,
    estimate_items,
    heaviest,
    kth_largest,
    largest,
)
from crowdtally.laws.laplace import DiscreteLaplace
from kit.simulated_items import SHAPES, Crowd, crowd, law, noise, release

# ---- From all that a release says to an estimate of every item -----------------------------------


@pytest.fixture(scope="module")
def people() -> Crowd:
    return crowd("zipf", np.random.default_rng(1), size=900, users=4000)


@pytest.fixture(scope="module")
def facts(people: Crowd) -> ItemFacts:
    return release(people, np.random.default_rng(2))


@pytest.fixture(scope="module")
def found(facts: ItemFacts) -> ItemEstimates:
    return estimate_items(facts)


def squares(counts: np.ndarray, people: Crowd) -> float:
    return float(((counts - people.truth) ** 2).mean())


def test_each_part_lowers_the_error(people, facts, found):
    assert facts.table is not None
    alone = estimate_items(ItemFacts(facts.size, table=facts.table))
    no_head = estimate_items(replace(facts, head=None))
    raw = facts.table.values
    assert squares(found.mean, people) < squares(no_head.mean, people)
    assert squares(found.mean, people) < 0.5 * squares(alone.mean, people)
    assert squares(alone.mean, people) < 1.02 * squares(raw, people)
    assert found.mean.sum() == pytest.approx(people.truth.sum(), rel=0.15)


def test_it_says_what_was_kept(people, facts, found):
    assert facts.theta is not None
    assert found.calibrated
    kept = people.rows(facts.theta).sum() / people.truth.sum()
    assert found.kept_share == pytest.approx(kept, abs=0.06)
    assert np.array_equal(
        found.bounded, estimate_items(ItemFacts(facts.size, table=facts.table)).mean
    )


def test_everything_is_in_order(found):
    for part in (found.mean, found.median, found.low, found.high, found.deviation, found.own):
        assert np.isfinite(part).all()
        assert (part >= 0).all()
    assert (found.low <= found.median).all()
    assert (found.median <= found.high).all()
    assert (found.own <= found.deviation * (1 + 1e-9)).all()


def test_same_facts_same_estimates(facts, found):
    again = estimate_items(facts)
    assert np.array_equal(again.mean, found.mean)
    assert np.array_equal(again.chance_among(10), found.chance_among(10))


def test_facts_are_left_as_they_were(facts, found):
    assert facts.table is not None
    before = facts.table.values.copy()
    estimate_items(facts)
    assert np.array_equal(facts.table.values, before)


def test_without_sizes_nothing_is_calibrated(facts):
    found = estimate_items(ItemFacts(facts.size, table=facts.table, theta=facts.theta))
    assert not found.calibrated
    assert found.kept_share == 1.0
    assert np.array_equal(found.mean, found.bounded)


def test_the_interval_contains_the_error_of_the_calibration(facts):
    blind = estimate_items(replace(facts, bins=None, head=None))
    place = int(np.argmax(blind.mean))
    assert blind.deviation[place] > 1.2 * blind.own[place]
    width = (blind.high - blind.low)[place] / blind.mean[place]
    assert width > 2 * 1.96 * 0.1  # lost at half, nothing measured


def test_the_crowd_is_as_measured(people, facts):
    places = np.array([0, 3])
    values = people.truth[places] + 5
    table = facts.table
    assert table is not None
    shown = table.values.copy()
    shown[places] = -500.0  # noise only: it says nothing about them
    crowded = replace(
        facts,
        table=Noisy(shown, table.law),
        bins=None,
        head=None,
        crowd=Chosen(places, values, DiscreteLaplace(Fraction(12))),
    )
    found = estimate_items(crowded)
    assert found.mean[places].tolist() == values.tolist()
    width = DiscreteLaplace(Fraction(12)).half_width(Fraction(19, 20))
    assert found.high[places] == pytest.approx(values + width, abs=1)
    others = np.setdiff1d(np.arange(facts.size), places)
    without = estimate_items(replace(crowded, crowd=None))
    assert found.mean[others] == pytest.approx(without.mean[others], rel=0.2, abs=0.5)


def test_with_repeats_the_head_does_not_calibrate(people, facts):
    assert facts.head is not None
    doubled = replace(facts.head, values=facts.head.values * 3)
    plain = estimate_items(replace(facts, repeats=True))
    tripled = estimate_items(replace(facts, repeats=True, head=doubled))
    rest = np.setdiff1d(np.arange(facts.size), facts.head.places)
    assert tripled.mean[rest] == pytest.approx(plain.mean[rest])
    assert tripled.mean[facts.head.places].sum() == pytest.approx(
        plain.mean[facts.head.places].sum(), rel=0.02
    )


def test_unreliable_sizes_count_as_half(facts):
    assert facts.sizes is not None
    assert facts.theta is not None
    nothing = replace(facts.sizes, values=np.zeros(13))
    found = estimate_items(replace(facts, sizes=nothing, bins=None, head=None))
    assert found.mean == pytest.approx(2 * found.bounded)


def test_a_zoom_lowers_the_error():
    rng = np.random.default_rng(4)
    people = crowd("zipf", rng, size=1500, users=600)
    with_zoom, without = [], []
    for _ in range(6):
        facts = release(people, rng, zoom=True)
        with_zoom.append(squares(estimate_items(facts).mean, people))
        without.append(squares(estimate_items(replace(facts, zoom=None)).mean, people))
    assert np.mean(with_zoom) < np.mean(without)


def test_a_small_domain_is_unbounded():
    law = DiscreteLaplace(Fraction(4))
    found = estimate_items(ItemFacts(3, table=Noisy(np.array([100.0, 7, -6]), law), exact=True))
    assert found.calibrated
    assert found.kept_share == 1.0
    assert found.mean[0] == pytest.approx(100, abs=0.1)
    assert 0 < found.mean[2] < 4.5
    assert found.low[2] == 0


def test_a_summary_has_estimates_of_all_items():
    rng = np.random.default_rng(5)
    truth = np.append(np.full(50, 300.0), np.zeros(950))
    values = np.rint(truth + noise(rng, 10, 1000))
    places = np.flatnonzero(np.abs(values) >= 40)
    summary = Summary(places, values[places], DiscreteLaplace(Fraction(10)), Keeping(40))
    found = estimate_items(ItemFacts(1000, summary=summary))
    assert not found.calibrated
    assert found.mean.sum() == pytest.approx(truth.sum(), rel=0.1)


def test_nothing_but_noise_stays_near_nothing():
    rng = np.random.default_rng(6)
    scale = 50.0
    facts = ItemFacts(
        2000,
        table=Noisy(noise(rng, scale, 2000), law(scale)),
        sizes=Noisy(noise(rng, 33, 13), law(33)),
        theta=1,
    )
    found = estimate_items(facts)
    assert found.mean.mean() < 0.3 * scale
    assert np.isfinite(found.high).all()


def test_no_table_is_refused():
    with pytest.raises(UsageError, match="without a table"):
        estimate_items(ItemFacts(5))


def ones(shown: list[float], *, repeats: bool = False, users: float = 6040.0) -> ItemFacts:
    """Two items, of which every user has one."""
    table = Noisy(np.array(shown), DiscreteLaplace(Fraction(1)))
    sizes = Noisy(np.array([users, *[0.0] * 12]), DiscreteLaplace(Fraction(100, 3)))
    return ItemFacts(2, table=table, sizes=sizes, theta=1, repeats=repeats)


def test_where_nobody_has_two_only_noise_and_hidden_users_are_uncertain():
    found = estimate_items(ones([4330.0, 1709.0]))
    reach = (found.high - found.low) / 2
    assert found.mean == pytest.approx([4330.0, 1709.0], abs=0.1)
    assert 4 < reach[0] < 40


def test_without_repeats_no_item_has_more_than_all_users():
    most = 6040 + 2 * DiscreteLaplace(Fraction(100, 3)).std()
    once, often = (estimate_items(ones([9000.0, 10.0], repeats=r)) for r in (False, True))
    assert once.mean[0] == once.high[0] == pytest.approx(most)
    assert often.mean[0] == pytest.approx(9000.0)


# ---- Lists that follow from estimates, and the chance of being among the largest -----------------


def estimates(*mean: float, own: float = 1.0) -> ItemEstimates:
    counts = np.array(mean)
    spread = np.full(len(counts), own)
    return ItemEstimates(
        counts, counts, counts, counts, spread, spread, counts, kept_share=1.0, calibrated=True
    )


def test_the_largest_come_first_and_ties_by_the_list():
    found = estimates(5, 9, 5, 1, 9)
    assert largest(found, 3).tolist() == [1, 4, 0]
    assert largest(found, 3, [4, 0]).tolist() == [1, 2, 3]
    assert largest(found, 0).tolist() == []
    assert largest(found, 99).tolist() == [1, 4, 0, 2, 3]


def test_the_heaviest_hold_the_share():
    found = estimates(5, 50, 5, 30, 10)
    assert heaviest(found, 0.5).tolist() == [1]
    assert heaviest(found, 0.51).tolist() == [1, 3]
    assert heaviest(found, 0.3, [1]).tolist() == [3]
    assert heaviest(found, 0.7, [1]).tolist() == [3, 4]
    assert heaviest(estimates(0, 0), 0.3).tolist() == []


def test_groups_hold_equal_mass_and_the_first_the_largest():
    rng = np.random.default_rng(1)
    found = estimates(*(100 * rng.pareto(1.5, 900)))
    groups = equal_mass_groups(found, 4, exclude=[7, 8])
    assert (groups == -1).nonzero()[0].tolist() == [7, 8]
    masses = np.bincount(groups[groups >= 0], found.mean[groups >= 0], minlength=4)
    assert masses == pytest.approx(masses.mean(), rel=0.1)
    for group in range(3):
        assert found.mean[groups == group].min() >= found.mean[groups == group + 1].max()
    assert sorted(set(equal_mass_groups(estimates(*[0.0] * 8), 4).tolist())) == [0, 1, 2, 3]
    assert equal_mass_groups(estimates(3), 4, exclude=[0]).tolist() == [-1]


def test_chances_add_up_and_match_draws():
    rng = np.random.default_rng(2)
    mean, spread = 100 * rng.pareto(2, 400), np.full(400, 15.0)
    found = chances_among(mean, spread, 10)
    assert found.sum() == pytest.approx(10)
    draws = mean + spread * rng.normal(size=(4000, 400))
    line = np.partition(draws, 390, axis=1)[:, 390]
    assert found == pytest.approx((draws >= line[:, None]).mean(axis=0), abs=0.06)


def test_chances_at_the_edges():
    assert estimates(1, 2, 3).chance_among(3).tolist() == [1, 1, 1]
    assert estimates(1, 2, 3).chance_among(0).tolist() == [0, 0, 0]
    assert estimates(1, 2, 30, own=0.0).chance_among(1).tolist() == [0, 0, 1]
    assert estimates(4, 4, 4, 4, own=0.0).chance_among(2) == pytest.approx([0.5] * 4)
    assert chances_among(np.empty(0), np.empty(0), 3).shape == (0,)


@pytest.mark.parametrize("size", [5, 3000, 70_001])
def test_the_kth_largest_is_found_whatever_is_equal(size: int) -> None:
    rng = np.random.default_rng(size)
    for values in (rng.random(size), rng.integers(0, 3, size) * 1.0, np.zeros(size)):
        for k in (1, 2, 5, min(size, 270)):
            assert kth_largest(values, k) == np.sort(values)[-k]


# ---- Whether intervals cover what they say, averaged over the cells of simulated releases --------


TOLERANCE = 0.03


def covered(people: Crowd, releases: int, seed: int) -> tuple[float, float]:
    """The share of bounded counts, and of true ones, inside their intervals of 95%."""
    rng = np.random.default_rng(seed)
    bounded, true = [], []
    for _ in range(releases):
        facts = release(people, rng)
        assert facts.theta is not None
        left, truth = people.rows(facts.theta), people.truth
        alone = bounded_counts(ItemFacts(facts.size, table=facts.table))
        bounded.append(((alone.low <= left) & (left <= alone.high)).mean())
        found = estimate_items(facts)
        true.append(((found.low <= truth) & (truth <= found.high)).mean())
    return float(np.mean(bounded)), float(np.mean(true))


@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_cover_what_they_say(shape):
    people = crowd(shape, np.random.default_rng(10))
    bounded, true = covered(people, 5, 20)
    # 5 releases of 600 cells, one calibration each: less than a point of chance
    assert bounded == pytest.approx(0.95, abs=TOLERANCE)
    assert true == pytest.approx(0.95, abs=TOLERANCE + 0.01)


@pytest.mark.long
@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_cover_what_they_say_over_a_thousand_releases(shape):
    bounded, true = np.mean(
        [
            covered(crowd(shape, np.random.default_rng(100 + seed)), 50, 200 + seed)
            for seed in range(20)
        ],
        axis=0,
    )
    print(f"{shape}: bounded counts {bounded:.3f}, true counts {true:.3f}")
    assert bounded == pytest.approx(0.95, abs=TOLERANCE)
    assert true == pytest.approx(0.95, abs=TOLERANCE)
