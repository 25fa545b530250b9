"""What is counted, what phase 2 sees, and what passes through."""

from __future__ import annotations

import inspect
from typing import get_type_hints

import numpy as np
import pytest

from crowdtally.errors import InputError, UsageError
from crowdtally.noise.draws import SystemDraws
from crowdtally.person.catalogue import Catalogue
from crowdtally.person.history import History, NoisyCategories
from crowdtally.person.perturbation import counted, measure, perturb, rebuild, relaxed
from crowdtally.person.plan import Plan
from kit.catalogues import histories, printed, random_catalogue
from kit.silent import SilentDraws
from kit.words import Seeded


def test_counts_are_those_of_the_items_categories() -> None:
    plan = Plan.of(printed(), 1)
    history = History.of(["item 1", "item 3", "item 1"], plan.catalogue)
    assert counted(history, plan) == (2, 1, 1, 0, 1)
    assert measure(history, plan, SilentDraws()).values == (2, 1, 1, 0, 1)


def test_without_noise_the_counts_come_back() -> None:
    plan = Plan.of(printed(), 1)
    for own in histories(plan.catalogue):
        made = perturb(own, plan, SilentDraws())
        again = counted(History.of(made.items, plan.catalogue), plan)
        # Each group's sum is kept within 1, here of a single item.
        assert np.abs(np.subtract(again, made.noisy.values)).max() <= 3


def test_phase_two_takes_noisy_counts_and_public_things_alone() -> None:
    hints = get_type_hints(rebuild)
    assert list(inspect.signature(rebuild).parameters) == ["noisy", "plan", "draws", "popularity"]
    assert hints["noisy"] is NoisyCategories
    assert hints["plan"] is Plan
    plan = Plan.of(printed(), 1)
    history = History.of(["item 1"], plan.catalogue)
    for wrong in (history, counted(history, plan), list(plan.categories)):
        with pytest.raises(UsageError, match="noisy counts"):
            rebuild(wrong, plan, SystemDraws())  # type: ignore[arg-type]


def test_equal_noisy_counts_of_different_histories_give_equal_output() -> None:
    # Items 1 and 5 together have the counts of items … none other: so noise makes them equal.
    plan = Plan.of(random_catalogue(3), 1)
    noisy = NoisyCategories(plan.categories, tuple(range(len(plan.categories))))
    seen = []
    for own in (plan.catalogue.items[:5], plan.catalogue.items[20:], ()):
        draws = _Answering(own, plan, noisy.values, Seeded(7))
        seen.append(perturb(own, plan, draws))
    assert seen[0] == seen[1] == seen[2]
    assert seen[0].noisy == noisy


class _Answering(SystemDraws):
    """Noise that makes the noisy counts of a history what they are to be."""

    def __init__(self, own: tuple, plan: Plan, wanted: tuple[int, ...], words: Seeded) -> None:
        super().__init__(words)
        exact = counted(History.of(own, plan.catalogue), plan)
        self._noise = [a - b for a, b in zip(wanted, exact, strict=True)]

    def laplace(self, scale, size):
        return np.array([self._noise.pop(0) for _ in range(size)])


def test_output_is_in_the_catalogues_order() -> None:
    plan = Plan.of(random_catalogue(1), 2)
    items = plan.catalogue.items
    for _ in range(5):
        places = [items.index(item) for item in perturb(items[::3], plan, SystemDraws()).items]
        assert places == sorted(set(places))


@pytest.mark.parametrize("own", [(), "whole"])
def test_an_empty_history_and_the_whole_catalogue_are_values_like_any_other(own) -> None:
    plan = Plan.of(printed(), 1)
    chosen = plan.catalogue.items if own == "whole" else own
    assert set(perturb(chosen, plan, SystemDraws()).items) <= set(plan.catalogue.items)


def test_items_named_twice_count_once_and_text_matches_integers() -> None:
    catalogue = Catalogue.of({7: ["a"], 8: ["b"]})
    history = History.of(["7", 7, np.int64(7)], catalogue)
    assert history.places.tolist() == [0]
    assert history.repeated == 2
    assert "7" not in repr(history)


def test_an_unknown_item_is_refused_by_its_place_and_not_by_its_name() -> None:
    plan = Plan.of(printed(), 1)
    with pytest.raises(InputError, match=r"1 of the history's 2 items .* item 2 of") as caught:
        perturb(["item 1", "my secret"], plan, SystemDraws())
    assert "my secret" not in str(caught.value)
    kept = History.of(["item 1", "my secret"], plan.catalogue, drop_unknown=True)
    assert (len(kept), kept.unknown) == (1, 1)


@pytest.mark.parametrize("wrong", ["item 1", 7, [None], [1.5], [True]])
def test_what_is_no_list_of_ids_is_refused(wrong: object) -> None:
    with pytest.raises(UsageError):
        History.of(wrong, printed())  # type: ignore[arg-type]


def test_huge_noise_is_borne() -> None:
    plan = Plan.of(printed(), "1e-6")
    noisy = NoisyCategories(plan.categories, (10**30, -(10**30), 5, 10**18, -7))
    assert ((relaxed(noisy, plan) >= 0) & (relaxed(noisy, plan) <= 1)).all()
    perturb(["item 1"], plan, SystemDraws())
