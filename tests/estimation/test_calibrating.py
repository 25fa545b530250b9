"""From bounded counts to counts."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest

from crowdtally.inference import rows
from crowdtally.inference.rows import Calibration, Total, calibrate

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
