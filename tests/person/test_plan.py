"""Phase 1: plans made of public things, their noise, and how they are told."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdtally.errors import CrowdtallyError, UsageError
from crowdtally.person.catalogue import Catalogue
from crowdtally.person.device import plan_of
from crowdtally.person.levels import Levels
from crowdtally.person.plan import Plan, Policy, quantify
from crowdtally.person.scales import (
    Rates,
    best_rates,
    binding_sets,
    most_used,
    rounded_down,
    verify,
)
from crowdtally.person.words import guarantee, leaves, reveals, so_far
from kit.person import printed, random_catalogue

# ---- A plan: made of public things, verified whenever it is made, and told in words --------------


def test_a_plan_whose_noise_is_too_small_cannot_be_made() -> None:
    plan = Plan.of(printed(), 1)
    slightly = tuple(rate * (1 + Fraction(1, 10**6)) for rate in plan.rates)
    with pytest.raises(CrowdtallyError, match="would not keep epsilon"):
        replace(plan, noise=Rates(slightly, 0.0))


def test_widths_cover_what_they_say() -> None:
    plan = Plan.of(printed(), 1)
    for width, scale in zip(plan.widths(), plan.scales, strict=True):
        alpha = 2.718281828459045 ** -float(1 / scale)
        beyond = 2 * alpha ** (width + 1) / (1 + alpha)
        assert beyond <= 0.05 < 2 * alpha**width / (1 + alpha)


def test_the_words_say_what_the_levels_mean() -> None:
    from crowdtally.person.catalogue import Catalogue

    films = Catalogue.of({"a": ["x"], "b": ["y"], "c": ["z"], "d": ["z"], "e": ["w"]})
    plan = Plan.of(films, 1, {"x": "no", "y": "all", "w": "12"})
    said = " ".join([*leaves(plan), *reveals(plan)])
    assert "No release: 'x'. Nothing leaves of 1 item" in said
    assert "All release: 'y'" in said
    assert "nothing is promised for them" in said
    assert "hardly a protection" in said
    assert "some items have less: 1 at the least" in said
    assert "20 × 12 = 240" in said
    assert "Items of 'y' are as they are." in guarantee(plan)
    assert so_far([], Fraction(0)) == "So far nothing was drawn or charged on this device."


def test_a_small_budget_of_one_category_lowers_what_others_are_charged() -> None:
    from crowdtally.person.catalogue import Catalogue

    plan = Plan.of(Catalogue.of({"a": ["x", "y"], "b": ["x"], "c": ["y"]}), 1, {"x": "1/10"})
    assert plan.budget_of("c") == 1
    assert plan.cost.value <= Fraction(1, 10)


def test_a_column_of_names_taken_for_categories_is_refused() -> None:
    from crowdtally.person.catalogue import Catalogue

    with pytest.raises(CrowdtallyError, match="5,000 categories, and at most 4,000"):
        Plan.of(Catalogue.of({f"i{n}": [f"c{n}"] for n in range(5000)}), 1)


# ---- Phase 1: the printed example, the optimum by a general solver, and C·v ≤ ε exactly ----------


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


# ---- S-PBQ, as reconstructed: the example, the rounding, the range -------------------------------


def test_the_example() -> None:
    found = quantify(printed(), Policy.of(eta=1))
    assert round(float(found.value), 2) == 2.29
    assert found.value.denominator <= 10**4


@pytest.mark.parametrize("eta", ["0.6", "2", "7/3", "100"])
def test_it_is_rounded_down_and_by_little(eta: str) -> None:
    policy = Policy.of(eta=eta, least="1e-6", most=1000)
    found = quantify(printed(), policy).value
    scales = Plan.of(printed(), 1).scales
    loss = 2 * sum(scales) / len(scales) / policy.eta
    assert found**2 <= loss < (found + Fraction(1, 10**4)) ** 2


def test_it_stays_within_the_policy() -> None:
    assert quantify(printed(), Policy.of(eta="1e-9")).value == 3
    assert quantify(printed(), Policy.of(eta=10**9)).value == Fraction(1, 10)


def test_it_says_that_it_is_a_reconstruction() -> None:
    plan = plan_of(printed(), Policy.of(), Levels())
    assert "as reconstructed by Crowdtally" in plan.found
    assert str(plan.cost) == "2.2851"


def test_withheld_categories_have_no_part_and_levels_keep_their_own() -> None:
    levels = Levels.of({"2": "no", "5": "0.2"})
    plan = plan_of(printed(), Policy.of(), levels)
    assert plan.epsilon == quantify(printed(), Policy.of(), Levels.of({"2": "no"}))
    assert plan.budget_of("item 3") == Fraction(1, 5)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"eta": 0}, "eta must be greater"),
        ({"eta": "x"}, "eta must be an exact"),
        ({"least": 2, "most": 1}, "above its most"),
        ({"least": "1e-9"}, "too small"),
    ],
)
def test_a_wrong_policy_is_refused(given: dict, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Policy.of(**given)
