"""Both phases of a perturbation: what is counted, and what is rebuilt from noise."""

from __future__ import annotations

import inspect
from collections import Counter
from fractions import Fraction
from typing import Any, get_type_hints

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdtally.errors import InputError, UsageError
from crowdtally.noise.draws import SystemDraws
from crowdtally.person.catalogue import ONE, Catalogue, in_widths, shared, systematic, weights_of
from crowdtally.person.history import History, NoisyCategories
from crowdtally.person.perturbation import (
    bounded_least_squares,
    counted,
    measure,
    perturb,
    rebuild,
    relaxed,
)
from crowdtally.person.plan import Plan
from crowdtally.person.solver import Incidence
from kit.draws import Seeded, SilentDraws
from kit.person import histories, printed, random_catalogue

# ---- What is counted, what phase 2 sees, and what passes through ---------------------------------


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


# ---- Phase 2: the least squares by another solver, exact rounding, and public popularity ---------


class Offset(SystemDraws):
    """One offset of one's choice."""

    def __init__(self, offset: int) -> None:
        super().__init__()
        self.offset = offset

    def uniforms_below(self, bounds: Any) -> Any:
        assert bounds.tolist() == [ONE]
        return np.array([self.offset], dtype=np.uint64)


def noisy_counts(plan: Plan, seed: int, scale: float) -> NoisyCategories:
    generator = np.random.default_rng(seed)
    values = generator.normal(0.3 * len(plan.catalogue.items), scale, len(plan.categories))
    return NoisyCategories(plan.categories, tuple(int(value) for value in values))


@pytest.mark.parametrize("scale", [2.0, 30.0, 1000.0])
@pytest.mark.parametrize("seed", range(6))
def test_the_least_squares_are_those_of_another_solver(seed: int, scale: float) -> None:
    from scipy.optimize import lsq_linear

    plan = Plan.of(random_catalogue(seed), 1)
    noisy = noisy_counts(plan, seed, scale)
    matrix = np.zeros((len(plan.measured), len(plan.catalogue.items)))
    for group, categories in zip(plan.groups, plan.sets, strict=True):
        matrix[np.ix_(categories, group.places)] = 1
    whole = np.zeros(len(plan.catalogue.items))
    for group, value in zip(plan.groups, relaxed(noisy, plan), strict=True):
        whole[group.places] = value
    found = lsq_linear(matrix, noisy.values, (0, 1), tol=1e-12, method="bvls")
    mine = 0.5 * ((matrix @ whole - noisy.values) ** 2).sum()
    assert mine == pytest.approx(found.cost, rel=1e-5, abs=1e-4)
    assert (whole**2).sum() <= (found.x**2).sum() * (1 + 1e-9) + 1e-9  # of least norm


def test_among_equal_solutions_it_is_the_one_of_least_norm() -> None:
    # Three groups {0}, {1}, {0,1} of 4, 1 and 2 items; counts (3, 2) can be met in many ways.
    sets = Incidence([(0,), (1,), (0, 1)], 2)
    sizes = np.array([4.0, 1.0, 2.0])
    x = bounded_least_squares(sets, sizes, np.array([3.0, 2.0]))
    # By Lagrange: x = (ν0, ν1, ν0+ν1) with 6ν0 + 2ν1 = 3, 2ν0 + 3ν1 = 2: ν = (5/14, 3/7).
    assert x == pytest.approx([5 / 14, 3 / 7, 11 / 14], abs=1e-5)


def test_a_large_catalogue_is_solved_to_its_conditions_of_optimality() -> None:
    generator = np.random.default_rng(3)
    sets = sorted(
        {tuple(sorted(generator.choice(300, generator.integers(1, 6), False))) for _ in range(2000)}
    )
    incidence = Incidence(sets, 300)
    sizes = generator.integers(1, 100, len(sets)).astype(float)
    target = generator.laplace(20, 10, 300).round()
    x = bounded_least_squares(incidence, sizes, target)
    slope = incidence.sums(incidence.spread(sizes * x) - target)  # of each item of a group
    inside = (x > 1e-6) & (x < 1 - 1e-6)
    assert np.abs(slope[inside]).max() < 1e-2
    assert slope[x <= 1e-6].min() > -1e-2
    assert slope[x >= 1 - 1e-6].max(initial=-1.0) < 1e-2


