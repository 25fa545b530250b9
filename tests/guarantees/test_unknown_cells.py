"""Unknown cells on every tiny pair of neighbours: what both tables together give away is within δ.

Two items in two contexts. Whatever the hash keeps of a user is one of the sets that are tried here,
so the law of a release is that of the kept cells: independent noise on each, and a threshold. The
exact hockey-stick divergence of the items and of the items in context *together* is held against
the δ of the release; so a table whose δ is not paid for shows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, pairwise, product
from typing import Any

import pytest
from flint import arb

import crowdtally as ct
from crowdtally.core.records import Records
from crowdtally.curator.method import charge_of, method_of
from crowdtally.curator.request.discover import Discovery
from crowdtally.curator.request.request import Request, make_request
from crowdtally.laws.balls import as_ball, precision
from crowdtally.laws.conversion import delta_of
from crowdtally.laws.gaussian_tails import beyond

Cell = tuple[int, ...]
CELLS: list[Cell] = [(0, 0), (0, 1), (1, 0), (1, 1)]
Law = list[tuple[arb, arb]]
"""Classes of what is seen of one cell, with their probabilities with her and without her."""


def asked(limit: int, **options: Any) -> Request:
    records = Records("nowhere.csv", "user", "item", {"context": None})
    return make_request(
        records, None, method=ct.Discover(("item", "context"), limit), **options
    )  # fmt: skip


def kept_sets(limit: int) -> list[tuple[Cell, ...]]:
    """What a user may keep."""
    return [own for size in range(limit + 1) for own in combinations(CELLS, size)]


def tallies(users: Sequence[tuple[Cell, ...]]) -> tuple[Counter[Cell], Counter[Cell]]:
    """The users of each item, and of each item in context; once in each."""
    edges = Counter(cell for own in users for cell in set(own))
    items = Counter((item,) for own in users for item in {cell[0] for cell in own})
    return items, edges


def neighbours(limit: int) -> Iterator[tuple[tuple[Cell, ...], list[tuple[Cell, ...]]]]:
    """Her, and every crowd of up to two others."""
    sets = kept_sets(limit)
    for hers in sets[1:]:
        for size in range(3):
            for others in combinations_with_replacement(sets[1:], size):
                yield hers, list(others)


# ---- Laplace noise: outcomes of one cell with one likelihood ratio are one class


def laplace_law(threshold: int, scale: Fraction, others: int) -> Law:
    """A cell that she has, and so many others: a release above what they are, below it, or none."""
    rate = 1 / as_ball(scale)
    alpha = (-rate).exp()

    def reaches(least: int, count: int) -> arb:
        """Pr[count + X ≥ least]."""
        if least > count:
            return (-rate * (least - count)).exp() / (1 + alpha)
        return 1 - (-rate * (count - least + 1)).exp() / (1 + alpha)

    if not others:
        alone = reaches(threshold, 1)
        return [(alone, arb(0)), (1 - alone, arb(1))]
    above = max(threshold, others + 1)
    pairs = [(reaches(above, others + 1), reaches(above, others))]
    shown = (reaches(threshold, others + 1), reaches(threshold, others))
    pairs.append((shown[0] - pairs[0][0], shown[1] - pairs[0][1]))
    return [*pairs, (1 - shown[0], 1 - shown[1])]


def excess(laws: Sequence[Law], gain: arb, *, with_her: bool) -> arb:
    """Σ max(0, Pr[A] − e^ε·Pr[B]) over all that can be seen, rounded up."""
    total = arb(0)
    for classes in product(*laws):
        ours, theirs = arb(1), arb(1)
        for one, other in classes:
            ours, theirs = ours * one, theirs * other
        found = ours - gain * theirs if with_her else theirs - gain * ours
        if not found <= 0:
            total += found.upper()
    return total


def worst(discovery: Discovery, limit: int, lifted: int) -> arb:
    """The largest divergence over all neighbours; ``lifted`` others more have every cell."""
    (items, edges) = (table.rule for table in discovery.tables)
    gain = as_ball(items.price.value + edges.price.value).exp()
    largest, known = arb(0), dict[Any, arb]()
    for hers, others in neighbours(limit):
        by_table = list(zip((items, edges), tallies([hers]), tallies(others), strict=True))
        shape = tuple(tuple(sorted(around[cell] for cell in own)) for _, own, around in by_table)
        if shape not in known:
            laws = [
                laplace_law(rule.threshold, Fraction(rule.limit) / rule.price.value, n + lifted)
                for (rule, _, _), counts in zip(by_table, shape, strict=True)
                for n in counts
            ]
            both = [excess(laws, gain, with_her=side) for side in (True, False)]
            known[shape] = max(both, key=lambda one: float(one.upper()))
        if known[shape] > largest:
            largest = known[shape]
    return largest


@pytest.mark.parametrize("limit", [1, 2])
@pytest.mark.parametrize(("epsilon", "delta"), [("0.2", "0.05"), ("1", "0.1"), ("3", "1e-6")])
def test_both_tables_together_are_within_epsilon_and_delta(
    limit: int, epsilon: str, delta: str
) -> None:
    request = asked(limit, epsilon=epsilon, delta=delta, noise="laplace")
    assert request.discovery is not None
    rules = [table.rule for table in request.discovery.tables]
    with precision(128):
        promised = as_ball(sum((rule.actual_delta for rule in rules), Fraction(0)))
        for lifted in (0, rules[0].threshold - 2, rules[0].threshold):
            assert worst(request.discovery, limit, max(lifted, 0)) <= promised
        assert not promised > as_ball(request.delta.value)
        # With teeth: what a user alone shows is nearly all of δ, so two δ would not pass.
        if epsilon == "0.2":
            assert worst(request.discovery, limit, 0) > as_ball(request.delta.value * 3 / 5)


# ---- Gaussian noise: every outcome by itself


def gaussian_law(threshold: int, variance: Fraction, others: int, span: int) -> Law:
    """The same: each released value up to a far one, what lies beyond, and no release."""
    if not others:
        alone = beyond(variance, threshold - 1)
        return [(alone, arb(0)), (1 - alone, arb(1))]
    ends = range(threshold, max(threshold, others) + span)
    tails = [[beyond(variance, v - n) for v in ends] for n in (others + 1, others)]
    points = [[one - next_one for one, next_one in pairwise(tail)] for tail in tails]
    pairs = list(zip(*points, strict=True))
    return [*pairs, (tails[0][-1], tails[1][-1]), (1 - tails[0][0], 1 - tails[1][0])]


@pytest.mark.parametrize("around", [(0, 0), (1, 0), (1, 1), (9, 9)], ids=str)
def test_gaussian_tables_together_are_within_epsilon_and_delta(around: tuple[int, int]) -> None:
    """One cell of each table; so many others have hers."""
    request = asked(1, epsilon=2, delta="0.05", noise="gaussian")
    assert request.discovery is not None
    assert request.paid.unknown.value == Fraction("0.025")
    with precision(128):
        laws = [
            gaussian_law(table.rule.threshold, Fraction(1) / (2 * table.rule.price.value), n, 25)
            for table, n in zip(request.discovery.tables, around, strict=True)
        ]
        gain = as_ball(request.epsilon.value).exp()
        for with_her in (True, False):
            assert excess(laws, gain, with_her=with_her) <= as_ball(request.delta.value)


def test_each_table_has_its_own_delta_and_all_add_up() -> None:
    """Laplace noise takes all of δ for cells, Gaussian noise half of it."""
    for noise, share in (("laplace", 1), ("gaussian", 2)):
        request = asked(3, epsilon=1, delta="1e-6", noise=noise)
        assert request.discovery is not None
        deltas = [table.rule.delta.value for table in request.discovery.tables]
        assert deltas == [Fraction(1, 2 * share * 10**6)] * 2


def test_rho_is_bought_with_the_other_half_of_delta() -> None:
    """What is charged for cells and what turns ρ into ε are δ together, not twice."""
    request = asked(3, epsilon=1, delta="1e-6", noise="gaussian")
    assert request.paid.rho is not None
    charge = charge_of(request, method_of(request), {})
    assert charge.loss.rho <= request.paid.rho.value
    turned = delta_of(charge.loss.rho, request.epsilon.value)
    assert charge.loss.delta + turned <= request.delta.value
    assert charge.loss.delta == request.delta.value / 2


def test_auto_takes_the_lower_threshold() -> None:
    for limit, epsilon in ((1, "10"), (1, "1"), (10, "1"), (50, "0.5")):
        options = {"epsilon": epsilon, "delta": "1e-6"}
        made = {n: asked(limit, noise=n, **options) for n in ("auto", "laplace", "gaussian")}
        sums = {
            name: sum(table.rule.threshold for table in one.discovery.tables)
            for name, one in made.items()
            if one.discovery is not None
        }
        assert sums["auto"] == min(sums["laplace"], sums["gaussian"])
        lower = "laplace" if sums["laplace"] <= sums["gaussian"] else "gaussian"
        assert made["auto"].paid == made[lower].paid
