"""The public catalogue of items, and the levels of its categories."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from crowdtally.errors import CrowdtallyError, UsageError
from crowdtally.noise.draws import SystemDraws
from crowdtally.person.catalogue import Catalogue
from crowdtally.person.history import History
from crowdtally.person.perturbation import counted, perturb
from crowdtally.person.plan import Plan
from kit.draws import SilentDraws
from kit.person import PRINTED, printed

# ---- The public catalogue: groups, orders, refusals ----------------------------------------------


def test_items_of_one_set_are_one_group_in_public_order() -> None:
    catalogue = Catalogue.of({"b": ["y", "x"], "a": ["x", "y", "x"], "c": ["y"]})
    assert catalogue.items == ("b", "a", "c")
    assert catalogue.categories == ("x", "y")
    assert [(g.categories, g.places.tolist()) for g in catalogue.groups] == [
        ((0, 1), [0, 1]),
        ((1,), [2]),
    ]
    assert catalogue.group_of.tolist() == [0, 0, 1]
    assert catalogue.sizes.tolist() == [2, 3]


def test_its_name_depends_on_its_content_and_not_on_its_order() -> None:
    rows = [(item, random.sample(names, len(names))) for item, names in PRINTED.items()]
    assert Catalogue.of(dict(rows[::-1])).sha256 == printed().sha256
    assert Catalogue.of({**PRINTED, "item 5": ["1"]}).sha256 != printed().sha256


@pytest.mark.parametrize(
    ("mapping", "words"),
    [
        ({}, "is empty"),
        ({"a": []}, "1 of the catalogue's 1 items have no category"),
        ({"a": "x"}, "received a str"),
        ({"a": None}, "received a NoneType"),
        ({"a": [""]}, "not empty"),
        ({"a": [7]}, "called by a text"),
        ({"a": ["x"], 7: ["x"]}, "all text or all 64-bit integers"),
        ({None: ["x"]}, "null"),
        ({"e\u0301": ["x"]}, "normal form C"),
        ({"a": ["e\u0301"]}, "normal form C"),
        ([("a", ["x"])], "received a list"),
    ],
)
def test_a_wrong_catalogue_is_refused(mapping: object, words: str) -> None:
    with pytest.raises(CrowdtallyError, match=words):
        Catalogue.of(mapping)  # type: ignore[arg-type]


# ---- Levels: budgets of items, what is withheld, what passes, and what contradicts ---------------


FILMS = Catalogue.of(
    {
        "Alien": ["horror", "space"],
        "Saw": ["horror"],
        "Apollo": ["space"],
        "Heat": ["crime"],
        "Duck": ["cartoon"],
        "Up": ["cartoon"],
        "Fargo": ["crime", "comedy"],
    }
)


def test_an_item_has_the_least_of_its_categories_levels() -> None:
    plan = Plan.of(FILMS, 1, {"horror": "0.1", "cartoon": 5})
    assert plan.budget_of("Alien") == plan.budget_of("Saw") == Fraction(1, 10)
    assert plan.budget_of("Apollo") == 1
    assert plan.budget_of("Up") == 5
    assert plan.cost.value == 5


def test_nothing_of_a_withheld_item_is_counted_or_appears() -> None:
    plan = Plan.of(FILMS, 1, {"horror": "no"})
    assert plan.left_out == ("horror",)
    assert plan.budget_of("Alien") == 0
    for own in (["Alien", "Saw"], []):
        assert counted(History.of(own, FILMS), plan) == (0, 0, 0, 0)
    for _ in range(50):
        assert not {"Alien", "Saw"} & set(perturb(FILMS.items, plan, SystemDraws()).items)


def test_a_category_whose_items_are_all_withheld_gets_no_noise() -> None:
    plan = Plan.of(FILMS, 1, {"crime": "no"})
    assert plan.left_out == ("comedy", "crime")


def test_all_release_passes_as_it_is_and_costs_the_others_nothing() -> None:
    plan = Plan.of(FILMS, 1, {"cartoon": "all"})
    assert plan.budget_of("Up") is None
    assert "cartoon" in plan.left_out
    made = perturb(["Up"], plan, SilentDraws())
    assert made.items == ("Up",)
    assert "Duck" not in perturb(["Up", "Saw"], plan, SystemDraws()).items


@pytest.mark.parametrize("other", [{}, {"horror": "no"}, {"horror": "0.5"}])
def test_all_release_of_an_item_in_a_protected_category_is_refused(other: dict) -> None:
    with pytest.raises(UsageError, match="'space' is released as it is, and 1 of its items"):
        Plan.of(FILMS, 1, {"space": "all", **other})


def test_levels_that_leave_nothing_to_perturb_are_refused() -> None:
    with pytest.raises(UsageError, match="no item of the catalogue would be perturbed"):
        Plan.of(FILMS, 1, dict.fromkeys(FILMS.categories, "no"))


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ({"horrors": "no"}, "Did you mean 'horror'"),
        ({"horror": "none"}, "the level of 'horror': a level is no"),
        ({"horror": "0"}, "greater than 0"),
        ({"horror": "1e-9"}, "too small"),
        ({"horror": "1e9"}, "too large"),
        ({"horror": None}, "a level is no"),
        ("horror=no", "received a str"),
    ],
)
def test_a_wrong_level_is_refused(levels: object, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Plan.of(FILMS, 1, levels)  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon", ["1e-7", "1e-300", "1e7", "0", "-1", "nan", None])
def test_an_epsilon_that_says_or_protects_nothing_is_refused(epsilon: object) -> None:
    with pytest.raises(UsageError, match="epsilon"):
        Plan.of(FILMS, epsilon)  # type: ignore[arg-type]
