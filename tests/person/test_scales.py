"""Phase 1: the printed example, the optimum by a general solver, and C·v ≤ ε exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdtally.errors import CrowdtallyError
from crowdtally.person.catalogue import Catalogue
from crowdtally.person.plan import Plan
from crowdtally.person.scales import best_rates, binding_sets, most_used, rounded_down, verify
from kit.catalogues import printed, random_catalogue


def test_the_printed_example_has_the_printed_scales() -> None:
    plan = Plan.of(printed(), 1)
    assert [float(scale) for scale in plan.scales] == pytest.approx(
        [3.6131, 2.3604, 3.3381, 2.3604, 1.3827], abs=1e-4
    )
    assert plan.mean_scale == pytest.approx(2.6109, abs=1e-4)  # 3 by global sensitivity
    assert plan.noise.gap < 1e-8


def test_scales_are_inverse_to_epsilon() -> None:
    one, other = (Plan.of(printed(), epsilon) for epsilon in ("1", "1/3"))
    assert [rate / 3 for rate in one.rates] == list(other.rates)


def by_a_general_solver(plan: Plan) -> float:
    """The least Σ 1/v on all items, none left out, by interior points for cones."""
    import cvxpy as cp

    rates = cp.Variable(len(plan.measured), pos=True)
    constraints = []
    for group, categories, budget in zip(plan.groups, plan.sets, plan.budgets, strict=True):
        constraints += [cp.sum(rates[list(categories)]) <= float(budget)] * group.size
    problem = cp.Problem(cp.Minimize(cp.sum(cp.inv_pos(rates))), constraints)
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value)


def agrees_with_a_general_solver(seed: int) -> None:
    generator = np.random.default_rng(seed)
    catalogue = random_catalogue(seed, items=int(generator.integers(1, 40)))
    levels = None
    if seed % 2:
        levels = {name: str(generator.choice(["0.1", "0.5", "2"])) for name in catalogue.categories}
    plan = Plan.of(catalogue, 1, levels)
    assert float(sum(plan.scales)) == pytest.approx(by_a_general_solver(plan), rel=1e-5)


@pytest.mark.parametrize("seed", range(8))
def test_the_optimum_is_that_of_a_general_solver(seed: int) -> None:
    agrees_with_a_general_solver(seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(8, 108))
def test_the_optimum_is_that_of_a_general_solver_on_many(seed: int) -> None:
    agrees_with_a_general_solver(seed)


@given(st.integers(0, 10**6), st.sampled_from(["1e-6", "1/7", "1", "1000000"]))
def test_no_item_exceeds_its_budget_and_each_category_has_noise(seed: int, epsilon: str) -> None:
    catalogue = random_catalogue(seed, items=20, categories=6)
    plan = Plan.of(catalogue, epsilon, {catalogue.categories[0]: "1e-6"})
    for item in catalogue.items:
        group = catalogue.groups[catalogue.group_of[catalogue.place_of[str(item)]]]
        used = sum(plan.rates[plan.measured.index(category)] for category in group.categories)
        assert 0 < used <= plan.budget_of(item)
    assert plan.noise.gap < 1e-6


def test_sets_inside_others_are_dropped_only_with_as_large_a_budget() -> None:
    sets = [(0,), (0, 1), (1,), (2,)]
    even = [Fraction(1)] * 4
    assert binding_sets(sets, even) == [1, 3]
    assert binding_sets(sets, [Fraction(1, 2), *even[1:]]) == [0, 1, 3]
    assert binding_sets(sets, [Fraction(2), *even[1:]]) == [1, 3]


def test_a_smaller_budget_of_a_contained_set_is_kept() -> None:
    rates = best_rates([(0,), (0, 1)], [Fraction(1, 10), Fraction(1)], 2).values
    assert rates[0] <= Fraction(1, 10)
    assert sum(rates) <= 1
    assert float(rates[1]) == pytest.approx(0.9, rel=1e-6)


def test_rates_above_a_budget_by_however_little_are_refused() -> None:
    third = Fraction(1, 3)
    verify([third, third, third], [(0, 1, 2)], [Fraction(1)])
    with pytest.raises(CrowdtallyError, match="would not keep epsilon"):
        verify([third, third, third + Fraction(1, 10**60)], [(0, 1, 2)], [Fraction(1)])
    with pytest.raises(CrowdtallyError, match="would not keep epsilon"):
        verify([third, Fraction(0), third], [(0, 1, 2)], [Fraction(1)])
    assert most_used([third, third], [(0, 1), (0,)], [Fraction(2), Fraction(1, 6)]) == 2


@given(st.floats(min_value=1e-300, max_value=1e300))
def test_rounding_is_downwards_and_by_little(number: float) -> None:
    rounded = rounded_down(number)
    assert 0 < rounded <= Fraction(number)
    assert Fraction(number) - rounded <= Fraction(number) / 2**39


def test_a_wrong_solver_cannot_break_epsilon(monkeypatch: pytest.MonkeyPatch) -> None:
    from crowdtally.person import scales
    from crowdtally.person.solver import Found

    monkeypatch.setattr(scales, "least_noise", lambda *_: Found(np.array([0.9, 0.9]), 0.0))
    assert sum(best_rates([(0, 1)], [Fraction(1)], 2).values) == 1


def test_hard_budgets_are_solved_too() -> None:
    generator = np.random.default_rng(5)
    for seed in range(10):
        catalogue = random_catalogue(seed, items=200, categories=30, most=5)
        levels = {name: f"{10 ** generator.uniform(-6, 0):.9f}" for name in catalogue.categories}
        assert Plan.of(catalogue, 1, levels).noise.gap < 1e-6


def test_one_category_has_all_of_epsilon() -> None:
    (rate,) = Plan.of(Catalogue.of({"a": ["x"], "b": ["x"]}), 1).rates
    assert 1 - Fraction(1, 10**8) < rate <= 1
