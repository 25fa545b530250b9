"""Intervals that contain a further error."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from crowdtally.inference.posterior import Posterior, scattered

LEVEL = Fraction(19, 20)


def certain(counts: list[float]) -> Posterior:
    values = np.array(counts)
    return Posterior(values, values, values, values, np.zeros(len(counts)))


def test_a_factor_errs_by_factors():
    found = scattered(certain([100.0]), 0.5, LEVEL)
    assert (
        found.high[0] / 100 == pytest.approx(100 / found.low[0]) == pytest.approx(2.664, rel=1e-3)
    )
    assert found.variance[0] == pytest.approx(50.0**2)


def test_without_an_error_nothing_changes():
    found = scattered(certain([100.0, 0.0]), np.array([0.0, 9.0]), LEVEL)
    assert (found.low.tolist(), found.high.tolist()) == ([100.0, 0.0], [100.0, 0.0])


def test_no_error_is_without_end():
    assert np.isfinite(scattered(certain([1e6]), 1e9, LEVEL).high).all()
