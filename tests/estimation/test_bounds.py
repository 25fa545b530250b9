"""Bounds against a search by hand."""

from __future__ import annotations

import pytest

from crowdtally.inference.rows import Sizes, best_cap, best_theta, is_light, read_sizes

MANY = read_sizes([0, 0, 0, 0, 500, 1200, 1700, 1500, 800, 300, 40, 0, 0], 33.0)
ONES = read_sizes([5000.0] + [0.0] * 12, 33.0)
FEW = read_sizes([3.0] + [0.0] * 12, 33.0)


def by_hand(sizes: Sizes, epsilon: float, items: int) -> int:
    def error(theta: int) -> float:
        lost = sizes.lost(theta)
        spread = (0.27 * lost) ** 2 * 6 * (sizes.records / items) ** 2
        return 1.2 * (theta / (epsilon * (1 - lost))) ** 2 + spread

    errors = [error(theta) for theta in range(1, 2000)]
    return next(i for i, one in enumerate(errors, 1) if one <= 1.02 * min(errors))


@pytest.mark.parametrize("epsilon", [0.1, 0.8, 3.0])
@pytest.mark.parametrize("items", [200, 3883])
def test_theta_is_the_smallest_within_two_percent_of_the_least(epsilon, items):
    assert best_theta(MANY, epsilon, items, light=False) == max(by_hand(MANY, epsilon, items), 2)


def test_theta_is_at_least_two_unless_nobody_has_two():
    assert best_theta(MANY, 0.001, 10**6, light=False) >= 2
    assert best_theta(ONES, 1.0, 100, light=False) == 1


def test_light_theta_weighs_lost_mass_against_noise():
    sizes = read_sizes([3000, 900, 200, 50] + [0] * 9, 10.0)
    errors = [
        3 * (sizes.lost(theta) * sizes.records / 50) ** 2 + 2 * theta**2 for theta in range(1, 99)
    ]
    assert best_theta(sizes, 1.0, 50, light=True) == errors.index(min(errors)) + 1


def test_light_means_that_less_than_three_percent_is_lost():
    assert is_light(ONES, 1.0, 100)
    assert not is_light(MANY, 0.86, 3883)
    assert is_light(MANY, 1000.0, 10)


def test_cap_weighs_truncated_mass_against_the_noise_of_the_totals():
    errors = [
        (MANY.lost(cap) * MANY.records) ** 2 + 2 * 4 * (cap / 0.03) ** 2 for cap in range(1, 3000)
    ]
    assert best_cap(MANY, 4, 0.03) == errors.index(min(errors)) + 1


def test_unreliable_sizes_have_fixed_bounds():
    assert best_theta(FEW, 1.0, 1000, light=False) == 1
    assert best_cap(FEW, 4, 0.03) == 64
    assert not is_light(FEW, 1.0, 1000)
