"""What an attacker sees of a release, as columns."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from crowdtally.core.domain import Axis
from crowdtally.core.layout import Grid, Listed
from crowdtally.curator.converse import Bound, Released
from crowdtally.format import NoisyTable
from crowdtally.lab.auditing.observe import ABSENT, LARGEST, Columns
from crowdtally.laws.laplace import DiscreteLaplace

PLACES = Axis("place", np.array(["a", "b", "c"], dtype=object))
DAYS = Axis("day", np.array([1, 2]))
LAW = DiscreteLaplace(Fraction(2))


def table(name, values, layout=None, cells=None, **facts):
    numbers = np.array(
        values, dtype=object if max(map(abs, values), default=0) > 2**62 else np.int64
    )
    published = None if cells is None else np.array(cells, dtype=np.int64)
    return NoisyTable(name, layout or Grid((PLACES,)), numbers, LAW, facts, cells=published)


def test_every_cell_of_every_table_is_a_column() -> None:
    runs = [
        Released((table("popularity", [n, 0, 0]), table("items", [5, n, 7]),
                  table("edges", range(6), Grid((PLACES, DAYS)))), {"items": Bound(3)})
        for n in (1, -2)
    ]  # fmt: skip
    columns = Columns.seen_in(runs[:1], runs[1:])
    assert columns.parts == ("popularity", "items", "edges", "choose")
    assert columns.names[:7] == (
        "popularity[a]", "popularity[b]", "popularity[c]", "items[a]", "items[b]", "items[c]",
        "edges[a, 1]",
    )  # fmt: skip
    assert columns.matrix(runs).tolist() == [
        [1, 0, 0, 5, 1, 7, 0, 1, 2, 3, 4, 5, 3],
        [-2, 0, 0, 5, -2, 7, 0, 1, 2, 3, 4, 5, 3],
    ]
    assert [columns.names[place] for place in columns.choices] == ["bound of items"]


def test_a_part_alone_has_its_own_columns() -> None:
    runs = [Released((table("popularity", [1, 2, 3]), table("items", [4, 5, 6])))]
    part = Columns.seen_in(runs).of_part("items")
    assert part.names == ("items[a]", "items[b]", "items[c]")
    assert part.matrix(runs).tolist() == [[4, 5, 6]]


def test_a_cell_that_is_not_published_is_absent_and_not_zero() -> None:
    runs = [Released((table("items", v, cells=c),)) for v, c in (([8, 0], [0, 2]), ([], []))]
    columns = Columns.seen_in(runs)
    assert columns.names == ("items[a]", "items[b]", "items[c]", "published cells of items")
    assert columns.matrix(runs).tolist() == [[8, ABSENT, 0, 2], [ABSENT, ABSENT, ABSENT, 0]]


def test_of_a_large_table_the_cells_that_appear_most_are_columns() -> None:
    large = Grid((Axis("number", np.arange(1000)),))
    cells = ([3, 900], [900], [7, 900], [7])
    runs = [Released((table("cells", [50] * len(c), large, c),)) for c in cells]
    columns = Columns.seen_in(runs, most_cells=2)
    assert columns.names == ("cells[7]", "cells[900]", "published cells of cells")
    assert columns.matrix(runs)[0].tolist() == [ABSENT, 50, 2]


@pytest.mark.parametrize("labels", [("x", "y", "z"), (3, 20, 100)])
def test_items_that_a_release_found_are_told_by_their_labels(labels) -> None:
    def found(these, values, mass):
        kind = object if isinstance(labels[0], str) else np.int64
        layout = Listed({"place": np.array(these, dtype=kind)})
        return Released((table("items", values, layout),), other={"count": mass})

    x, y, z = labels
    runs = [found([x, y], [6, 9], 4), found([], [], -1)]
    columns = Columns.seen_in(runs)
    names = (f"items[{x}]", f"items[{y}]", "published cells of items", "the mass of the others")
    assert sorted(columns.names) == sorted(names)
    assert columns.parts == ("items", "total")
    new = dict(zip(columns.names, columns.matrix([found([y, z], [7, 8], 5)])[0], strict=True))
    assert [new[name] for name in names] == [ABSENT, 7, 2, 5], "a label of no training run"


def test_what_was_chosen_is_seen() -> None:
    first = Released((table("items", [1, 2, 3]),), {"items": Bound(3)})
    second = replace(first, bounds={"items": Bound(5, Fraction(2, 3))})
    columns = Columns.seen_in([first], [second])
    assert columns.of_part("choose").matrix([first, second]).tolist() == [[3, 1, 1], [5, 2, 3]]
    assert [columns.names[place] for place in columns.choices] == [
        "bound of items",
        "numerator of the scaling of items",
        "denominator of the scaling of items",
    ]


def test_the_threshold_of_a_sample_is_seen() -> None:
    runs = [
        Released((table("items", [4], cells=[1], estimating_threshold=tau),))
        for tau in ("7/2", None)
    ]
    columns = Columns.seen_in(runs)
    assert columns.names[-1] == "thousandths of the threshold of items"
    assert columns.matrix(runs)[:, -1].tolist() == [3500, ABSENT]


def test_values_of_any_size_are_held_so_that_they_can_be_added() -> None:
    runs = [Released((table("items", [10**30, -(10**30), 2**62]),))]
    assert Columns.seen_in(runs).matrix(runs).tolist() == [[LARGEST, -LARGEST, LARGEST]]
    plain = [Released((table("items", [2**62, -(2**62), 5]),))]
    assert Columns.seen_in(plain).matrix(plain).tolist() == [[LARGEST, -LARGEST, 5]]
    assert -2 * LARGEST > ABSENT
