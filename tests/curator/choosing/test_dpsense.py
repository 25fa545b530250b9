"""DPSense's Algorithm 1: exact scores, exact privacy, and mutants that must not pass."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdtally.core.privacy import Epsilon
from crowdtally.curator.choices.bounds import DPSenseChoice, RowSums
from crowdtally.errors import UsageError
from crowdtally.noise.draws import SystemDraws
from curator.choosing.choice_checks import (
    Recorder,
    agrees,
    all_rows,
    is_private,
    loss,
    row_sums,
    weighed,
    worst_loss,
)
from kit.chisquare import goodness


def choice(cls=DPSenseChoice, cells=3, most=3, epsilon="1", publish="3/10", **more):
    return cls(cells, most, Epsilon.of(epsilon), Epsilon.of(publish), **more)


def databases(cells=4, cap=1):
    row = st.tuples(*[st.integers(0, cap)] * cells)
    return st.lists(row, max_size=8).map(tuple)


@settings(max_examples=150, deadline=None)
@given(databases(cap=3), st.integers(1, 12), st.sampled_from(["1/7", "0.9", "12", "1.00000001"]))
def test_the_law_is_the_defined_one(database, most, publish):
    assert agrees(choice(cells=4, most=most, publish=publish, cap=3), database)


@pytest.mark.parametrize("cells", [1, 2, 3])
@pytest.mark.parametrize("publish", ["1/10", "1", "20"])
@pytest.mark.parametrize("epsilon", ["1/10", "3"])
def test_no_neighbours_lose_more_than_epsilon(cells, publish, epsilon):
    for most in range(1, cells + 1):
        tried = choice(cells=cells, most=most, epsilon=epsilon, publish=publish)
        assert is_private(tried, all_rows(cells), 3)


def test_rows_of_counts_are_as_private_as_binary_ones():
    assert is_private(choice(cells=2, most=4, cap=2), all_rows(2, cap=2), 3)


def test_without_the_half_the_budget_is_nearly_used():
    """The ½ would waste: a long row on an even law loses more than ε_c/2."""
    tried = choice(cells=10, most=10, epsilon="5", publish="100000000")
    assert loss(weighed(tried, ()), weighed(tried, ((1,) * 10,))) > 2.5


class WithHalf(DPSenseChoice):
    @property
    def rate(self):
        return super().rate / 2


class DeltaOfOneCell(DPSenseChoice):
    """Δ = 1/N, as if a user could add only 1 to a total."""

    @property
    def rate(self):
        return super().rate * self.most


class DeltaOfOne(DPSenseChoice):
    """Δ = 1, the paper's Lemma 1: private, and needlessly blunt where θ_max < N."""

    @property
    def rate(self):
        return super().rate * self.most / self.cells


class CutAtTheLargestRow(DPSenseChoice):
    def scores(self, rows):
        return super().scores(rows)[: max(rows.sums.max(initial=1), 1)]


class WithoutTheMinimum(DPSenseChoice):
    """A row counts in full once it is above θ."""

    def scores(self, rows):
        a = self.published.value.numerator
        above = rows.sums[None, :] > np.array(self.candidates)[:, None]
        lost = ((rows.sums - np.array(self.candidates)[:, None]) * rows.users * above).sum(axis=1)
        return [s + a * int(x) for s, x in zip(super().scores(rows), lost, strict=True)]


DATABASE = ((1, 1, 0), (1, 0, 0))


def test_the_right_one_passes():
    assert agrees(choice(most=2), DATABASE)
    assert is_private(choice(most=2), all_rows(3), 3)


@pytest.mark.parametrize(
    "mutant", [WithHalf, DeltaOfOneCell, DeltaOfOne, CutAtTheLargestRow, WithoutTheMinimum]
)
def test_mutants_have_another_law(mutant):
    databases = (DATABASE, ((1, 0, 0),), ((1, 1, 1),) * 2)
    assert not all(agrees(choice(mutant, most=2), database) for database in databases)


@pytest.mark.parametrize("mutant", [DeltaOfOneCell, CutAtTheLargestRow])
def test_mutants_lose_more_than_epsilon(mutant):
    assert worst_loss(choice(mutant, publish="2"), all_rows(3), 3) > 1


def test_every_candidate_can_be_picked():
    for index in range(7):
        picked = choice(cells=9, most=7).pick(row_sums(((1,) * 9,)), Recorder(index))
        assert picked == index + 1


def test_no_users_and_huge_numbers():
    empty = RowSums(np.array([], dtype=np.int64), np.array([], dtype=np.int64))
    assert choice(publish="1").scores(empty) == [-3, -6, -9]
    many = RowSums(np.array([2**62]), np.array([2**60]))
    big = choice(cells=10**6, most=10**6, publish=Fraction(1, 10**30))
    assert big.scores(many)[-1] == 10**6 * 2**60 - 10**30 * 10**12


def test_picks_follow_the_law():
    tried = choice(cells=4, most=4, epsilon="2", publish="2")
    database = ((1, 1, 1, 0), (1, 1, 1, 1), (1, 0, 0, 0))
    exponents = np.array([float(e) for e in weighed(tried, database)])
    law = np.exp(exponents) / np.exp(exponents).sum()
    rows, draws = row_sums(database), SystemDraws()
    counts = np.bincount([tried.pick(rows, draws) for _ in range(4000)], minlength=5)[1:]
    verdict = goodness(counts, law)
    assert verdict.fits, verdict


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"most": 4}, "between 1 and 3"),
        ({"most": 0}, "between 1 and 3"),
        ({"most": True}, "whole number"),
        ({"cells": 0}, "number of cells"),
        ({"cap": 0}, "cap per cell"),
        ({"cells": 10**7, "most": 10**7}, "candidates"),
    ],
)
def test_wrong_parameters(wrong, words):
    with pytest.raises(UsageError, match=words):
        choice(**wrong)
