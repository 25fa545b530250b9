"""What an attacker observes: events, and features of releases."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from crowdtally.core.domain import Axis
from crowdtally.core.layout import Grid, Listed
from crowdtally.curator.converse import Released
from crowdtally.curator.methods.discover import DiscoverFacts
from crowdtally.curator.methods.tables import TablesFacts
from crowdtally.curator.questions import Bound
from crowdtally.format import NoisyTable
from crowdtally.lab.auditing.certify import at_least, at_most
from crowdtally.lab.auditing.observe import (
    ABSENT,
    LARGEST,
    Columns,
    Combined,
    Condition,
    Event,
    Single,
    Stakes,
)
from crowdtally.lab.auditing.ratios import Expected, Histogram, LaplaceRatio, Linear, combinations
from crowdtally.lab.auditing.search import Coded, scan
from crowdtally.laws.laplace import DiscreteLaplace
from kit.lab import laplace

# ---- Events: in which runs they happen, in words, and how the search's tools see them ------------


NAMES = ("items[a]", "items[b]")
RUNS = np.array([[3, 5], [ABSENT, 5], [4, ABSENT], [3, -5]])


DIFFERENCE = Combined(0, 1, -1)


@pytest.mark.parametrize(
    ("condition", "held", "words"),
    [
        (Condition(Single(0), "at least", 3), [1, 0, 1, 1], "items[a] is at least 3"),
        (Condition(Single(0), "at most", 3), [1, 1, 0, 1], "items[a] is at most 3"),
        (
            Condition(Single(0), "at most", 3, may_be_absent=True),
            [1, 1, 0, 1],
            "items[a] is absent or at most 3",
        ),
        (Condition(Single(0), "exactly", ABSENT), [0, 1, 0, 0], "items[a] is absent"),
        (
            Condition(Combined(0, 1, 1), "exactly", 8),
            [1, 0, 0, 0],
            "items[a] + items[b] is exactly 8",
        ),
        (
            Condition(DIFFERENCE, "at least", 0),
            [0, 0, 0, 1],
            "items[a] − items[b] is at least 0",
        ),
        (Condition(DIFFERENCE, "at most", ABSENT), [0, 1, 1, 0], "items[a] − items[b] is absent"),
    ],
)
def test_a_condition(condition: Condition, held: list[int], words: str) -> None:
    assert condition.holds(RUNS).tolist() == [bool(one) for one in held]
    assert condition.words(NAMES) == words


def test_all_conditions_of_an_event_hold() -> None:
    conditions = (Condition(Single(0), "at least", 3), Condition(Single(1), "at most", 4))
    assert Event(conditions).holds(RUNS).tolist() == [False, False, True, True]
    assert Event(conditions).words(NAMES) == "items[a] is at least 3 and items[b] is at most 4"
    assert Event(()).holds(RUNS).all()


def test_the_largest_values_neither_overflow_nor_look_absent() -> None:
    ends = np.array([[LARGEST, LARGEST], [-LARGEST, -LARGEST], [LARGEST, -LARGEST]])
    assert Combined(0, 1, 1).of(ends).tolist() == [2 * LARGEST, -2 * LARGEST, 0]
    assert Combined(0, 1, -1).of(ends).tolist() == [0, 0, 2 * LARGEST]


def test_the_ratio_of_claimed_laws_by_hand() -> None:
    expected = Expected(np.array([2.0, 5.0, np.nan]), np.array([0.0, 5.0, 1.0]), np.full(3, 4.0))
    ratio = LaplaceRatio.claimed(expected)
    assert ratio.columns.tolist() == [0]
    values = np.array([[9, 0, 0], [2, 0, 0], [1, 0, 0], [-3, 0, 0], [ABSENT, 0, 0]])
    assert ratio.of(values).tolist() == [500, 500, 0, -500, 0]


def test_a_laplace_law_is_fitted_where_columns_differ_and_are_always_there() -> None:
    rng = np.random.default_rng(3)
    with_user, without = (laplace(rng, 3, (4000, 3)) + 10 for _ in range(2))
    with_user[:, 0] += 2
    with_user[:, 2] += 2
    without[0, 2] = ABSENT
    ratio = LaplaceRatio.learned(with_user, without)
    assert (ratio.columns.tolist(), ratio.with_user, ratio.without) == ([0], [12], [10])
    assert abs(ratio.scale[0] - 3) < 0.2


def test_absence_has_a_bin_of_its_own() -> None:
    rng = np.random.default_rng(4)
    values = rng.integers(0, 10_000, (2000, 1))
    with_user, without = values.copy(), values.copy()
    with_user[:900], without[:300] = ABSENT, ABSENT
    learned = Histogram.learned(0, with_user, without)
    ratios = learned.log_ratio(np.array([[ABSENT], [0], [5000]]))
    assert 0.9 < ratios[0] < np.log(3)
    assert ratios[1] <= 0
    assert learned.surprise > 4


def test_columns_that_go_together_are_combined() -> None:
    rng = np.random.default_rng(5)
    runs = laplace(rng, 5, (2000, 30))
    runs[:, 29] = runs[:, 20]
    found = {(one.first, one.second, one.sign) for one in combinations([0, 1], runs)}
    assert {(0, 1, 1), (0, 1, -1), (20, 29, 1), (20, 29, -1)} <= found
    linear = Linear.learned([19, 20, 29], runs + (np.arange(30) == 20), runs)
    assert linear is not None
    assert linear.columns.tolist() == [20, 29]
    assert linear.weights[0] == -linear.weights[1] == 1000


@pytest.mark.parametrize("seen", [(0, 30), (30, 0), (14_600, 5400), (400, 150), (40_000, 39_900)])
def test_what_is_promised_is_near_what_would_be_certified(seen: tuple[int, int]) -> None:
    runs, alpha = 40_000, 1e-5
    stakes = Stakes((runs, runs), alpha, 0.0, 1.0)
    endless = 10**9
    counts = tuple(np.array([one * (endless // runs)]) for one in seen)
    p, q = float(at_least(seen[0], runs, alpha / 2)), float(at_most(seen[1], runs, alpha / 2))
    promised = float(stakes.promises((counts[0], counts[1]), (endless, endless))[0][0])
    if p > 0:
        assert abs(promised - np.log(p / q)) < 0.12
    else:
        assert promised < -1


def test_a_scan_finds_the_best_threshold() -> None:
    rng = np.random.default_rng(6)
    with_user, without = laplace(rng, 1, 20_000) + 8, laplace(rng, 1, 20_000) + 7
    stakes = Stakes((20_000, 20_000), 1e-4, 0.0, 1.0)
    best = scan(Coded.of(with_user, without), stakes, (20_000, 20_000))
    assert (best.comparison, best.value) in {("at least", 8), ("at most", 7)}
    finer = [side * 1000 + rng.integers(0, 1000, 20_000) for side in (with_user, without)]
    many = Coded.of(finer[0], finer[1])
    assert not many.exact
    assert len(many.levels) <= 400
    assert abs(scan(many, stakes, (20_000, 20_000)).promise - best.promise) < 0.02


# ---- What an attacker sees of a release, as columns ----------------------------------------------


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
                  table("edges", range(6), Grid((PLACES, DAYS)))), TablesFacts({"items": Bound(3)}))
        for n in (1, -2)
    ]  # fmt: skip
    columns = Columns.seen_in(runs[:1], runs[1:])
    assert columns.names[:7] == (
        "popularity[a]", "popularity[b]", "popularity[c]", "items[a]", "items[b]", "items[c]",
        "edges[a, 1]",
    )  # fmt: skip
    assert columns.matrix(runs).tolist() == [
        [1, 0, 0, 5, 1, 7, 0, 1, 2, 3, 4, 5, 3],
        [-2, 0, 0, 5, -2, 7, 0, 1, 2, 3, 4, 5, 3],
    ]
    assert [columns.names[place] for place in columns.choices] == ["bound of items"]


def test_a_cell_that_is_not_published_is_absent_and_not_zero() -> None:
    runs = [Released((table("items", v, cells=c),)) for v, c in (([8, 0], [0, 2]), ([], []))]
    columns = Columns.seen_in(runs)
    assert columns.names == ("items[a]", "items[b]", "items[c]", "published cells of items")
    assert columns.matrix(runs).tolist() == [[8, ABSENT, 0, 2], [ABSENT, ABSENT, ABSENT, 0]]


def test_a_table_that_no_run_of_a_batch_has_is_absent() -> None:
    runs = [Released((table("items", [1, 2, 3]), table("zoom", [4, 5, 6]))), Released()]
    columns = Columns.seen_in(runs)
    assert columns.matrix(runs[1:]).tolist() == [[ABSENT] * 6]


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
        return Released((table("items", values, layout),), DiscoverFacts({"count": mass}))

    x, y, z = labels
    runs = [found([x, y], [6, 9], 4), found([], [], -1)]
    columns = Columns.seen_in(runs)
    names = (f"items[{x}]", f"items[{y}]", "published cells of items", "the mass of the others")
    assert sorted(columns.names) == sorted(names)
    new = dict(zip(columns.names, columns.matrix([found([y, z], [7, 8], 5)])[0], strict=True))
    assert [new[name] for name in names] == [ABSENT, 7, 2, 5], "a label of no training run"


def test_what_was_chosen_is_seen() -> None:
    first = Released((table("items", [1, 2, 3]),), TablesFacts({"items": Bound(3)}))
    second = replace(first, facts=TablesFacts({"items": Bound(5, Fraction(2, 3))}))
    columns = Columns.seen_in([first], [second])
    chosen = columns.matrix([first, second])[:, columns.choices]
    assert chosen.tolist() == [[3, 1, 1], [5, 2, 3]]
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
