"""DPSense-S's Algorithm 2: fast scores equal the triple loop, exact privacy, mutants."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdtally.core.privacy import Epsilon
from crowdtally.curator.choices.bounds import RowTable
from crowdtally.curator.choices.dpsense_s import SCALINGS, SCORE_GRID, DPSenseSChoice
from crowdtally.errors import UsageError
from crowdtally.noise.draws import SystemDraws
from kit.conditioned import (
    Recorder,
    agrees,
    all_rows,
    is_private,
    loss,
    row_table,
    weighed,
    weight,
    worst_loss,
)
from kit.repeatable import examples

HALVES = (Fraction(1), Fraction(3, 2), Fraction(2))
TWO = (Fraction(2),)


def choice(cls=DPSenseSChoice, cells=3, most=3, epsilon="1", publish="3/10", **more):
    return cls(cells, most, Epsilon.of(epsilon), Epsilon.of(publish), **more)


@st.composite
def searches(draw):
    """A database with a choice over it: any grid, scalings, cap and ε_p, also absurd ones."""
    cells, cap = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    rows = st.lists(st.tuples(*[st.integers(0, cap)] * cells), max_size=7)
    steps = draw(st.sampled_from([1, 2, 7, 100, 999_999]))
    numerators = draw(st.sets(st.integers(steps, 2 * steps), min_size=1, max_size=6))
    made = choice(
        cells=cells,
        most=draw(st.integers(1, cells * cap)),
        publish=draw(st.sampled_from(["1/10", "0.9", "1.0000000000000000001", "1e-30", "50"])),
        cap=cap,
        grid=draw(st.sampled_from([1, 2, 3, 5, 7, 10, 49, 60, SCORE_GRID, 2**40])),
        scalings=tuple(Fraction(k, steps) for k in sorted(numerators)),
    )
    return made, tuple(draw(rows))


@settings(max_examples=examples(300), deadline=None)
@given(searches())
def test_fast_scores_equal_the_triple_loop(search):
    assert agrees(*search)


def test_fast_scores_equal_the_triple_loop_on_a_larger_matrix():
    """Hundreds of columns that move through all hundred buckets."""
    rng = np.random.default_rng(7)
    chance = np.minimum(1, rng.pareto(1.0, 120) / 8)[:, None] / np.arange(1, 61) ** 0.3
    matrix = (rng.random(chance.shape) < chance).astype(int)
    database = tuple(map(tuple, matrix.tolist()))
    tried = choice(cells=60, most=60, publish="0.9")
    sums, counts = matrix.sum(axis=1), matrix.sum(axis=0)
    for theta, row in enumerate(tried.scores(row_table(database)).tolist(), 1):
        weights = np.array([weight(int(rho), theta, SCORE_GRID) for rho in sums])
        bounded = weights @ matrix
        for k, score in zip(range(100, 201), row, strict=True):
            error = int(np.abs(k * bounded - 100 * SCORE_GRID * counts).sum())
            assert score == -(9 * error + 10 * 60 * SCORE_GRID * k * theta)


def test_python_integers_take_over_where_int64_would_not_do():
    database = ((1, 1, 0), (1, 1, 1), (1, 0, 0))
    fine = tuple(Fraction(k, 999_983) for k in (999_983, 1_500_000, 1_999_966))
    wide = choice(publish="1", scalings=fine, grid=2**40)
    assert wide.scores(row_table(database)).dtype == object
    assert agrees(wide, database)
    assert choice(publish="1").scores(row_table(database)).dtype == np.int64


def test_columns_that_nobody_has_cost_nothing():
    """They add no error; with the noise term taken off, 10^12 columns score as three do."""
    table = row_table(((1, 1, 0), (1, 1, 1), (1, 0, 0)))
    thetas, ks = np.arange(1, 4)[:, None], np.array([2, 3, 4])
    narrow, wide = (
        choice(cells=cells, most=3, publish="1", scalings=HALVES, grid=10).scores(table)
        + cells * 10 * thetas * ks
        for cells in (3, 10**12)
    )
    assert np.array_equal(narrow, wide)


@pytest.mark.parametrize("totals", [2**33, 2**40, 2**60])
def test_totals_near_the_end_of_64_bits(totals):
    """One row sum, one column: q_s is known in closed form, however large the crowd."""
    table = RowTable(np.array([2, 2]), np.array([0, 1]), np.array([totals, totals]))
    tried = choice(cells=2, most=2, publish="1", scalings=HALVES, grid=10)
    scores = tried.scores(table).tolist()
    # D = 2, so k is 2, 3, 4; at θ = 1 a row weighs 5 of 10, at θ = 2 all of it.
    expected = [
        [-2 * abs(k * w * totals - 2 * 10 * totals) - 2 * 10 * k * theta for k in (2, 3, 4)]
        for theta, w in ((1, 5), (2, 10))
    ]
    assert scores == expected


def test_an_entry_may_be_given_in_parts_and_in_any_order():
    database = ((1, 1, 0), (1, 1, 1), (1, 0, 0), (1, 1, 0))
    table = row_table(database)
    parts = [np.concatenate((a, a))[::-1].copy() for a in (table.sums, table.columns)]
    halves = np.concatenate((table.totals - 1, np.ones_like(table.totals)))[::-1].copy()
    assert np.array_equal(choice().scores(RowTable(*parts, halves)), choice().scores(table))


@pytest.mark.parametrize("cells", [1, 2, 3])
@pytest.mark.parametrize("scalings", [TWO, HALVES])
@pytest.mark.parametrize("publish", ["1/20", "30"])
@pytest.mark.parametrize("grid", [1, 2, 5, SCORE_GRID])
def test_no_neighbours_lose_more_than_epsilon(cells, scalings, publish, grid):
    tried = choice(cells=cells, most=cells, publish=publish, scalings=scalings, grid=grid)
    assert is_private(tried, all_rows(cells), 3)


@pytest.mark.parametrize(("epsilon", "most"), [("6", 3), ("1/9", 3), ("6", 2), ("6", 1)])
def test_no_neighbours_lose_more_than_epsilon_at_other_sizes(epsilon, most):
    tried = choice(most=most, epsilon=epsilon, scalings=HALVES, grid=7)
    assert is_private(tried, all_rows(3), 3)


@pytest.mark.parametrize("grid", [1, 3, SCORE_GRID])
def test_no_neighbours_lose_more_than_epsilon_with_capped_counts(grid):
    tried = choice(cells=2, most=4, cap=2, scalings=HALVES, grid=grid, publish="1/5")
    assert is_private(tried, all_rows(2, cap=2), 3)


@settings(max_examples=examples(120), deadline=None)
@given(searches(), st.data())
def test_one_user_moves_no_score_by_more_than_the_claimed_sensitivity(search, data):
    tried, database = search
    row = data.draw(st.tuples(*[st.integers(0, tried.cap)] * tried.cells))
    before, after = (
        np.array(weighed(tried, d), dtype=object) for d in (database, (*database, row))
    )
    # In units of q_s: the exponent is ε_c·q_s/(2r), and one row moves q_s by at most ρ/N.
    moved = np.abs(after - before) * 2 * tried.cap / tried.epsilon.value
    assert moved.max() <= Fraction(sum(row), tried.cells) <= tried.cap


def test_the_sensitivity_is_reached():
    tried = choice(scalings=TWO)
    moved = [
        abs(a - b) * 2
        for a, b in zip(weighed(tried, ()), weighed(tried, ((1, 1, 1),)), strict=True)
    ]
    assert max(moved) == 1


# Two users alone in each of N columns, and one with all columns, or not: see dpsense_s.md.
COLUMNS = 8
ALONE = tuple(tuple(int(i == j) for j in range(COLUMNS)) for i in range(COLUMNS)) * 2
WITH = (*ALONE, (1,) * COLUMNS)


class WithoutHalf(DPSenseSChoice):
    @property
    def rate(self):
        return super().rate * 2


def adversarial(cls):
    return choice(cls, cells=COLUMNS, most=COLUMNS, publish="1/50", scalings=TWO)


@pytest.mark.parametrize(
    ("cls", "least", "most"), [(WithoutHalf, 1.74, 1.76), (DPSenseSChoice, 0, 1)]
)
def test_without_the_half_a_pair_loses_nearly_twice_epsilon(cls, least, most):
    """2(1 − 1/N)·ε_c = 1.75."""
    lost = loss(weighed(adversarial(cls), ALONE), weighed(adversarial(cls), WITH))
    assert least < lost < most


class CapForgotten(DPSenseSChoice):
    @property
    def rate(self):
        return super().rate * self.cap


class CutAtTheLargestRow(DPSenseSChoice):
    def scores(self, table):
        return super().scores(table)[: max(table.sums.max(initial=1), 1)]


class NoiseWithoutScaling(DPSenseSChoice):
    """−θ/ε_p in place of −s·θ/ε_p."""

    def scores(self, table):
        b = self.published.value.denominator
        extra = [int((s - 1) * self._whole) for s in self.scalings]
        thetas = np.arange(1, self.most + 1)[:, None]
        return super().scores(table) + b * self.cells * self.grid * thetas * np.array(extra)


class Weighed(DPSenseSChoice):
    """Scores by plain loops over the table, with another weight."""

    def bounded(self, rho, total, theta):
        raise NotImplementedError

    def column(self, entries, theta):
        return sum(self.bounded(rho, total, theta) for rho, total in entries)

    def scores(self, table):
        a, b = self.published.value.as_integer_ratio()
        whole = self._whole
        entries = list(
            zip(*(x.tolist() for x in (table.sums, table.columns, table.totals)), strict=True)
        )
        scores = np.zeros((self.most, len(self.scalings)), dtype=object)
        for theta in range(1, self.most + 1):
            for i, s in enumerate(self.scalings):
                k = int(s * whole)
                scores[theta - 1, i] = -b * self.cells * self.grid * k * theta
                for j in range(self.cells):
                    mine = [(rho, total) for rho, column, total in entries if column == j]
                    true = whole * self.grid * sum(total for _, total in mine)
                    scores[theta - 1, i] -= a * abs(int(k * self.column(mine, theta)) - true)
        return scores


class TheRightWeight(Weighed):
    def bounded(self, rho, total, theta):
        return total * weight(rho, theta, self.grid)


class FloatFloor(Weighed):
    """⌊G·(1/ρ)⌋ in floats: 0 in place of 1 for G = ρ = 49."""

    def bounded(self, rho, total, theta):
        return total * (self.grid if rho <= theta else theta * int(self.grid * (1 / rho)))


class RoundedAfterSumming(Weighed):
    def column(self, entries, theta):
        exact = [Fraction(self.grid * t * min(rho, theta), rho) for rho, t in entries]
        return int(sum(exact, Fraction(0)))


class NeverWhole(Weighed):
    """θ·⌊G/ρ⌋ also where θ = ρ: a whole row would not count whole."""

    def bounded(self, rho, total, theta):
        return total * (self.grid if rho < theta else theta * (self.grid // rho))


class WithoutTheMinimum(Weighed):
    def bounded(self, rho, total, theta):
        return total * theta * (self.grid // rho)


LONG = (1,) * 49
PROBES = [
    ({"cells": 3, "scalings": HALVES, "grid": 5}, ((1, 1, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1))),
    ({"cells": 3, "most": 3, "scalings": HALVES, "grid": 5}, ((1, 0, 0),)),
    ({"cells": 49, "most": 49, "scalings": HALVES, "grid": 49}, (LONG,)),
    ({"cells": 2, "most": 4, "cap": 2, "scalings": HALVES, "grid": 7}, ((2, 2), (1, 0), (2, 1))),
]


def passes(cls) -> bool:
    return all(agrees(choice(cls, **parameters), database) for parameters, database in PROBES)


@pytest.mark.parametrize("right", [DPSenseSChoice, TheRightWeight])
def test_the_right_ones_pass(right):
    assert passes(right)


@pytest.mark.parametrize(
    "mutant",
    [
        WithoutHalf,
        CapForgotten,
        CutAtTheLargestRow,
        NoiseWithoutScaling,
        FloatFloor,
        RoundedAfterSumming,
        NeverWhole,
        WithoutTheMinimum,
    ],
)
def test_mutants_have_another_law(mutant):
    assert not passes(mutant)


def test_mutants_lose_more_than_epsilon():
    tiny = {"publish": "1/20", "scalings": TWO, "grid": 6}
    assert worst_loss(choice(WithoutHalf, **tiny), all_rows(3), 3) > 1
    assert worst_loss(choice(CutAtTheLargestRow, **tiny), all_rows(3), 2) > 1


def test_every_candidate_can_be_picked():
    tried = choice(cells=3, most=3, scalings=HALVES)
    picked = [tried.pick(row_table(((1, 0, 0),)), Recorder(i)) for i in range(9)]
    assert picked == [(theta, s) for theta in (1, 2, 3) for s in HALVES]


def test_no_users():
    tried = choice(cells=2, most=2, publish="1", scalings=TWO, grid=10)
    assert tried.scores(row_table(())).tolist() == [[-40], [-80]]


def test_a_clear_case_is_decided_clearly():
    """Rows of one column and rows of two: only θ = 2 with s = 1 is right for both."""
    database = ((1, 0, 0), (0, 1, 1)) * 50
    tried = choice(cells=3, most=3, epsilon="1000", publish="10")
    assert tried.pick(row_table(database), SystemDraws()) == (2, Fraction(1))


def test_the_default_grid_rounds_no_short_row():
    assert all(SCORE_GRID % rho == 0 for rho in range(1, 17))
    assert len(SCALINGS) == 101
    assert (SCALINGS[0], SCALINGS[-1]) == (1, 2)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"most": 4}, "between 1 and 3"),
        ({"cap": 0}, "cap per cell"),
        ({"grid": 0}, "grid"),
        ({"scalings": ()}, "at least one"),
        ({"scalings": (1.0, 2.0)}, "Fractions"),
        ({"scalings": (Fraction(99, 100), Fraction(1))}, "between 1 and 2"),
        ({"scalings": (Fraction(1), Fraction(201, 100))}, "between 1 and 2"),
        ({"scalings": (Fraction(2), Fraction(1))}, "ascending"),
        ({"scalings": (Fraction(1), Fraction(1))}, "ascending"),
        ({"scalings": (Fraction(10**7 + 1, 10**7),)}, "multiples"),
        ({"cells": 10**5, "most": 10**5}, "candidates"),
    ],
)
def test_wrong_parameters(wrong, words):
    with pytest.raises(UsageError, match=words):
        choice(**wrong)


@pytest.mark.parametrize(
    ("sums", "columns"), [([4], [0]), ([0], [0]), ([1], [3])], ids=["ρ > rN", "ρ = 0", "j ≥ N"]
)
def test_a_table_that_cannot_be_is_refused(sums, columns):
    table = RowTable(np.array(sums), np.array(columns), np.array([1]))
    with pytest.raises(ValueError, match="does not belong"):
        choice().scores(table)
