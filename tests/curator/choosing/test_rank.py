"""The rank rule: exact scores, exact privacy, mutants, and what it aims at."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdtally.core.privacy import Epsilon
from crowdtally.curator.choices.bounds import RankChoice, RowSums, log_spaced
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


def choice(cls=RankChoice, cells=3, candidates=(1, 2, 3, 5), epsilon="1", publish="2"):
    return cls(cells, candidates, Epsilon.of(epsilon), Epsilon.of(publish))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(*[st.integers(0, 9)] * 4), max_size=9).map(tuple),
    st.sets(st.integers(1, 40), min_size=1).map(lambda s: tuple(sorted(s))),
    st.sampled_from(["1/7", "0.9", "4", "1.00000000000000000001"]),
)
def test_the_law_is_the_defined_one(database, candidates, publish):
    assert agrees(choice(cells=4, candidates=candidates, publish=publish), database)


@pytest.mark.parametrize("cells", [1, 2, 3])
@pytest.mark.parametrize("publish", ["1/10", "1", "2", "7/3", "50"])
@pytest.mark.parametrize("epsilon", ["1/10", "4"])
def test_no_neighbours_lose_more_than_epsilon(cells, publish, epsilon):
    tried = choice(cells=cells, epsilon=epsilon, publish=publish)
    assert is_private(tried, all_rows(cells), 3)


def test_no_neighbours_lose_more_than_epsilon_where_records_repeat():
    assert is_private(choice(cells=2, publish="3/2"), all_rows(2, cap=3), 3)


def test_records_of_several_counts_move_the_rank():
    """Noise is C times as large, so C times as many users may be cut; the privacy is the same."""
    several = RankChoice(3, (1, 2, 3, 5), Epsilon.of("1"), Epsilon.of("2"), times=4)
    rows = RowSums(np.array([1, 4, 9]), np.array([5, 4, 3]))
    assert several.scores(rows) == choice(cells=12).scores(rows)
    assert several.scores(rows) == [-abs(2 * above - 12) for above in (7, 7, 7, 3)]
    assert several.rate == choice().rate


class WithoutHalf(RankChoice):
    @property
    def rate(self):
        return super().rate * 2


class AtLeast(RankChoice):
    """#{RC ≥ θ} in place of #{RC > θ}."""

    def scores(self, rows):
        return super().scores(RowSums(rows.sums + 1, rows.users))


class OneSided(RankChoice):
    """#{RC > θ} − N/ε_p without the absolute value: the smallest bound always wins."""

    def scores(self, rows):
        a, b = self.published.value.as_integer_ratio()
        above = rows.above(np.array(self.candidates)).tolist()
        return [a * users - b * self.cells for users in above]


class CutAtTheLargestRow(RankChoice):
    def scores(self, rows):
        reached = sum(theta <= rows.sums.max(initial=1) for theta in self.candidates)
        return super().scores(rows)[:reached]


# N/ε_p = 2: three users above 1 and 2 are one too many, nobody above 3 is two too few.
DATABASE = ((1, 0, 0),) * 4 + ((1, 1, 1),) * 3


def test_the_right_one_passes():
    assert agrees(choice(publish="3/2"), DATABASE)


@pytest.mark.parametrize("mutant", [WithoutHalf, AtLeast, OneSided, CutAtTheLargestRow])
def test_mutants_have_another_law(mutant):
    assert not agrees(choice(mutant, publish="3/2"), DATABASE)


def test_without_the_half_a_pair_loses_nearly_twice_epsilon():
    """Candidate 1 was best and becomes worse; candidate 5 was hopeless and becomes better."""
    crowd = ((2,),) * 30 + ((9,),) * 10
    lost = {}
    for cls in (RankChoice, WithoutHalf):
        tried = choice(cls, cells=30, candidates=(1, 5), publish="1")
        # 40 above 1 (10 too many), 10 above 5 (20 too few); then 41 and 11.
        lost[cls] = loss(weighed(tried, crowd), weighed(tried, (*crowd, (9,))))
    assert lost[WithoutHalf] > 1.9
    assert lost[RankChoice] <= 1


def test_mutants_lose_more_than_epsilon():
    rows = all_rows(3)
    assert worst_loss(choice(CutAtTheLargestRow), rows, 2) > 1


@pytest.mark.parametrize(("cells", "publish"), [(33, "1"), (31, "1/3"), (6, "2")])
def test_the_best_score_minimises_lost_records_plus_noise(cells, publish):
    """Where some θ is exceeded by exactly N/ε_p users: 33, 93 and 3 of them here."""
    sums = np.array([1, 2, 3, 8, 20, 100, 1000])
    users = np.array([500, 300, 200, 90, 60, 30, 3])
    candidates = tuple(range(1, 1001))
    cost = [
        int((np.maximum(sums - t, 0) * users).sum()) + cells * t / Fraction(publish)
        for t in candidates
    ]
    tried = choice(cells=cells, candidates=candidates, epsilon="1000", publish=publish)
    picked = tried.pick(RowSums(sums, users), SystemDraws())
    assert cost[picked - 1] == min(cost)


def test_every_candidate_can_be_picked():
    tried = choice()
    picked = [tried.pick(row_sums(()), Recorder(i)) for i in range(4)]
    assert picked == [1, 2, 3, 5]


def test_bounds_beyond_any_row_cost_nothing():
    tried = choice(cells=10, candidates=log_spaced(2**31), publish="1")
    assert len(tried.scores(row_sums(((1,),)))) == len(tried.candidates) < 200


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"cells": 0}, "number of cells"),
        ({"candidates": ()}, "distinct"),
        ({"candidates": (1, 1)}, "distinct"),
        ({"candidates": (0, 1)}, "whole number"),
        ({"candidates": (1.5,)}, "whole number"),
    ],
)
def test_wrong_parameters(wrong, words):
    with pytest.raises(UsageError, match=words):
        choice(**wrong)
