"""Events: in which runs they happen, in words, and how the search's tools see them."""

import numpy as np
import pytest

from crowdtally.lab.auditing.certify import at_least, at_most
from crowdtally.lab.auditing.observe import (
    ABSENT,
    LARGEST,
    Combined,
    Condition,
    Event,
    Single,
    Stakes,
)
from crowdtally.lab.auditing.ratios import Expected, Histogram, LaplaceRatio, Linear, combinations
from crowdtally.lab.auditing.search import Coded, scan
from lab.auditing.simulated import laplace

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
