from __future__ import annotations

from math import nan

import pytest

from crowdtally.lab.comparison.summary import alone, with_error


@pytest.mark.parametrize(
    ("mean", "error", "text"),
    [
        (234.1234, 1.987, "234.1 ± 2.0"),
        (234.1234, 19.87, "234 ± 20"),
        (12_345.0, 987.0, "12,340 ± 990"),
        (4.28e7, 3.0e5, "(4.280 ± 0.030) × 10⁷"),
        (2.1e-5, 3e-7, "(2.100 ± 0.030) × 10⁻⁵"),
        (0.9312, 0.0123, "0.931 ± 0.012"),
        (0.001, 0.0, "0.001 ± 0"),
        (0.0, 0.0, "0 ± 0"),
        (0.0, 0.25, "0.00 ± 0.25"),
        (-0.0001, 0.25, "0.00 ± 0.25"),
        (1.5, 30.0, "2 ± 30"),
        (123456.789, 0.0001, "123,457 ± 0"),
        (1.46984, 3e-17, "1.46984 ± 0"),
        (12.345678, 0.00042, "12.3457 ± 0.0004"),
        (999_999.6, 12.0, "1,000,000 ± 12"),
        (5.0, nan, "5"),
        (nan, 1.0, "–"),
        (float("inf"), 1.0, "–"),
    ],
)
def test_a_mean_and_its_error_end_at_the_same_place(mean: float, error: float, text: str) -> None:
    assert with_error(mean, error) == text


def test_a_number_without_an_error_has_four_digits() -> None:
    assert [alone(x) for x in (1234.5678, 0.25, 1e9)] == ["1,235", "0.25", "1 × 10⁹"]