widths = st.lists(st.integers(0, ONE) | st.sampled_from([0, ONE]), min_size=1, max_size=30)


@given(widths, st.integers(0, ONE - 1))
def test_every_run_of_neighbours_keeps_its_sum_within_one(given_widths: Any, offset: int) -> None:
    chosen = np.zeros(len(given_widths), dtype=np.int64)
    chosen[systematic(np.array(given_widths), Offset(offset))] = 1
    for start in range(len(given_widths)):
        for end in range(start + 1, len(given_widths) + 1):
            exact = Fraction(sum(given_widths[start:end]), ONE)
            assert abs(int(chosen[start:end].sum()) - exact) < 1


@given(st.lists(st.integers(0, 16), min_size=1, max_size=12))
def test_each_item_is_chosen_with_exactly_its_probability(sixteenths: list[int]) -> None:
    step = ONE // 16  # between multiples of a sixteenth the choice does not change
    array = np.array(sixteenths) * step
    hits = Counter(
        place for k in range(16) for place in systematic(array, Offset(k * step)).tolist()
    )
    for place, width in enumerate(sixteenths):
        assert hits[place] == width
        late = [place in systematic(array, Offset(k * step + step - 1)) for k in range(16)]
        assert sum(late) == width


def test_the_offset_is_uniform_and_of_the_one_source() -> None:
    asked = []

    class Noting(SystemDraws):
        def uniforms_below(self, bounds: Any) -> Any:
            asked.append(bounds.tolist())
            return super().uniforms_below(bounds)

    plan = Plan.of(printed(), 1)
    rebuild(noisy_counts(plan, 1, 2.0), plan, Noting())
    assert asked == [[ONE]]


@pytest.mark.parametrize("seed", range(10))
def test_the_sum_of_every_group_is_within_one_of_the_relaxed_one(seed: int) -> None:
    plan = Plan.of(random_catalogue(seed, items=300, categories=6), 1)
    noisy = noisy_counts(plan, seed, 20.0)
    values = in_widths(relaxed(noisy, plan))
    chosen = set(rebuild(noisy, plan, SystemDraws(Seeded(seed))).tolist())
    for group, width in zip(plan.groups, values.tolist(), strict=True):
        kept = len(chosen & set(group.places.tolist()))
        assert abs(kept - Fraction(width * group.size, ONE)) < 1


def test_a_width_that_is_no_probability_is_refused() -> None:
    for wrong in (-1, ONE + 1):
        with pytest.raises(UsageError, match="width"):
            systematic(np.array([wrong]), SystemDraws())


CATALOGUE = Catalogue.of({name: ["x"] for name in "abcdefgh"})


@given(
    st.lists(st.floats(0, 1e6), min_size=8, max_size=8),
    st.integers(0, ONE),
)
def test_popularity_moves_the_mass_within_a_group_and_keeps_it(
    weights: list[float], width: int
) -> None:
    (group,) = CATALOGUE.groups
    made = shared(group, width, np.array(weights))
    assert int(made.sum()) == width * group.size
    assert made.min() >= 0
    assert made.max() <= ONE
    order = np.argsort(weights, kind="stable")
    assert (np.diff(made[order]) >= -len(weights)).all()  # as popular, as wide, up to rounding


def test_popularity_is_by_proportion_until_certainty() -> None:
    (group,) = CATALOGUE.groups
    weights = weights_of({"a": 6, "b": 1, "c": 1, "z": 9}, CATALOGUE)
    made = shared(group, ONE // 4, weights) / ONE  # two items in all
    assert made[:3] == pytest.approx([1, 0.5, 0.5])
    assert made[3:].tolist() == [0] * 5
    assert shared(group, ONE // 2, weights)[3:] / ONE == pytest.approx([0.2] * 5)


@pytest.mark.parametrize("weight", [-1, float("nan"), float("inf")])
def test_a_weight_that_is_none_is_refused(weight: float) -> None:
    with pytest.raises(UsageError, match="popularity"):
        weights_of({"a": weight}, CATALOGUE)
