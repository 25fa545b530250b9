"""Every method on a bench without noise, beside a plain computation."""

from __future__ import annotations

from fractions import Fraction
from math import exp, isclose, log
from pathlib import Path

import numpy as np
import pytest

from crowdtally.curator.bounding.scaling import DPSense, DPSenseS
from crowdtally.curator.choices.bounds import RowTable
from crowdtally.curator.counting.bounded import count_scaled
from crowdtally.curator.counting.users import scaled_sums
from crowdtally.lab.baselines.base import Bounded, keyed
from crowdtally.lab.baselines.gs import width
from crowdtally.lab.rehearse import true_counts
from crowdtally_research.reproducing.papers.day_li.bench import Bench, BinaryRows, bench_on, reading
from crowdtally_research.reproducing.papers.day_li.methods import Scaling, ScalingUp
from crowdtally_research.reproducing.papers.day_li.panels import BUDGETS, LARGE, SMALL
from kit.draws import Recording

# ---- Every method on a bench without noise, beside a plain computation ---------------------------


@pytest.mark.parametrize(("budget", "true"), [(SMALL, log(1.5)), (LARGE, log(3))])
def test_an_irrational_budget_is_rounded_down(budget: object, true: float) -> None:
    value = float(budget.epsilon.value)  # type: ignore[attr-defined]
    assert 0 <= true - value < 1e-4


def _lengths(bench: Bench) -> np.ndarray:
    return np.repeat(bench.rows.sums.sums, bench.rows.sums.users)


@pytest.mark.parametrize("theta", [1, 5, 164])
def test_the_quality_is_equation_3(bench: Bench, theta: int) -> None:
    scaling, cells = Scaling.of(bench, LARGE.epsilon), bench.domain.size
    kept = float(np.minimum(_lengths(bench), theta).sum()) / cells
    plain = kept - theta / (0.9 * 1.0986)
    assert isclose(scaling.quality(theta), plain, rel_tol=1e-12)


def test_the_best_theta_has_the_largest_quality(bench: Bench) -> None:
    scaling = Scaling.of(bench, LARGE.epsilon)
    qualities = [scaling.quality(theta) for theta in range(1, 60)]
    assert qualities[scaling.best - 1] == max(qualities)
    assert len(scaling.scores) == bench.domain.size  # candidates are 1 to d


def test_a_tenth_chooses_and_nine_tenths_publish(bench: Bench) -> None:
    choice = Scaling.of(bench, LARGE.epsilon).choice
    assert choice.epsilon.value == LARGE.epsilon.value / 10
    assert choice.published.value == LARGE.epsilon.value * Fraction(9, 10)


def test_dpsense_publishes_rows_scaled_to_theta(bench: Bench) -> None:
    found = Scaling.of(bench, LARGE.epsilon).published(DPSense(6))
    np.testing.assert_allclose(found, bench.rows.scaled(DPSense(6)).dense() / 2**20)
    up = ScalingUp.of(bench, LARGE.epsilon, 30).published(DPSenseS(6, scalings="3/2"))
    np.testing.assert_allclose(up, 1.5 * found)


def test_the_noise_is_for_theta_and_nine_tenths(path: Path) -> None:
    draws = Recording()
    bench = bench_on(path, draws)
    Scaling.of(bench, LARGE.epsilon).published(DPSense(6))
    (drawn,) = draws.drawn
    assert (drawn.law, drawn.size) == ("laplace", bench.domain.size)
    assert drawn.parameter == 2**20 * 6 / (LARGE.epsilon.value * Fraction(9, 10))


def test_choices_are_drawn_anew_for_each_run(path: Path) -> None:
    bench = bench_on(path)
    rules = list(Scaling.of(bench, LARGE.epsilon).chosen(20))
    assert all(1 <= rule.max_records <= bench.domain.size for rule in rules)
    assert len({rule.max_records for rule in rules}) > 1
    up = ScalingUp.of(bench, LARGE.epsilon, 30)
    factors = list(up.chosen(up.scores(), 20))
    assert all(1 <= rule.max_records <= 30 and 1 <= rule.scaling <= 2 for rule in factors)
    assert len({rule.scaling for rule in factors}) > 1


