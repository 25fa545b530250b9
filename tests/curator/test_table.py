"""A table knows what was charged for it, and publishes nothing else."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from crowdtally.core.counts import Counts
from crowdtally.core.domain import Axis
from crowdtally.core.layout import Pairs, grid
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.bounding.scaling import GRID, DPSenseS
from crowdtally.curator.request.options import completed
from crowdtally.curator.request.table_specs import formed, table_bound
from crowdtally.curator.table import Table
from crowdtally.errors import CrowdtallyError
from crowdtally.noise.draws import SystemDraws
from kit.releases import named_form

AXES = [Axis.of("item", list("abcd")), Axis.of("age", range(8))]
CELLS = grid(AXES)
TABLE = Table("cells", "cells", CELLS, Epsilon.of("1/2"), 3)
COUNTS = Counts(CELLS.size, [0, 5], [7, 9], 3)


class NothingDrawn(SystemDraws):
    def geometric(self, rate: object, size: int) -> np.ndarray:
        raise AssertionError("noise was drawn")


def test_its_noise_follows_from_bound_epsilon_and_unit() -> None:
    assert TABLE.law.scale == 6
    tree = formed(
        "cells", CELLS, Epsilon.of("1/2"), named_form({"transform": "dyadic", "ordered": "age"}),
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
    scaled = DPSenseS.of(completed({"max_records": 3, "scalings": "1,1.5", "choose": "dpsense"}))
    squared = 3 * GRID**2  # binary rows
    assert table_bound(scaled, CELLS, "users") == (3 * GRID, Fraction(3, 2) / GRID, squared)


def test_each_sketch_has_hashes_of_its_own() -> None:
    options = named_form({"transform": "sketch", "buckets": 4})
    seeds = {
        formed("cells", CELLS, Epsilon.of(1), options, bound=1).transform.facts()["seed"]
        for _ in range(5)
    }
    assert len(seeds) == 5


def test_a_table_is_published_as_it_was_planned() -> None:
    """The rule that keeps cells is computed once, from public numbers."""
    table = formed(
        "cells", CELLS, Epsilon.of(1), named_form({"publishing": "filter", "size": 3}), bound=3
    )
    made = table.publish(COUNTS, SystemDraws())
    assert made.facts["cut"] == table.keeping.cut > 0
    assert made.facts["sensitivity"] == table.l1_bound
    assert made.law == table.law
