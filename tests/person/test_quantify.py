"""S-PBQ, as reconstructed: the example, the rounding, the range."""

from __future__ import annotations

from fractions import Fraction

import pytest

from crowdtally.errors import UsageError
from crowdtally.person.device import plan_of
from crowdtally.person.levels import Levels
from crowdtally.person.plan import Plan, Policy, quantify
from kit.catalogues import printed


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
