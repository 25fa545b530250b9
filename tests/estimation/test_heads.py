"""Measured items join the calibrated ones."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from crowdtally.inference.facts import Chosen
from crowdtally.inference.heads import blend, total_of
from crowdtally.laws.base import Combination
from crowdtally.laws.interval import IntervalNoise
from crowdtally.laws.laplace import DiscreteLaplace

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