def test_choices_have_the_best_score_where_nothing_is_random(bench: Bench) -> None:
    scaling = Scaling.of(bench, LARGE.epsilon)
    assert next(scaling.chosen(1)).max_records == scaling.best
    up = ScalingUp.of(bench, LARGE.epsilon, 30)
    rule = next(up.chosen(up.scores(), 1))
    assert rule == up.best(up.scores())
    scores = up.choice.scores(bench.rows.table)
    place = up.choice.scalings.index(rule.scaling)
    assert scores[rule.max_records - 1, place] == scores.max()


def test_baselines_without_noise(bench: Bench) -> None:
    truth = bench.rows.truth
    (lpa,) = bench.lpa(LARGE.epsilon, 1)
    np.testing.assert_array_equal(lpa, truth)
    (alpa,) = bench.alpa(LARGE.epsilon, 1)
    np.testing.assert_allclose(alpa, truth.mean())
    (gs,) = bench.gs(LARGE.epsilon, 1)
    groups = -(-len(truth) // width(bench.rows.most, len(truth)))
    assert len(np.unique(gs)) <= groups
    assert isclose(gs.sum(), truth.sum(), rel_tol=1e-9)


def test_auto_is_the_readers_estimate(path: Path) -> None:
    (found,) = bench_on(path).auto(LARGE.epsilon, 1)
    assert found.mean.shape == found.median.shape == (1657,)
    assert (found.median >= 0).all()


def test_two_budgets_are_told_apart() -> None:
    assert [exp(float(one.epsilon.value)) for one in BUDGETS] == pytest.approx([1.5, 3], 1e-3)


# ---- What is counted at any θ from one reading is what a release's own steps count ---------------


@pytest.mark.parametrize("theta", [1, 6, 7, 40, 1000])
def test_counts_are_those_of_the_counting_step(bench: Bench, theta: int) -> None:
    rule = DPSense(theta)
    with reading(bench.records, bench.domain) as records:
        read = count_scaled(records.engine, records.prepared, rule, bench.domain.size)
    found = bench.rows.scaled(rule)
    np.testing.assert_array_equal(found.dense(), read.found.dense())
    assert (found.l1_bound, found.unit) == (read.found.l1_bound, read.found.unit)


def test_the_truth_and_the_lengths_are_those_of_the_records(bench: Bench) -> None:
    with reading(bench.records, bench.domain) as records:
        tables = bench.request(LARGE.epsilon).tables
        (truth,) = true_counts(records.engine, records.prepared, "users", tables).values()
        sums = scaled_sums(records.engine, records.prepared, 1, width=1).found
    np.testing.assert_array_equal(bench.rows.truth, truth)
    order = np.argsort(sums.sums)
    np.testing.assert_array_equal(bench.rows.sums.sums, sums.sums[order])
    np.testing.assert_array_equal(bench.rows.sums.users, sums.users[order])
    assert bench.rows.users == sums.users.sum()
    assert bench.rows.most == sums.sums.max()


def test_a_bound_of_the_longest_row_cuts_nobody(bench: Bench) -> None:
    bounded = Bounded.of(bench.request(LARGE.epsilon).subject, bench.rows.most)
    with reading(bench.records, bench.domain) as records:
        counts = bounded.counts(keyed(records, 3))["items"]
    np.testing.assert_array_equal(bench.rows.whole().dense(), counts.dense())
    assert bench.rows.whole().l1_bound == counts.l1_bound


def test_means_by_hand() -> None:
    # Two rows {0, 2} and one row {2}, of three columns.
    table = RowTable(*(np.array(one) for one in ([1, 2, 2], [2, 2, 0], [1, 2, 2])))
    rows = BinaryRows.of(table, 3)
    assert rows.truth.tolist() == [2, 0, 3]
    assert (rows.users, rows.most) == (3, 2)
    assert (rows.column_mean, rows.row_mean) == (5 / 3, 5 / 3)
    grid = 2**20
    assert rows.scaled(DPSense(1)).dense().tolist() == [grid, 0, 2 * grid]
