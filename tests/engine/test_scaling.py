"""Rows scaled as a whole: exactly what integer arithmetic says, on every engine."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from crowdtally.curator.bounding.scaling import GRID, DPSense, weighted
from crowdtally.curator.counting.bounded import count_scaled
from crowdtally.records.prepare import Prepared
from kit import reference
from kit.crowd import BARE, EVERYONE, OTHERS, Crowd, Histories, Start, farthest, tally, together
from kit.histories import Shape

Crowds = Callable[[Shape], Crowd]
SIDES = [reference.histories(together(side)) for side in (EVERYONE, OTHERS)]
RULES = [DPSense(2), DPSense(3, cap=2, scaling=Fraction(3, 2))]


def check(rule: DPSense, crowd: Crowd, table: Callable[[Histories], Histories]) -> None:
    """Each database's counts with and without its first user, and how far they are apart."""
    found = [_counted(rule, crowd.engine, side) for side in (crowd.everyone, crowd.others)]
    for counts, own in zip(found, SIDES, strict=True):
        expected = reference.scaled(table(own), rule.theta, rule.cap)
        assert tally(counts, crowd.cells) == reference.total(expected)
        assert reference.largest(expected) <= counts.l1_bound == GRID * rule.theta
        assert counts.unit == rule.scaling / GRID
    assert farthest(*(tally(counts, crowd.cells) for counts in found)) <= rule.l1_bound


def _counted(rule: DPSense, engine: Any, side: Prepared) -> Any:
    return count_scaled(engine, side, rule, side.domain.size).found


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_items_in_context(rule: DPSense, crowds: Crowds) -> None:
    check(rule, crowds(BARE), lambda own: own)


def test_items(crowds: Crowds) -> None:
    check(DPSense(1, cap=3), crowds(BARE).without_contexts(), reference.of_items)


def test_the_largest_weights_are_exact(start_engine: Start) -> None:
    """θ and cap at their ends: products near 2^61, quotients that floats would round."""
    theta, cap = 2**31, 2**10
    amounts, sums = np.array([cap, cap, 1, 7, 3]), np.array([1, 3, 5, 0, -1]) + theta
    with start_engine() as engine:
        held = {"cell": np.arange(5), "amount": amounts, "row_sum": sums}
        found = engine.arrays(weighted(engine.load("held", held), theta))
    weights = dict(zip(found["cell"].tolist(), found["weight"].tolist(), strict=True))
    assert weights == {
        cell: GRID * amount if total <= theta else GRID * theta * amount // total
        for cell, (amount, total) in enumerate(zip(amounts.tolist(), sums.tolist(), strict=True))
    }


def test_whole_division_is_exact_beyond_floats(start_engine: Start) -> None:
    """The compiler's own way, by floats, loses the last digits beyond 2^53."""
    numbers = np.array([2**62 + 1, 2**53 + 1, -7, 7, 0], dtype=np.int64)
    with start_engine() as engine:
        table = engine.load("held", {"number": numbers})
        by_three = (table.number // 3).cast("int64")
        found = engine.arrays(table.select("number", third=by_three))
    thirds = dict(zip(found["number"].tolist(), found["third"].tolist(), strict=True))
    assert thirds == {number: number // 3 for number in numbers.tolist()}
