"""The joint output law of the short cut, computed over all its runs, against the definition.

Enumerating every run of the code on tiny tables shows its law to about 10^-4, without a sample. The
same check must reject each wrong version of the code.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from crowdtally.core.counts import Counts, Keeping
from crowdtally.curator.summaries import sparse as empty
from crowdtally.curator.summaries import sparse as sampling
from crowdtally.curator.summaries.sparse import draw_sample
from crowdtally.laws.balls import Real, as_ball
from crowdtally.laws.laplace import DiscreteLaplace
from kit import laborious
from kit.enumerated import Law, laplace, law
from kit.sparse_cases import RULES, named

SCALE = Fraction(2, 5)
TABLES = [
    [0, 2],  # one of each
    [3, 0],  # in the other order
    [1],  # every cell is occupied
    [0, 0],  # none is
    [0],  # N = 1
]
TOLERANCE = 1e-9


def sparse(table: list[int]) -> Counts:
    cells = [i for i, count in enumerate(table) if count]
    return Counts(len(table), cells, [table[i] for i in cells], l1_bound=1)


def short_cut(table: list[int], rule: Keeping, reach: int = 7) -> Law:
    def run(draws):
        cells, values = draw_sample(sparse(table), DiscreteLaplace(SCALE), rule, draws)
        return tuple(cells.tolist()), tuple(values.tolist())

    return law(run, reach, floor=3e-6)


def exact(table: list[int], rule: Keeping):
    """The definition: each cell on its own gets noise and is kept or dropped."""
    dropped = [
        1 - sum(laplace(SCALE, v - c) * float(laborious.chance(v, rule)) for v in range(-40, 41))
        for c in table
    ]

    def probability(outcome) -> float:
        cells, values = outcome
        if list(cells) != sorted(set(cells)):
            return 0.0
        kept = dict(zip(cells, values, strict=True))
        p = 1.0
        for cell, count in enumerate(table):
            if cell in kept:
                v = kept[cell]
                p *= laplace(SCALE, v - count) * float(laborious.chance(v, rule))
            else:
                p *= dropped[cell]
        return p

    return probability


def misfit(table: list[int], rule: Keeping) -> float:
    found = short_cut(table, rule)
    assert found.left_out < 5e-4
    return found.misfit(exact(table, rule))


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_every_table_and_rule(rule):
    for table in TABLES:
        assert misfit(table, rule) < TOLERANCE, f"counts {table}"


def caught(rule: Keeping) -> bool:
    return any(misfit(table, rule) > 1e-4 for table in TABLES)


def test_mutant_hits_on_listed_cells_are_kept(monkeypatch):
    """Locations may repeat: an occupied cell then has a second chance."""

    def repeated(counts, law, keeping, draws):
        return draws.hits(empty.inclusion_probability(law, keeping), counts.size)

    monkeypatch.setattr(sampling, "empty_cells", repeated)
    assert caught(Keeping(1))


def test_mutant_unsorted_output(monkeypatch):
    monkeypatch.setattr(
        sampling,
        "_merged",
        lambda cells, values, empty, noise: (
            np.concatenate([cells, empty]),
            np.concatenate([values, noise]),
        ),
    )
    assert caught(Keeping(1))


def test_mutant_drawn_again_until_large_enough(monkeypatch):
    once = sampling.draw_sample

    def again(counts, law, keeping, draws):
        for _ in range(3):
            cells, values = once(counts, law, keeping, draws)
            if len(cells):
                break
        return cells, values

    monkeypatch.setitem(globals(), "draw_sample", again)
    assert caught(Keeping(2))


def test_mutant_rational_threshold_by_the_formula_for_whole_ones(monkeypatch):
    def wrong(law, keeping):
        tau = keeping.threshold

        def ball(bits):
            x = as_ball(1 / law.scale)
            a, rest = (-x).exp(), (-x * as_ball(tau)).exp()
            return 2 * a * (1 - rest) / (as_ball(tau) * (1 - a**2))

        return Real.ball(("wrong", law, tau), ball)

    rule = Keeping(0, Fraction(3))
    monkeypatch.setattr(empty, "inclusion_probability", wrong)
    assert not caught(rule)
    assert caught(Keeping(0, Fraction(3, 2)))


@pytest.mark.parametrize("sides", ["one", "two"])
def test_mutant_random_sign_at_a_cut_of_zero(monkeypatch, sides):
    """A coin for the sign makes 0 twice as likely as its neighbours allow."""

    def signed(size, law, keeping, draws):
        weights = draws.geometric(1 / law.scale, size) + keeping.cut
        return np.where(draws.bernoulli(Fraction(1, 2), size), weights, -weights)

    monkeypatch.setattr(sampling, "empty_values", signed)
    assert caught(Keeping(0, None, sides))


def test_mutant_values_by_the_printed_distribution_function(monkeypatch):
    """Its cases leave out −κ < ν < κ; read as 0 there, half of the values fall onto κ."""
    rule = Keeping(2, Fraction(7, 2))
    right = {v: laplace(SCALE, v) * float(laborious.chance(v, rule)) for v in range(-40, 41)}
    total = sum(right.values())

    def cumulated(v: int) -> float:
        if -rule.cut < v < rule.cut:
            return 0.0
        return sum(p for value, p in right.items() if value <= v) / total

    jumps = [(v, cumulated(v) - cumulated(v - 1)) for v in range(-9, 10)]
    kept = [(v, p) for v, p in jumps if p > 0]

    def printed(size, law, keeping, draws):
        return np.array([draws._choose(kept) for _ in range(size)], dtype=np.int64)

    monkeypatch.setattr(sampling, "empty_values", printed)
    assert caught(rule)


def test_mutant_acceptance_forgotten(monkeypatch):
    monkeypatch.setattr(
        empty, "_coins", lambda top, bottoms, draws: np.ones(len(bottoms), dtype=np.bool_)
    )
    assert caught(Keeping(1, Fraction(2)))


def test_mutant_proposal_without_its_second_part(monkeypatch):
    monkeypatch.setattr(
        empty,
        "_rising",
        lambda size, scale, least, draws: draws.geometric(1 / scale, size) + least,
    )
    assert caught(Keeping(1, Fraction(7, 2)))


def test_mutant_listed_cells_are_not_sampled(monkeypatch):
    monkeypatch.setattr(
        sampling, "kept_by_chance", lambda weights, tau, draws: np.ones(len(weights), np.bool_)
    )
    assert caught(Keeping(1, Fraction(7, 2)))


def test_mutant_one_sided_by_the_two_sided_probability(monkeypatch):
    right = empty.inclusion_probability
    monkeypatch.setattr(
        empty,
        "inclusion_probability",
        lambda law, rule: right(law, Keeping(rule.cut, rule.threshold, "two")),
    )
    assert caught(Keeping(1, None, "one"))
