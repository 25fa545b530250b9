"""Tables as they are asked for and as they are measured."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import crowdtally as ct
from crowdtally.core.counts import Counts, Memberships
from crowdtally.core.domain import Axis
from crowdtally.core.layout import Pairs, grid
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.bounding.scaling import GRID, DPSenseS
from crowdtally.curator.request.table_specs import table_bound
from crowdtally.curator.table import Measured, Table
from crowdtally.errors import CrowdtallyError
from crowdtally.noise.draws import SystemDraws
from kit.releases import in_form

# ---- A table knows what was charged for it, and publishes nothing else ---------------------------


AXES = [Axis.of("item", list("abcd")), Axis.of("age", range(8))]
CELLS = grid(AXES)
TABLE = Table("cells", "cells", CELLS, Epsilon.of("1/2"), 3)
COUNTS = Counts(CELLS.size, [0, 5], [7, 9], 3)


class NothingDrawn(SystemDraws):
    def geometric(self, rate: object, size: int) -> np.ndarray:
        raise AssertionError("noise was drawn")


def test_its_noise_follows_from_bound_epsilon_and_unit() -> None:
    assert TABLE.law.scale == 6
    tree = in_form(
        "cells", CELLS, Epsilon.of("1/2"), {"transform": ct.Dyadic("age")},
        bound=3, unit=Fraction(1, 4),
    )  # fmt: skip
    assert (tree.l1_bound, tree.law.scale, tree.law.unit) == (12, 24, Fraction(1, 4))
    assert tree.charge().parameters == {"l1_bound": 12, "unit": "0.25"}
    assert tree.layout.size == 4 * 15


@pytest.mark.parametrize(
    "counts",
    [
        replace(COUNTS, l1_bound=4),
        replace(COUNTS, l1_bound=2),
        replace(COUNTS, unit=Fraction(1, 2)),
        Counts(CELLS.size + 1, [0], [1], 3),
    ],
    ids=["a larger bound", "a smaller bound", "another unit", "another size"],
)
def test_counts_that_were_not_charged_for_are_refused(counts: Counts) -> None:
    with pytest.raises(CrowdtallyError, match="was charged for 32 cells of bound 3·1"):
        TABLE.publish(counts, NothingDrawn())


def test_a_bound_that_is_yet_to_be_chosen_is_not_published() -> None:
    unsettled = replace(TABLE, settled=False)
    assert unsettled.charge().parameters == {"l1_bound_at_most": 3, "unit": "1"}
    with pytest.raises(CrowdtallyError, match="nothing is released"):
        unsettled.publish(COUNTS, NothingDrawn())
    assert unsettled.settle(2, Fraction(1)).l1_bound == 2
    for bound, unit in ((4, Fraction(1)), (2, Fraction(2))):
        with pytest.raises(CrowdtallyError, match="nothing is released"):
            unsettled.settle(bound, unit)
    with pytest.raises(CrowdtallyError, match="nothing is released"):
        TABLE.settle(2, Fraction(1))


def test_bounds_of_tables() -> None:
    pairs = Pairs(AXES[0])
    assert table_bound(SRA(5), CELLS, "records") == (5, 1, 25)
    assert table_bound(SRA(5), CELLS, "users") == (5, 1, 5)
    assert table_bound(SRA(5), pairs, "records") == (10, 1, 36)
    assert table_bound(SRA(5), pairs, "users") == (10, 1, 10)
    scaled = DPSenseS(3, choose="dpsense", scalings=["1", "1.5"])
    squared = 3 * GRID**2  # binary rows
    assert table_bound(scaled, CELLS, "users") == (3 * GRID, Fraction(3, 2) / GRID, squared)


def test_each_sketch_has_hashes_of_its_own() -> None:
    options = {"transform": ct.Sketch(4)}
    seeds = {
        in_form("cells", CELLS, Epsilon.of(1), options, bound=1).transform.facts()["seed"]
        for _ in range(5)
    }
    assert len(seeds) == 5


def test_a_table_is_published_as_it_was_planned() -> None:
    """The rule that keeps cells is computed once, from public numbers."""
    table = in_form("cells", CELLS, Epsilon.of(1), {"summary": ct.Filter(size=3)}, bound=3)
    made = table.publish(COUNTS, SystemDraws())
    assert made.facts["cut"] == table.keeping.cut > 0
    assert made.facts["sensitivity"] == table.l1_bound
    assert made.law == table.law


# ---- A table with interval noise knows what was charged for it, and takes distinct users only ----


AXES_MEASURED = [Axis.of("item", list("abc")), Axis.of("day", range(2))]
CELLS_MEASURED = grid(AXES_MEASURED)
TABLE_MEASURED = Measured("edges", "edges", CELLS_MEASURED, Epsilon.of("1/2"), phantoms=1)
BLOCKS = Measured("edges", "edges", CELLS_MEASURED, Epsilon.of("1/2"), phantoms=1, blocks=2)
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
    table = TABLE_MEASURED.publish(USERS, draws)
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
    part = TABLE_MEASURED.charge()
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
        TABLE_MEASURED.publish(counted, draws)
    assert not draws.asked


def test_blocks_divide_the_cells() -> None:
    with pytest.raises(CrowdtallyError, match="4 blocks"):
        Measured("edges", "edges", CELLS_MEASURED, Epsilon.of(1), blocks=4)


def test_numbers_beyond_64_bits_are_held_at_the_end() -> None:
    table = Measured("items", "items", grid(AXES_MEASURED[:1]), Epsilon.of(1))
    huge = np.array([2**70, -(2**70), 5], dtype=object)

    class Huge(SystemDraws):
        def interval(self, rate: Fraction, size: int) -> Any:
            return huge

    found = table.publish(Memberships.of(3, [2], [1]), Huge()).values
    assert found.tolist() == [2**63 - 1, -(2**63), 6]
