"""A plan: made of public things, verified whenever it is made, and told in words."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from crowdtally.errors import CrowdtallyError
from crowdtally.person.plan import Plan
from crowdtally.person.scales import Rates
from crowdtally.person.words import guarantee, leaves, reveals, so_far
from kit.catalogues import printed


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
