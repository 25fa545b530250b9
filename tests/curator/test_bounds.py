"""Private choices of a bound: candidates, exact scores, exact privacy, wrong versions."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from math import isqrt, pi, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import crowdtally as ct
from crowdtally.core.layout import grid
from crowdtally.core.privacy import Epsilon, Rho
from crowdtally.curator.bounding.scaling import DPSense
from crowdtally.curator.choices.bounds import (
    BITS,
    DPSenseChoice,
    NoiseCost,
    NormChoice,
    RankChoice,
    RowNorms,
    RowSums,
    RowTable,
    log_spaced,
)
from crowdtally.curator.questions import ChooseNorm
from crowdtally.curator.table import Table
from crowdtally.errors import UsageError
from crowdtally.noise.draws import Draws, SystemDraws
from kit.conditioned import (
    Recorder,
    agrees,
    all_rows,
    is_private,
    loss,
    row_sums,
    weighed,
    worst_loss,
)
from kit.repeatable import examples
from kit.sampler_checks import goodness

# ---- The public list, and the statistics that the choices read -----------------------------------


@given(st.integers(1, 10**9), st.integers(1, 50))
def test_candidates_rise_from_one_to_the_largest_by_a_bounded_ratio(most, fineness):
    candidates = log_spaced(most, fineness=fineness)
    assert candidates[0] == 1
    assert candidates[-1] == most
    for one, next_one in pairwise(candidates):
        assert one < next_one <= max(one + 1, one + one // fineness)


def test_small_candidates_are_all_there():
    assert log_spaced(1000)[:16] == tuple(range(1, 17))


@pytest.mark.parametrize("most", [0, -1, 2.5, True])
def test_the_largest_candidate_is_a_whole_number(most):
    with pytest.raises(UsageError, match="largest candidate"):
        log_spaced(most)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9))), st.lists(st.integers(0, 40)))
def test_users_above(entries, bounds):
    sums = np.array([s for s, _ in entries], dtype=np.int64)
    users = np.array([u for _, u in entries], dtype=np.int64)
    above = RowSums(sums, users).above(np.array(bounds, dtype=np.int64)).tolist()
    assert above == [sum(u for s, u in entries if s > bound) for bound in bounds]


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        (([1, 2], [1]), "one length"),
        (([1.0], [1]), "64-bit integers"),
        (([-1], [1]), "negative"),
        (([1, 2], [2**61, 2**61]), "add up"),
    ],
)
def test_faulty_statistics_are_refused_without_showing_a_value(arrays, words):
    with pytest.raises(ValueError, match=words) as raised:
        RowSums(*map(np.array, arrays))
    assert str(2**61) not in str(raised.value)


def test_faulty_tables_are_refused():
    with pytest.raises(ValueError, match="one length"):
        RowTable(np.array([1]), np.array([0]), np.array([1, 2]))


# ---- The mean absolute noise of one cell, which the choices weigh against what a bound loses -----


def test_laplace_noise_is_not_even_rounded() -> None:
    cost = NoiseCost(Epsilon.of("3/7"))
    assert [Fraction(cost.at(theta), cost.unit) for theta in (1, 10)] == [
        Fraction(7, 3), Fraction(70, 3),
    ]  # fmt: skip
    assert Fraction(cost.step(5), cost.unit) == Fraction(7, 3)


@pytest.mark.parametrize("rooted", [False, True])
@pytest.mark.parametrize("theta", [1, 4, 90])
def test_gaussian_noise_by_its_mean_absolute_value(theta: int, rooted: bool) -> None:
    rho = 0.02
    cost = NoiseCost(Rho.of("0.02"), rooted)
    deviation = (sqrt(theta) if rooted else theta) / sqrt(2 * rho)
    drawn = np.abs(np.random.default_rng(5).normal(0, deviation, 10**6))
    error = 5 * drawn.std() / 1000
    assert cost.at(theta) / cost.unit == pytest.approx(drawn.mean(), abs=error)
    ahead = cost.at(theta + 1) - cost.at(theta)
    behind = cost.at(theta) - cost.at(theta - 1)
    assert ahead - 1 <= cost.step(theta) <= behind + 1


def test_the_rank_rule_takes_a_longer_bound_where_noise_grows_with_the_root() -> None:
    """Every bound up to 100 cuts 400 users; the target is what noise grows by."""
    rows = RowSums(np.arange(1, 401), np.ones(400, dtype=np.int64))
    sure = Epsilon.of(10**6)
    picked = {
        rooted: RankChoice(20, log_spaced(400), sure, Rho.of("0.01"), rooted=rooted).pick(
            rows, SystemDraws()
        )
        for rooted in (False, True)
    }
    per_theta = 20 / sqrt(pi * 0.01)
    assert picked[False] == pytest.approx(400 - per_theta, rel=0.05)
    assert picked[True] > picked[False]


# ---- DPSense's Algorithm 1: exact scores, exact privacy, and mutants that must not pass ----------


def choice(cls=DPSenseChoice, cells=3, most=3, epsilon="1", publish="3/10", **more):
    return cls(cells, most, Epsilon.of(epsilon), Epsilon.of(publish), **more)


def databases(cells=4, cap=1):
    row = st.tuples(*[st.integers(0, cap)] * cells)
    return st.lists(row, max_size=8).map(tuple)


@settings(max_examples=examples(150), deadline=None)
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


# ---- θ from a histogram of norms: one user in one bin, the stated noise, and the best fit by
#      loops


ROWS = [row for row in product(range(5), repeat=4) if any(row)]
RHO = Rho(Fraction(3, 10_000))


def norms(rows: list[tuple[int, ...]]) -> RowNorms:
    squares = [sum(x * x for x in row) for row in rows]
    return RowNorms(
        np.array(squares, dtype=np.int64),
        np.array([sum(row) for row in rows], dtype=np.int64),
        np.ones(len(rows), dtype=np.int64),
    )


def choice_norms(cap: int = 1, most: int = 400, cells: int = 1000) -> NormChoice:
    return NormChoice(cells, most, RHO, Rho(Fraction(1, 100)), cap)


class Given(Draws):
    """Hands out a noise, and keeps what was asked for."""

    def __init__(self, noise: int = 0) -> None:
        self.noise, self.asked = noise, list[tuple[Fraction, int]]()

    def gaussian(self, variance: Fraction, size: int) -> np.ndarray:
        self.asked.append((variance, size))
        return np.full(size, self.noise)


@pytest.mark.parametrize("cap", [1, 4])
def test_a_user_is_in_one_bin_whatever_she_has(cap: int) -> None:
    """So one user changes the histogram by 1 in L2, which the noise is for."""
    rows = ROWS if cap > 1 else [row for row in ROWS if max(row) == 1]
    others = choice_norms(cap).bins(norms(rows[:7]))
    for row in rows:
        changed = choice_norms(cap).bins(norms([*rows[:7], row])) - others
        assert (changed**2).sum() == 1
        squares, total = sum(x * x for x in row), sum(row)
        (bit, shorter), *_ = np.argwhere(changed)
        assert bit + 1 == squares.bit_length()
        assert bit + 1 - shorter == total.bit_length()


def test_the_noise_is_that_of_the_price() -> None:
    draws = Given()
    choice_norms(cap=4).pick(norms(ROWS), draws)
    assert draws.asked == [(1 / (2 * RHO.value), BITS * 4)]


def test_rows_that_are_held_or_out_of_reach_are_in_a_bin_too() -> None:
    held = RowNorms(*(np.array([n], dtype=np.int64) for n in (2**61 + 9, 1, 1)))
    for cap in (1, 4):
        assert choice_norms(cap).bins(held).sum() == choice_norms(cap).bins(held)[61].sum() == 1


def best(counted: dict[int, int], most: int, cells: int) -> int:
    """Of users by Q, binary rows: the θ of least error, by its definition."""

    def error(theta: int) -> float:
        lost = sum(n * max(1 - theta / sqrt(q), 0) * q for q, n in counted.items())
        return lost + cells * theta / sqrt(pi / 100)

    return min(log_spaced(most), key=error)


@pytest.mark.parametrize("scale", [1, 8, 60])
def test_theta_is_near_the_best_that_the_rows_themselves_would_tell(scale: int) -> None:
    rng = np.random.default_rng(3)
    rows = (scale * np.exp(rng.normal(2, 1, 20_000))).astype(np.int64) + 1
    squares, users = np.unique(rows, return_counts=True)
    made = choice_norms(most=400)
    found = made.pick(RowNorms(squares, squares, users), Given())
    wanted = best(dict(zip(squares.tolist(), users.tolist(), strict=True)), 400, 1000)
    assert 0.8 * wanted <= found <= 1.25 * wanted


def test_repeated_records_count_by_their_sums() -> None:
    """Rows of one cell: the more often it counts, the less there is to lose."""
    many = np.array([5000], dtype=np.int64)
    once = RowNorms(np.array([256]), np.array([256]), many)
    often = RowNorms(np.array([256]), np.array([16]), many)
    found = [choice_norms(16, cells=4000).pick(rows, Given()) for rows in (once, often)]
    assert found[0] > found[1]


def test_bins_of_noise_alone_choose_nothing() -> None:
    """Long rows that nobody has would outweigh everybody, were they taken for users."""
    nobody = RowNorms(*(np.empty(0, dtype=np.int64) for _ in range(3)))
    deviation = isqrt(int(choice_norms().variance))
    assert choice_norms().pick(nobody, Given(deviation)) == 1
    some = RowNorms(np.array([100]), np.array([100]), np.array([20_000]))
    assert choice_norms().pick(some, Given(deviation)) == choice_norms().pick(some, Given()) <= 12


def test_what_is_charged_is_what_is_drawn() -> None:
    """Of two tables a user is in a bin each: Δ² is 2."""
    domain = ct.Domain(range(3), {"day": ["a", "b"]})
    tables = tuple(
        Table(name, name, grid(axes), RHO, DPSense(9, norm="l2").l1_bound, settled=False)
        for name, axes in (("items", domain.axes[:1]), ("edges", domain.axes))
    )
    (part,) = ChooseNorm(tables, 9, RHO, 1).parts()
    assert part.rho == RHO
    assert part.parameters["l2_squared"] == 2
    assert part.rho.value == 2 / (2 * Fraction(str(part.parameters["sigma2"])))
    draws = Given()
    for table in tables:
        ChooseNorm(tables, 9, RHO, 1)._choice(table).pick(norms(ROWS[:3]), draws)
    assert {variance for variance, _ in draws.asked} == {Fraction(str(part.parameters["sigma2"]))}


# ---- The rank rule: exact scores, exact privacy, mutants, and what it aims at --------------------


def choice_rank(cls=RankChoice, cells=3, candidates=(1, 2, 3, 5), epsilon="1", publish="2"):
    return cls(cells, candidates, Epsilon.of(epsilon), Epsilon.of(publish))


@settings(max_examples=examples(150), deadline=None)
@given(
    st.lists(st.tuples(*[st.integers(0, 9)] * 4), max_size=9).map(tuple),
    st.sets(st.integers(1, 40), min_size=1).map(lambda s: tuple(sorted(s))),
    st.sampled_from(["1/7", "0.9", "4", "1.00000000000000000001"]),
)
def test_the_law_is_the_defined_one_rank(database, candidates, publish):
    assert agrees(choice_rank(cells=4, candidates=candidates, publish=publish), database)


@pytest.mark.parametrize("cells", [1, 2, 3])
@pytest.mark.parametrize("publish", ["1/10", "1", "2", "7/3", "50"])
@pytest.mark.parametrize("epsilon", ["1/10", "4"])
def test_no_neighbours_lose_more_than_epsilon_rank(cells, publish, epsilon):
    tried = choice_rank(cells=cells, epsilon=epsilon, publish=publish)
    assert is_private(tried, all_rows(cells), 3)


def test_no_neighbours_lose_more_than_epsilon_where_records_repeat():
    assert is_private(choice_rank(cells=2, publish="3/2"), all_rows(2, cap=3), 3)


def test_records_of_several_counts_move_the_rank():
    """Noise is C times as large, so C times as many users may be cut; the privacy is the same."""
    several = RankChoice(3, (1, 2, 3, 5), Epsilon.of("1"), Epsilon.of("2"), times=4)
    rows = RowSums(np.array([1, 4, 9]), np.array([5, 4, 3]))
    assert several.scores(rows) == choice_rank(cells=12).scores(rows)
    assert several.scores(rows) == [-abs(2 * above - 12) for above in (7, 7, 7, 3)]
    assert several.rate == choice_rank().rate


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


class CutAtTheLargestRowRank(RankChoice):
    def scores(self, rows):
        reached = sum(theta <= rows.sums.max(initial=1) for theta in self.candidates)
        return super().scores(rows)[:reached]


# N/ε_p = 2: three users above 1 and 2 are one too many, nobody above 3 is two too few.
DATABASE_RANK = ((1, 0, 0),) * 4 + ((1, 1, 1),) * 3


def test_the_right_one_passes_rank():
    assert agrees(choice_rank(publish="3/2"), DATABASE_RANK)


@pytest.mark.parametrize("mutant", [WithoutHalf, AtLeast, OneSided, CutAtTheLargestRowRank])
def test_mutants_have_another_law_rank(mutant):
    assert not agrees(choice_rank(mutant, publish="3/2"), DATABASE_RANK)


def test_without_the_half_a_pair_loses_nearly_twice_epsilon():
    """Candidate 1 was best and becomes worse; candidate 5 was hopeless and becomes better."""
    crowd = ((2,),) * 30 + ((9,),) * 10
    lost = {}
    for cls in (RankChoice, WithoutHalf):
        tried = choice_rank(cls, cells=30, candidates=(1, 5), publish="1")
        # 40 above 1 (10 too many), 10 above 5 (20 too few); then 41 and 11.
        lost[cls] = loss(weighed(tried, crowd), weighed(tried, (*crowd, (9,))))
    assert lost[WithoutHalf] > 1.9
    assert lost[RankChoice] <= 1


def test_mutants_lose_more_than_epsilon_rank():
    rows = all_rows(3)
    assert worst_loss(choice_rank(CutAtTheLargestRowRank), rows, 2) > 1


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
    tried = choice_rank(cells=cells, candidates=candidates, epsilon="1000", publish=publish)
    picked = tried.pick(RowSums(sums, users), SystemDraws())
    assert cost[picked - 1] == min(cost)


def test_every_candidate_can_be_picked_rank():
    tried = choice_rank()
    picked = [tried.pick(row_sums(()), Recorder(i)) for i in range(4)]
    assert picked == [1, 2, 3, 5]


def test_bounds_beyond_any_row_cost_nothing():
    tried = choice_rank(cells=10, candidates=log_spaced(2**31), publish="1")
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
def test_wrong_parameters_rank(wrong, words):
    with pytest.raises(UsageError, match=words):
        choice_rank(**wrong)
