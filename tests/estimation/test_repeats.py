"""A head of distinct users beside counts of records."""

from __future__ import annotations

import numpy as np
import pytest

from crowdtally.inference.repeats import in_records

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
