"""Rows scaled to a Euclidean norm, and the histogram of norms: plain Python's, on every engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import isqrt
from typing import Any

import numpy as np
import pytest

from crowdtally.curator.bounding.scaling import GRID, DPSenseL2
from crowdtally.curator.counting.bounded import count_scaled
from crowdtally.curator.counting.users import row_norms
from kit import reference
from kit.crowd import BARE, EVERYONE, OTHERS, STEP, Crowd, Histories, Tally, tally, together
from kit.histories import Shape

Crowds = Callable[[Shape], Crowd]
SIDES = [reference.histories(together(side)) for side in (EVERYONE, OTHERS)]


def scaled(own: Histories, theta: int, cap: int) -> Histories:
    """Each user's row by the definition, in units of 1/g."""
    found: Histories = {}
    for user, cells in own.items():
        row = {cell: min(times, cap) for cell, times in cells.items()}
        squares = sum(x * x for x in row.values())
        each = GRID if squares <= theta**2 else isqrt(GRID**2 * theta**2 // squares)
        found[user] = Counter({cell: each * x for cell, x in row.items()})
    return found


def farthest(one: Tally, other: Tally) -> int:
    """The largest L2 distance of a table, over all databases, squared."""
    apart: Counter[int] = Counter()
    for cell in one.keys() | other.keys():
        apart[cell[0] // STEP] += (one[cell] - other[cell]) ** 2
    return max(apart.values())


def check(rule: DPSenseL2, crowd: Crowd, table: Callable[[Histories], Histories]) -> None:
    """Each database's counts with and without its first user, and how far they are apart."""
    found = []
    for own, side in zip(SIDES, (crowd.everyone, crowd.others), strict=True):
        counts = count_scaled(crowd.engine, side, rule, side.domain.size).found
        found.append(tally(counts, crowd.cells))
        assert found[-1] == reference.total(scaled(table(own), rule.theta, rule.cap))
        assert counts.squared == (GRID * rule.theta) ** 2
    most = (GRID * rule.theta) ** 2
    assert 0.999 * most < farthest(*found) <= most


def test_items_in_context(crowds: Crowds) -> None:
    check(DPSenseL2(2, cap=2), crowds(BARE), lambda own: own)


@pytest.mark.quick_on_spark
def test_items(crowds: Crowds) -> None:
    """Items by the rows of items: by those in context a user of several contexts weighs more."""
    check(DPSenseL2(2), crowds(BARE).without_contexts(), reference.of_items)


def test_the_histogram_of_norms(crowds: Crowds) -> None:
    crowd, cap = crowds(BARE), 3
    found: Any = row_norms(crowd.engine, crowd.everyone, cap, width=1).found
    wanted: Counter[tuple[int, int]] = Counter()
    for cells in SIDES[0].values():
        row = [min(times, cap) for times in cells.values()]
        wanted[sum(x * x for x in row), sum(row)] += 1
    columns = np.stack([found.squares, found.sums, found.users]).T.tolist()
    assert {(squares, total): users for squares, total, users in columns} == wanted
