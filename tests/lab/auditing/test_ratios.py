"""What a case would release without noise, and its claimed noise; what is seen of large tables."""

from __future__ import annotations

import numpy as np
import pytest

from crowdtally.core.privacy import Epsilon
from crowdtally.curator.converse import Released
from crowdtally.format import NoisyTable
from crowdtally.lab.auditing.cases import Case, cases_of
from crowdtally.lab.auditing.databases import Pair, pairs_of, seen_of
from crowdtally.lab.auditing.run import Attack, Shared
from kit.draws import SilentDraws


def case_of(name: str) -> Case:
    return next(iter(cases_of(name, Epsilon.of(1))))


def one_cell(case: Case) -> Pair:
    return next(pair for pair in pairs_of(case.request) if "records in one cell" in pair.words)


@pytest.mark.parametrize(
    ("method", "hers", "scales"),
    [
        ("sra", {"items[item 0]": 2}, {"items[item 0]": 2, "items[item 1]": 2}),
        ("sra/filter", {"items[item 0]": 2}, {"items[item 0]": 2}),
        (
            "hpa",
            {"popularity[item 0]": 1, "items[item 0]": 2},
            {"popularity[item 0]": 1.25, "items[item 0]": 10},
        ),
        (
            "sra/dyadic",
            {"items[0, 0, item 0, item 1]": 1, "items[1, 0, item 0, item 0]": 1},
            {"items[0, 0, item 0, item 1]": 2},
        ),
    ],
)
def test_the_exact_counts_and_the_claimed_scale_of_every_cell(
    method: str, hers: dict[str, int], scales: dict[str, float]
) -> None:
    case = case_of(method)
    with Shared() as shared:
        one = Attack(case, one_cell(case), shared)
        assert one.expected is None  # what is seen is not known before a run
        one.runs(20)
        expected = one.expected
    assert expected is not None
    cells = {name: place for place, name in enumerate(one.names) if "[" in name}
    for name, place in cells.items():
        assert (expected.without[place], expected.with_user[place]) == (0, hers.get(name, 0))
    for name, scale in scales.items():
        assert expected.scale[cells[name]] == scale
    others = [place for place in range(len(one.names)) if place not in cells.values()]
    assert np.isnan(expected.with_user[others]).all()


@pytest.mark.parametrize("method", ["sra+rank", "discovery"])
def test_nothing_is_expected_of_what_is_yet_to_be_chosen(method: str) -> None:
    case = case_of(method)
    with Shared() as shared:
        one = Attack(case, pairs_of(case.request)[0], shared)
        one.runs(20)
        assert one.expected is None


def test_of_a_large_table_her_cells_are_seen() -> None:
    case = case_of("sra")
    with Shared() as shared:
        made = Attack(case, one_cell(case), shared)._with.run(0, SilentDraws())
    (table,) = made.tables
    dense = NoisyTable("items", table.layout, np.array([7, 9]), table.law, table.facts)
    sparse = NoisyTable("items", table.layout, np.array([9]), table.law, table.facts, np.array([1]))
    hers = {"items": np.array([0, 1])}
    (whole,) = seen_of(Released((dense,)), hers).tables
    (part,) = seen_of(Released((sparse,)), hers).tables
    (none,) = seen_of(Released((sparse,)), {"items": np.array([0])}).tables
    assert (whole.cells.tolist(), whole.values.tolist()) == ([0, 1], [7, 9])  # type: ignore[union-attr]
    assert (part.cells.tolist(), part.values.tolist()) == ([1], [9])  # type: ignore[union-attr]
    assert len(none.values) == 0
    assert seen_of(Released((dense,)), {}).tables == (dense,)
