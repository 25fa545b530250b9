"""The joint output law of summaries, and its privacy."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
from flint import arb

from crowdtally.core.counts import Counts, Keeping
from crowdtally.core.hierarchy import Dyadic
from crowdtally.curator.summaries import sparse as empty
from crowdtally.curator.summaries import sparse as sampling
from crowdtally.curator.summaries.sparse import draw_sample
from crowdtally.curator.transforms.trees import dyadic_counts
from crowdtally.laws.balls import Real, as_ball, precision
from crowdtally.laws.laplace import DiscreteLaplace
from kit import summaries
from kit.exact import Law, laplace, law
from kit.summaries import RULES, chance, named

# ---- The joint output law of the short cut, computed over all its runs, against the definition
#
# Enumerating every run of the code on tiny tables shows its law to about 10^-4, without a sample.
# The same check must reject each wrong version of the code.


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
        1 - sum(laplace(SCALE, v - c) * float(summaries.chance(v, rule)) for v in range(-40, 41))
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
                p *= laplace(SCALE, v - count) * float(summaries.chance(v, rule))
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
    right = {v: laplace(SCALE, v) * float(summaries.chance(v, rule)) for v in range(-40, 41)}
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


# ---- Exact privacy on tiny tables: certified output laws of all neighbours, all outcomes ---------
#
# Cells are independent, so a table's law is a product; the law of one cell is a finite sum of the
# definition's terms. ``test_law.py`` shows that the code has this law.


BITS = 200
DROPPED = None
VALUES = range(-11, 15)
OUTCOMES = [DROPPED, *VALUES]


@cache
def probability(count: int, outcome: int | None, rule: Keeping, rate: Fraction) -> arb:
    """Of one cell's outcome, given its count."""
    with precision(BITS):
        x = as_ball(rate)

        def of_noise(k: int) -> arb:
            return (x / 2).tanh() * (-x * abs(k)).exp()

        if outcome is not DROPPED:
            return as_ball(chance(outcome, rule)) * of_noise(outcome - count)
        largest = 40  # from here on every rule of these tests keeps surely, or drops surely
        total = arb(0)
        for v in range(-largest, largest + 1):
            total += as_ball(1 - chance(v, rule)) * of_noise(v - count)
        if rule.sides == "one":  # all v < −largest are dropped
            total += (-x * (largest + 1 + count)).exp() / (1 + (-x).exp())
        return total


def loss(first: list[int], second: list[int], rule: Keeping, rate: Fraction) -> arb:
    """The largest log-ratio over all outcomes, of the first table against the second."""
    with precision(BITS):
        total = arb(0)
        for one, other in zip(first, second, strict=True):
            worst = arb(0)
            for outcome in OUTCOMES:
                p, q = (probability(c, outcome, rule, rate) for c in (one, other))
                if bool(p == 0) and bool(q == 0):
                    continue
                ratio = (p / q).log()
                worst = max(worst, ratio, key=lambda ball: float(ball.mid()))
            total += worst
        return total


def within(found: arb, epsilon: Fraction) -> bool:
    """At most ε: the loss often *is* ε, so up to what 150 bits can tell."""
    with precision(BITS):
        return bool(found < as_ball(epsilon) + arb(2) ** -150)


TABLES_PRIVACY = list(product([-1, 0, 1, 3], repeat=2))


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_neighbouring_tables_are_within_epsilon(rule):
    """All tables of two cells at distance ≤ L = 3, at ε = 3/4: scale 4."""
    rate = Fraction(1, 4)
    worst = 0.0
    for first, second in product(TABLES_PRIVACY, repeat=2):
        distance = abs(first[0] - second[0]) + abs(first[1] - second[1])
        if 0 < distance <= 3:
            found = loss(list(first), list(second), rule, rate)
            assert within(found, rate * distance)
            worst = max(worst, float(found.mid()))
    assert worst > 0.7  # and the budget is used


def drawn_again(count: int, outcome: int, rule: Keeping, rate: Fraction) -> arb:
    """The law of a one-cell table that is drawn again and again until its cell is kept."""
    kept = 1 - probability(count, DROPPED, rule, rate)
    return probability(count, outcome, rule, rate) / kept


def test_mutant_drawn_again_loses_twice_epsilon():
    """−45 speaks for the smaller count, and that it took fewer draws for the larger one."""
    rule, epsilon = Keeping(40), Fraction(1)
    with precision(BITS):
        once, again = (
            (law(10, -45, rule, epsilon) / law(11, -45, rule, epsilon)).log()
            for law in (probability, drawn_again)
        )
    assert within(once, epsilon)
    assert not within(again, 2 * epsilon - Fraction(1, 10**6))
    assert float(again.mid()) == pytest.approx(2, abs=1e-6)


def tree_loss(first: list[int], second: list[int], scale: Fraction) -> arb:
    """All nodes published densely with this scale."""
    tree = Dyadic.over([len(first)])
    nodes = []
    for table in (first, second):
        cells = [i for i, c in enumerate(table) if c]
        counts = dyadic_counts(
            Counts(len(table), cells, [table[i] for i in cells], l1_bound=1), tree
        )
        dense = [0] * tree.size
        for cell, value in zip(counts.cells.tolist(), counts.values.tolist(), strict=True):
            dense[cell] = value
        nodes.append(dense)
    return loss(nodes[0], nodes[1], Keeping(0), 1 / scale)


@pytest.mark.parametrize("leaves", [1, 2, 3, 4])
def test_trees_need_one_more_than_the_logarithm(leaves):
    epsilon = Fraction(1, 2)
    levels = (leaves - 1).bit_length()
    empty = [0] * leaves
    one = [1] + [0] * (leaves - 1)
    assert within(tree_loss(empty, one, (levels + 1) / epsilon), epsilon)
    if levels:  # the mutant: the paper's log m
        assert not within(tree_loss(empty, one, levels / epsilon), epsilon)
