"""A table of cells that were released before: what it costs, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from crowdtally.core.counts import Counts, Memberships
from crowdtally.core.layout import Numbered
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.refined import Refined, can_be_refined
from crowdtally.curator.table import Measured, Table
from crowdtally.errors import CrowdtallyError
from crowdtally.format import NoisyTable
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.noise.draws import SystemDraws
from kit.words import Seeded

CELLS, BOUND, UNIT = Numbered("feature", 3), 8, Fraction(1, 8)
HALF = Epsilon(Fraction(1, 20))
EXACT = np.array([800, -80, 0])


class Noted(SystemDraws):
    """Says which noise is to be refined."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[list[int], Fraction]] = []

    def laplace(self, scale: Fraction, size: int) -> Any:
        return np.array([5, -7, 1 << 40])

    def refine(self, noise: Any, scale: Fraction) -> Any:
        self.asked.append((noise.tolist(), scale))
        return np.array([2, -3, 4])


def counts(values: np.ndarray = EXACT, bound: int = BOUND) -> Counts:
    return Counts(3, np.arange(3), values, bound, UNIT, signed=True)


def look(draws: SystemDraws) -> NoisyTable:
    return Table("tastes", "auto", CELLS, HALF, BOUND, UNIT).publish(counts(), draws)


def finer(before: NoisyTable, epsilon: Epsilon = HALF) -> Refined:
    return Refined("tastes_again", "auto", CELLS, epsilon, BOUND, UNIT, before=before)


def test_the_noise_that_was_drawn_is_what_is_refined() -> None:
    draws = Noted()
    made = finer(look(draws)).publish(counts(), draws)
    assert draws.asked == [([5, -7, 1 << 40], Fraction(160))]
    assert made.values.tolist() == [802, -83, 4]
    assert made.law == DiscreteLaplace(Fraction(80), UNIT)
    assert made.facts["epsilon"] == "0.1"  # both together
    assert made.facts["sensitivity"] == BOUND


def test_both_tables_have_their_own_noise_around_the_counts() -> None:
    draws, many = SystemDraws(Seeded(3)), []
    for _ in range(1500):
        before = look(draws)
        after = finer(before).publish(counts(), draws)
        many.append([before.values - EXACT, after.values - EXACT])
    first, second = np.array(many, dtype=float).transpose(1, 0, 2).reshape(2, -1)
    assert second.std() == pytest.approx(80 * 2**0.5, rel=0.1)
    assert first.std() == pytest.approx(160 * 2**0.5, rel=0.1)
    assert np.cov(first, second)[0, 1] == pytest.approx(second.var(), rel=0.15)


@pytest.mark.parametrize("wrong", [{"bound": 9}, {"price": Epsilon(Fraction(1, 10))}, {"bound": 4}])
def test_another_price_or_bound_than_the_first_is_refused(wrong: dict[str, Any]) -> None:
    draws = Noted()
    table = replace(finer(look(draws)), **wrong)
    with pytest.raises(CrowdtallyError, match="fault of the program"):
        table.publish(counts(bound=wrong.get("bound", BOUND)), draws)
    assert not draws.asked


def test_counts_of_another_bound_are_refused() -> None:
    draws = Noted()
    with pytest.raises(CrowdtallyError, match="was charged for"):
        finer(look(draws)).publish(counts(bound=16), draws)
    assert not draws.asked


@pytest.mark.parametrize("end", [np.iinfo(np.int64).max, np.iinfo(np.int64).min])
def test_a_value_that_was_held_hides_its_noise(end: int) -> None:
    draws = Noted()
    before = look(draws)
    held = replace(before, values=np.array([1, 2, end]))
    assert can_be_refined(before)
    assert not can_be_refined(held)
    with pytest.raises(CrowdtallyError, match="values that are not counts and noise"):
        finer(held).publish(counts(), draws)


def test_interval_noise_is_not_refined() -> None:
    draws = SystemDraws(Seeded(1))
    before = Measured("head", "auto", CELLS, HALF).publish(Memberships(3, np.arange(3)), draws)
    with pytest.raises(CrowdtallyError, match="not Laplace"):
        finer(before).publish(counts(), draws)
