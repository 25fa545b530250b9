"""A table with interval noise knows what was charged for it, and takes distinct users only."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from crowdtally.core.counts import Counts, Memberships
from crowdtally.core.domain import Axis
from crowdtally.core.layout import grid
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.table import Measured
from crowdtally.errors import CrowdtallyError
from crowdtally.noise.draws import SystemDraws

AXES = [Axis.of("item", list("abc")), Axis.of("day", range(2))]
CELLS = grid(AXES)
TABLE = Measured("edges", "edges", CELLS, Epsilon.of("1/2"), 1)
BLOCKS = Measured("edges", "edges", CELLS, Epsilon.of("1/2"), 1, blocks=2)
USERS = Memberships.of(6, [0, 5], [7, 9])


class Given(SystemDraws):
    """Noise as given, and what was asked for it."""

    def __init__(self, *vectors: list[int]) -> None:
        self.vectors, self.asked = list(vectors), list[Any]()

    def interval(self, rate: Fraction, size: int) -> Any:
        self.asked.append((rate, size))
        return np.array(self.vectors.pop(0))

    def geometric(self, rate: Any, size: int) -> Any:
        raise AssertionError("other noise was drawn")


def test_one_draw_covers_all_cells_and_phantoms() -> None:
    draws = Given([1, 2, 3, 4, 5, 6, -3])
    table = TABLE.publish(USERS, draws)
    assert draws.asked == [(Fraction(1, 2), 7)]
    assert table.values.tolist() == [14 + 5, 7, 9, 11, 13, 18 + 15]
    assert table.law.unit == Fraction(1, 2)
    (block,) = table.blocks()
    assert block["count"].tolist() == [9.5, 3.5, 4.5, 5.5, 6.5, 16.5]
    told = table.description()
    assert (told["epsilon"], told["sensitivity"], told["publishing"]) == ("0.5", 1, "dense")
    assert (told["noise"]["rate"], told["noise"]["cells"], told["noise"]["phantoms"]) == (
        "0.5", 6, 1,
    )  # fmt: skip


def test_every_block_has_a_draw_of_its_own_and_costs_the_same() -> None:
    draws = Given([1, 2, 3, 0], [10, 20, 30, 0])
    table = BLOCKS.publish(Memberships.of(6, [], []), draws)
    assert draws.asked == [(Fraction(1, 2), 4)] * 2
    assert table.values.tolist() == [2, 20, 4, 40, 6, 60]
    assert BLOCKS.charge().epsilon == Epsilon.of("1/2")
    assert BLOCKS.charge().parameters["blocks"] == 2


def test_what_the_ledger_is_told() -> None:
    part = TABLE.charge()
    assert (part.name, part.epsilon, part.mechanism) == ("edges", Epsilon.of("1/2"), "interval")
    assert part.parameters == {"range_bound": 1, "cells": 6, "phantoms": 1}


@pytest.mark.parametrize(
    ("counted", "words"),
    [
        (Counts(6, [0, 5], [7, 9], 1), "not of distinct users"),
        (Memberships.of(5, [0], [7]), "handed 5 cells"),
        (np.zeros(6, dtype=np.int64), "not of distinct users"),
    ],
)
def test_other_counts_are_refused_before_anything_is_drawn(counted: Any, words: str) -> None:
    draws = Given()
    with pytest.raises(CrowdtallyError, match=words):
        TABLE.publish(counted, draws)
    assert not draws.asked


def test_blocks_divide_the_cells() -> None:
    with pytest.raises(CrowdtallyError, match="4 blocks"):
        Measured("edges", "edges", CELLS, Epsilon.of(1), blocks=4)


def test_numbers_beyond_64_bits_are_held_at_the_end() -> None:
    table = Measured("items", "items", grid(AXES[:1]), Epsilon.of(1))
    huge = np.array([2**70, -(2**70), 5], dtype=object)

    class Huge(SystemDraws):
        def interval(self, rate: Fraction, size: int) -> Any:
            return huge

    found = table.publish(Memberships.of(3, [2], [1]), Huge()).values
    assert found.tolist() == [2**63 - 1, -(2**63), 6]


def test_its_own_facts_stand_in_its_entry() -> None:
    table = Measured("items", "items", grid(AXES[:1]), Epsilon.of(1), facts={"publishing": "x"})
    told = table.publish(Memberships.of(3, [], []), SystemDraws()).description()
    assert told["publishing"] == "x"
