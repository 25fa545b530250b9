"""Means and standard errors, by hand."""

from __future__ import annotations

import math

import pytest

from crowdtally.lab.comparison.compare import summaries_of
from crowdtally.lab.comparison.summary import Measured, Setting

SETTING = Setting("sra", "1", 10)


def _measured(key: int, noise: int, value: float, metric: str = "mae") -> Measured:
    return Measured(SETTING, key, noise, "items", metric, None, value)


def test_the_standard_error_is_that_of_the_keys_means() -> None:
    runs = [[1.0, 3.0], [4.0, 6.0], [8.0, 8.0]]
    (one,) = summaries_of(
        _measured(k, n, v) for k, row in enumerate(runs) for n, v in enumerate(row)
    )
    # The keys' means are 2, 5 and 8: their deviation is 3, over the root of 3 keys.
    assert one.mean == pytest.approx(5)
    assert one.standard_error == pytest.approx(3 / math.sqrt(3))
    assert (one.keys, one.runs) == (3, 6)
    # From the six runs as if they were independent it would be another number.
    assert one.standard_error != pytest.approx(1.15, abs=0.05)


def test_each_number_has_its_own_summary() -> None:
    found = summaries_of(
        [
            _measured(0, 0, 1),
            _measured(0, 0, 5, "mse"),
            _measured(1, 0, 3),
            _measured(1, 0, 5, "mse"),
        ]
    )
    assert [(one.metric, one.mean, one.standard_error) for one in found] == [
        ("mae", 2, pytest.approx(1)),
        ("mse", 5, 0),
    ]


def test_one_key_has_no_standard_error() -> None:
    (one,) = summaries_of([_measured(0, 0, 1), _measured(0, 1, 2)])
    assert math.isnan(one.standard_error)
