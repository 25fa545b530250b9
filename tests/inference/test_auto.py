"""Estimates of a release of auto: laws of theirs, and numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import exp, hypot, inf, log, sqrt

import numpy as np
import pytest

from crowdtally.core.counts import Keeping
from crowdtally.core.layout import ITEMS, SIZES
from crowdtally.errors import UsageError
from crowdtally.inference.auto import _bent, estimate_auto, joined
from crowdtally.inference.facts import AutoFacts, Chosen, Noisy
from crowdtally.inference.heads import blended
from crowdtally.inference.rows import BINS, RowLengths, bin_of
from crowdtally.laws.base import NoiseLaw
from crowdtally.laws.gaussian import GaussianNoise
from crowdtally.laws.interval import IntervalNoise
from crowdtally.laws.laplace import DiscreteLaplace

GRID = Fraction(1, 1 << 20)
SURE = Fraction(1, 1000)
"""A scale of noise that is none."""
REACH = 1.959964


def laplace(scale: Fraction | int) -> DiscreteLaplace:
    return DiscreteLaplace(scale / GRID, GRID)


def table(values, bound: int, scale: Fraction | int = SURE, law: NoiseLaw | None = None) -> Noisy:
    return Noisy(np.asarray(values, dtype=float), law or laplace(scale), bound)


def users(sd: float = 0.01, **bins: float) -> RowLengths:
    """Lengths of rows: so many users of rows of this length (r5=100), and no noise to speak of."""
    noisy = np.zeros(BINS)
    for name, number in bins.items():
        noisy[bin_of(int(name[1:]))] = number
    return RowLengths(noisy, sd)


def zipf(size: int, total: float) -> np.ndarray:
    ranks = np.arange(1, size + 1.0)
    return total * ranks**-0.8 / (ranks**-0.8).sum()


LONG = users(r9=500, r17=1000, r33=1500, r65=700, r129=300, r257=100)
KEPT = LONG.kept(20)[0]
TRUTH = zipf(200, LONG.records)


def long_rows(scale: Fraction | int = SURE, seed: int = 0, **more) -> AutoFacts:
    """Rows that are mostly longer than their bound of 20, each cut alike."""
    noise = 0 if scale == SURE else np.random.default_rng(seed).laplace(0, float(scale), 200)
    total = table([LONG.records * LONG.kept(2000)[0]], 2000)
    return AutoFacts(200, LONG, "long", table(KEPT * TRUTH + noise, 20, scale), total=total, **more)


def sound(facts: AutoFacts) -> None:
    """What holds of any estimates."""
    found = estimate_auto(facts)
    items = found.items
    for part in (items.mean, items.median, items.low, items.deviation, items.own, found.factors):
        assert part.shape == (facts.size,)
        assert np.isfinite(part).all()
        assert (part >= 0).all()
    assert (items.low <= items.median).all()
    assert (items.median <= items.high).all()
    assert (items.low <= items.mean).all()
    assert (items.mean <= items.high).all()
    assert (items.own <= items.deviation * (1 + 1e-9)).all()
    assert 0 <= found.total.low <= found.total.mean <= found.total.high
    again = estimate_auto(facts)
    assert np.array_equal(again.items.mean, items.mean)
    order = np.argsort(items.bounded, kind="stable")
    if facts.head is None and facts.short is None:
        assert (np.diff(items.mean[order]) >= -1e-9 * items.mean.max()).all()


ONES = users(r1=3000, r2=1500, r3=500)


@pytest.mark.parametrize("size", [1, 3, 29, 30, 400])
@pytest.mark.parametrize("path", ["short", "rich", "long"])
@pytest.mark.parametrize("law", [laplace(30), GaussianNoise(900 / GRID**2, GRID)])
def test_any_release_has_sound_estimates(size: int, path, law: NoiseLaw):
    rng = np.random.default_rng(size)
    values = rng.pareto(1, size) * 30 + rng.laplace(0, 30, size)
    for lengths in (ONES, LONG, users(sd=100, r9=300)):
        facts = AutoFacts(size, lengths, path, table(values, 3, law=law))
        sound(facts)
        sound(replace(facts, items=table(-values, 3, law=law)))  # hardly anything is above 0
        if size > 4:
            places = np.argsort(-values)[: size // 4]
            law = IntervalNoise(Fraction(1, 9), len(places))
            head = Chosen(values[places] * 2, law, places=places)
            sound(replace(facts, head=head, total=table([900.0], 9, 20)))
            repeats = replace(head, law=laplace(9), bound=3)
            sound(replace(facts, head=repeats, repeats=True))


@pytest.mark.parametrize("named", [SIZES.name, ITEMS.name])
def test_a_release_without_sizes_or_items_is_refused(named: str):
    tables = {named: table(np.zeros(BINS), 1)}
    with pytest.raises(UsageError, match="a table of sizes, and one of all items"):
        AutoFacts.of(BINS, tables, "short", 0.55, rich=False, repeats=False)


# ---- Short rows, and long ones of which most were counted whole ----------------------------------


def test_short_rows_without_noise_are_exact():
    truth = zipf(50, ONES.records)
    found = estimate_auto(AutoFacts(50, ONES, "short", table(truth, 3)))
    assert found.items.mean == pytest.approx(truth, rel=0.01)
    assert found.total.mean == pytest.approx(ONES.records, rel=1e-3)
    assert found.items.calibrated
    assert (found.items.high - found.items.low)[0] < 0.02 * truth[0]


def test_what_short_rows_lose_is_put_back():
    kept = ONES.kept(1)[0]
    assert kept == pytest.approx(5000 / 7500, rel=0.01)
    facts = AutoFacts(50, ONES, "short", table(kept * zipf(50, 7500), 1))
    found = estimate_auto(facts)
    assert found.items.mean == pytest.approx(zipf(50, 7500), rel=0.02)
    assert found.factors == pytest.approx(1 / kept, rel=0.01)
    assert found.scatter == pytest.approx(0.3 * (1 - kept))
    assert found.total.deviation == pytest.approx(0.7 * (1 - kept) * 7500, rel=0.02)
    place, largest = 0, found.items.mean[0]
    heavy = (1 / kept - 1) * largest
    off = hypot(found.scatter, found.common)
    expected = largest / exp(REACH * off) - REACH * sqrt(heavy)
    assert found.items.low[place] == pytest.approx(expected, rel=0.01)
    up = largest * exp(REACH * off) + REACH * sqrt(heavy) + ONES.unseen(1) * largest / 7500
    assert found.items.high[place] == pytest.approx(up, rel=0.01)
    own = hypot(sqrt(heavy), found.scatter * largest)
    assert found.items.own[place] == pytest.approx(own, rel=0.01)


def test_intervals_reach_over_the_noise_and_the_posterior():
    """Those of the noise alone are wrong for listed items, those of the posterior for others."""
    rng = np.random.default_rng(3)
    truth = np.append(np.full(5, 300.0), np.zeros(295))
    lengths = users(r1=1500)
    facts = AutoFacts(300, lengths, "short", table(truth + rng.laplace(0, 40, 300), 1, 40))
    found, values = estimate_auto(facts).items, facts.items.values
    margin = 40 * log(20)
    assert (found.low <= np.maximum(values - margin, 0) + 0.1).all()
    assert (found.high >= np.maximum(values + margin, 0) - 0.1).all()
    listed = np.argsort(-found.mean)[:10]  # some are empty, with luck
    covered = (found.low <= truth) & (truth <= found.high)
    assert covered[listed].mean() >= 0.9
    alone = estimate_auto(replace(facts, items=table(truth - 100.0, 1, 40))).items
    assert alone.low[:5].max() < 200 < alone.high[:5].min()


def test_a_lucky_item_s_interval_reaches_down_to_what_most_are():
    values = np.zeros(300)
    values[7] = 250.0  # of 300 empty items with a scale of 40, one has this with luck
    found = estimate_auto(AutoFacts(300, users(r1=1500), "short", table(values, 1, 40))).items
    assert found.low[7] == 0.0
    assert found.high[7] >= 250


def test_few_items_have_no_prior():
    values = np.array([500.0, -20.0, 8.0])
    found = estimate_auto(AutoFacts(3, users(r1=1000), "short", table(values, 1, 10))).items
    assert found.bounded.tolist() == [500, 0, 8]
    assert found.low[0] == pytest.approx(500 - 10 * log(20), abs=0.01)
    assert found.high[1] >= 10 * log(20) - 20 - 0.01
    factor = estimate_auto(AutoFacts(3, users(r1=1000), "short", table(values, 1, 10))).factors[0]
    assert found.mean.tolist() == pytest.approx([500 * factor, 0, 8 * factor])
    thirty = estimate_auto(
        AutoFacts(30, ONES, "short", table(np.append([500.0], np.ones(29)), 1, 10))
    )
    assert thirty.items.bounded[5] > 1.0  # 29 are alike: the noise would be cut off at 0


def classes(kappa: float = 0.55) -> tuple[AutoFacts, np.ndarray]:
    split, bound = 32, 60
    kept = LONG.kept(bound, split)[0]
    whole = LONG.records_up_to(split)
    short, rest = zipf(200, whole), zipf(200, LONG.records - whole)[::-1]
    facts = AutoFacts(
        200, LONG, "rich", table(kept * rest, bound), table(short, split), kappa=kappa
    )  # fmt: skip
    return facts, short + rest


def test_two_classes_are_added_and_only_long_rows_are_scaled_up():
    facts, truth = classes()
    found = estimate_auto(facts)
    assert found.items.mean == pytest.approx(truth, rel=0.02)
    kept = LONG.kept(60, 32)[0]
    assert found.factors == pytest.approx(1 / kept, rel=0.01)
    assert found.items.bounded == pytest.approx(facts.short.values + facts.items.values, rel=0.02)
    assert found.total.mean == pytest.approx(LONG.records, rel=0.01)


def test_kappa_says_how_far_long_rows_may_differ():
    shift = LONG.kept(60, 32)[1]
    low, high = (estimate_auto(classes(kappa)[0]) for kappa in (0.55, 1.5))
    assert low.scatter == pytest.approx(0.55 * shift)
    assert high.scatter == pytest.approx(1.5 * shift)
    assert (high.items.low < low.items.low).all()


def test_where_next_to_nothing_is_lost_half_of_it_is_thought_to_be():
    lengths = users(r9=1000, r17=500, r33=3)
    lost = 1 - lengths.kept(32)[0]
    assert 0.001 < lost < 0.01
    values = zipf(100, (1 - lost) * lengths.records)
    rich = estimate_auto(AutoFacts(100, lengths, "rich", table(values, 32)))
    assert rich.factors[0] == pytest.approx(2 / (2 - lost), rel=1e-3)
    assert rich.common == 0.0
    least = rich.total.mean + REACH * rich.total.deviation
    unseen = lengths.unseen(32) + lost / 2 * lengths.records
    assert rich.total.high == pytest.approx(least + unseen)


# ---- Long rows: a total, a head ------------------------------------------------------------------


def test_the_total_and_the_table_are_weighed_by_their_errors():
    facts = long_rows()
    found = estimate_auto(facts)
    assert found.total.mean == pytest.approx(LONG.records, rel=0.01)
    assert found.items.mean == pytest.approx(TRUTH, rel=0.02)
    lost = 1 - LONG.kept(2000)[0]
    a, b = hypot(LONG.doubt(2000), 0.5 * lost), hypot(LONG.doubt(20), 0.3 * (1 - KEPT))
    short = hypot(LONG.doubt(60), 0.5 * (1 - LONG.kept(60)[0]))
    assert 0.5 < short / b < 2
    more = replace(facts, total=table([1.3 * LONG.kept(60)[0] * LONG.records], 60))
    shifted = estimate_auto(more).total.mean / LONG.records - 1
    assert shifted == pytest.approx(0.3 * b**2 / (short**2 + b**2), rel=0.05)
    alone = estimate_auto(replace(facts, total=None))
    assert alone.common == pytest.approx(b, rel=0.01)
    assert found.common == pytest.approx(max(1 / hypot(1 / a, 1 / b), 0.005), rel=0.01)


def test_the_total_reaches_up_to_what_was_not_seen():
    found = estimate_auto(long_rows()).total
    doubt = hypot(estimate_auto(long_rows()).common, 0.1 * min(1, 2 * (1 - KEPT)))
    assert found.deviation == pytest.approx(doubt * found.mean)
    assert found.low == pytest.approx(found.mean - REACH * found.deviation)
    assert found.high == pytest.approx(found.mean + REACH * found.deviation + LONG.unseen(2000))


def test_repeats_are_twice_as_unsure():
    once, often = (estimate_auto(long_rows(repeats=repeats)) for repeats in (False, True))
    assert once.scatter == pytest.approx(0.3 * (1 - KEPT))
    assert often.scatter == pytest.approx(0.6 * (1 - KEPT))
    assert (often.items.low < once.items.low).all()


def test_rows_of_many_records_make_small_counts_vary():
    facts = long_rows()
    users_in, mean = LONG.users_in, LONG.mean_row
    squares = (users_in * mean * np.minimum(1, 20 / mean) ** 2).sum() / LONG.records
    heavy = squares / KEPT**2 - 1
    found = estimate_auto(facts)
    c = found.items.mean[-1]
    beyond = found.items.own[-1] ** 2 - (found.scatter * c) ** 2
    assert beyond == pytest.approx(heavy * c, rel=0.01)
    often = estimate_auto(replace(facts, repeats=True))
    beyond = often.items.own[-1] ** 2 - (often.scatter * c) ** 2
    assert beyond == pytest.approx(4 * heavy * c, rel=0.01)


WEAK = users(sd=400, r9=600, r17=1200, r33=1400, r65=700)


def test_weak_lengths_scale_nothing_up():
    assert WEAK.weak
    facts = replace(long_rows(), lengths=WEAK)
    found = estimate_auto(facts)
    assert found.items.mean.sum() == pytest.approx(KEPT * TRUTH.sum(), rel=0.01)
    assert not found.items.calibrated
    assert found.common == 0.5
    assert found.total.high == pytest.approx(WEAK.records + WEAK.unseen(0))
    ratio = found.items.high[0] / found.items.mean[0]
    assert ratio > found.total.high / found.total.mean


def head_of(values, law: NoiseLaw | None = None, bound: float = inf) -> Chosen:
    places = np.arange(len(values))
    return Chosen(np.asarray(values, dtype=float), law or laplace(SURE), bound, places=places)


def test_a_sharp_head_is_believed_and_the_rest_adds_up():
    values = TRUTH[:16] * np.linspace(1.2, 0.9, 16)
    found = estimate_auto(long_rows(head=head_of(values)))
    assert found.items.mean[:16] == pytest.approx(values, rel=0.01)
    assert found.items.mean.sum() == pytest.approx(found.total.mean)
    assert found.items.deviation[0] < 0.01 * values[0]


def test_the_bend_is_halved_where_the_head_is_15_percent_unsure():
    z = KEPT * TRUTH
    head = blended(head_of(z[:16] * 5), z[:16] * 5, np.zeros(16), 0.5, repeats=False)
    assert head is not None
    powers = []
    for deviation in (0.0, 0.15 * head.mean.sum()):
        factor = _bent(z, 10.0, LONG.records, 0.0, replace(head, sum_deviation=deviation))
        powers.append(log(factor[0] / factor[50]) / log(z[0] / z[50]))
        assert factor[16:] @ z[16:] == pytest.approx(LONG.records - head.mean.sum())
    assert powers[0] > 0.1
    assert powers[1] == pytest.approx(powers[0] / 2)


def test_a_head_that_no_power_explains_bends_nothing():
    values = 100 * TRUTH[:16]
    found = estimate_auto(long_rows(head=head_of(values)))
    assert found.factors[20] == pytest.approx(found.factors[-1])
    assert found.items.mean[16:].sum() == pytest.approx(0.02 * found.total.mean)


def test_a_head_of_noise_alone_is_left_out():
    law = laplace(100)
    values = np.full(16, 3 * sqrt(2) * 100 / 4 * 0.99)
    facts = long_rows(repeats=True)
    ignored = estimate_auto(replace(facts, head=head_of(values, law, 4)))
    assert np.array_equal(ignored.items.mean, estimate_auto(facts).items.mean)


def test_factors_are_of_the_curve_also_in_the_head():
    values = TRUTH[:16] * np.tile([1.2, 0.8], 8)
    found = estimate_auto(long_rows(head=head_of(values)))
    assert (np.diff(found.factors) <= 0).all()  # by size alone, not by what was measured
    assert found.factors[0] < 0.95 * found.items.mean[0] / found.items.bounded[0]


# ---- Contexts, Gaussian noise, summaries ---------------------------------------------------------


def test_items_are_joined_with_their_cells_by_inverse_variance():
    one, two = table([100.0, 50.0], 5, 3), table([[40.0, 70.0], [20.0, 20.0]], 5, 6)
    found = joined(one, two)
    assert found.values == pytest.approx([(8 * 100 + 110) / 9, (8 * 50 + 40) / 9])
    assert found.std == pytest.approx(sqrt(1 / (1 / 18 + 1 / 144)), rel=1e-5)
    bells = [Noisy(part.values, GaussianNoise(part.law.scale**2, GRID), 5) for part in (one, two)]
    assert joined(*bells).values == pytest.approx(found.values)
    assert joined(*bells).std == pytest.approx(sqrt(1 / (1 / 9 + 1 / 72)), rel=1e-5)


def test_gaussian_noise_has_the_bell_s_interval():
    law = GaussianNoise(100 / GRID**2, GRID)
    found = estimate_auto(AutoFacts(2, users(r1=1000), "short", table([700.0, 300.0], 1, law=law)))
    assert found.items.low[0] == pytest.approx(700 - 10 * REACH, abs=0.01)


@pytest.mark.parametrize("measured", [False, True])
def test_a_summary_is_brought_to_all_records(measured: bool):
    rng = np.random.default_rng(5)
    truth = np.append(np.full(50, 900.0), np.zeros(3950))
    kept = LONG.kept(20)[0]
    values = np.rint(kept * truth + rng.laplace(0, 10, 4000))
    places = np.flatnonzero(np.abs(values) >= 60)
    law, keeping = DiscreteLaplace(Fraction(10)), Keeping(60)
    summary = Chosen(values[places], law, 20, places=places, keeping=keeping)
    facts = AutoFacts(4000, LONG, "long", summary)
    if measured:
        facts = replace(facts, total=table([truth.sum()], 2000))
    found = estimate_auto(facts)
    assert found.items.mean[:50].mean() == pytest.approx(900, rel=0.05)
    assert found.items.calibrated
    assert found.factors == pytest.approx(1 / kept)
    assert found.total.mean == pytest.approx(truth.sum() if measured else LONG.records, rel=0.05)
    assert found.items.mean.sum() <= found.total.mean * (1 + 1e-9)
    weak = estimate_auto(replace(facts, lengths=WEAK))
    assert weak.items.mean[:50].mean() == pytest.approx(kept * 900, rel=0.05)
    assert not weak.items.calibrated
    assert weak.total.mean == pytest.approx(weak.items.mean.sum())
    assert weak.total.high >= WEAK.records


def test_intervals_of_another_level():
    wide, narrow = (
        estimate_auto(long_rows(Fraction(9)), level).items
        for level in (Fraction(99, 100), Fraction(1, 2))
    )
    assert (wide.high - wide.low > narrow.high - narrow.low).all()


def test_intervals_cover_what_they_say():
    rng = np.random.default_rng(8)
    covered, totals = [], []
    for seed in range(20):
        noise = IntervalNoise(Fraction(1, 40), 16)
        head = head_of(TRUTH[:16] + rng.normal(0, noise.std(), 16), noise)
        found = estimate_auto(long_rows(Fraction(80), seed, head=head))
        items = found.items
        covered.append(((items.low <= TRUTH) & (items.high >= TRUTH)).mean())
        totals.append(found.total.low <= LONG.records <= found.total.high)
    assert np.mean(covered) > 0.94
    assert np.mean(totals) > 0.9
