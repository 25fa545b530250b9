"""Exact privacy on tiny tables: certified output laws of all neighbours, all outcomes.

Cells are independent, so a table's law is a product; the law of one cell is a finite sum of the
definition's terms. ``test_law.py`` shows that the code has this law.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product

import pytest
from flint import arb

from crowdtally.core.counts import Counts, Keeping
from crowdtally.core.hierarchy import Dyadic
from crowdtally.curator.transforms.trees import dyadic_counts
from crowdtally.laws.balls import as_ball, precision
from kit.laborious import chance
from kit.sparse_cases import RULES, named

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


TABLES = list(product([-1, 0, 1, 3], repeat=2))


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_neighbouring_tables_are_within_epsilon(rule):
    """All tables of two cells at distance ≤ L = 3, at ε = 3/4: scale 4."""
    rate = Fraction(1, 4)
    worst = 0.0
    for first, second in product(TABLES, repeat=2):
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
