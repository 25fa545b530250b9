"""Selecting the top items: the exact law of every outcome, on all neighbours of tiny tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, permutations, product
from math import exp, log
from pathlib import Path

import numpy as np
import pytest

from crowdtally.core.counts import Memberships
from crowdtally.core.domain import Domain
from crowdtally.core.privacy import Epsilon, Price
from crowdtally.curator.choices.selection import TopItems
from crowdtally.curator.converse import Released
from crowdtally.curator.counting.bounded import Read
from crowdtally.curator.methods.top import MeasureTop, SelectTop
from crowdtally.curator.request.top import TopRequest
from crowdtally.noise.draws import Draws, SystemDraws
from crowdtally.records.engine import Dropped

EPSILON = Fraction(3, 2)
ROUNDING = 1e-9


class Chosen(Draws):
    """Picks what the script says, and multiplies up how likely that was."""

    def __init__(self, script: tuple[int, ...]) -> None:
        self.script, self.probability = list(script), 1.0

    def choose(self, scores, rate):
        weights = [exp(float(rate) * int(score)) for score in scores]
        place = self.script.pop(0) % len(weights)
        self.probability *= weights[place] / sum(weights)
        return place


def asked_for(items: int, price: Price = Epsilon(EPSILON)) -> TopRequest:  # noqa: B008 - frozen
    return TopRequest(items, Domain(range(9)), False, price, price)


def law_of(users: list[int], items: int, rule: TopItems | None = None) -> dict[tuple, float]:
    """The probability of every outcome, by trying every sequence of choices."""
    tried = rule or asked_for(items).rule
    found: dict[tuple, float] = {}
    for script in product(*(range(len(users) - drawn) for drawn in range(items))):
        draws = Chosen(script)
        picked = tried.select(Memberships(len(users), np.array(users, dtype=np.int64)), draws)
        key = tuple(picked.tolist())
        found[key] = found.get(key, 0.0) + draws.probability
    return found


def expected(users: list[int], items: int) -> dict[tuple, float]:
    """The same by the definition: every order in which a set may be drawn."""
    found = {}
    weights = [exp(float(EPSILON / items) * score) for score in users]
    for chosen in combinations(range(len(users)), items):
        found[chosen] = sum(_drawn(order, weights) for order in permutations(chosen))
    return found


def _drawn(order: tuple[int, ...], weights: list[float]) -> float:
    probability, left = 1.0, sum(weights)
    for place in order:
        probability *= weights[place] / left
        left -= weights[place]
    return probability


@pytest.mark.parametrize("items", [1, 2, 3])
def test_the_law_is_that_of_draws_without_replacement(items: int) -> None:
    found, wanted = law_of([4, 0, 2, 2], items), expected([4, 0, 2, 2], items)
    assert found.keys() == wanted.keys()
    assert all(found[key] == pytest.approx(wanted[key], rel=1e-12) for key in wanted)


def neighbours() -> Iterator[tuple[list[int], list[int]]]:
    for users in product(range(3), repeat=3):
        for added in product((0, 1), repeat=3):
            yield list(users), [a + b for a, b in zip(users, added, strict=True)]


@pytest.mark.parametrize("items", [1, 2])
def test_whatever_one_user_has_changes_no_outcome_beyond_epsilon(items: int) -> None:
    most = 0.0
    for one, other in neighbours():
        first, second = law_of(one, items), law_of(other, items)
        assert first.keys() == second.keys()  # items that nobody has take part
        most = max(most, *(abs(log(first[key] / second[key])) for key in first))
    assert most <= float(EPSILON) + ROUNDING
    assert most > 0.5 * float(EPSILON)  # what was paid for is used


def test_the_order_of_the_draws_is_not_said() -> None:
    picked = asked_for(3).rule.select(
        Memberships(5, np.array([0, 9, 0, 9, 9], dtype=np.int64)), SystemDraws()
    )
    assert picked.tolist() == sorted(picked.tolist())
    assert len(set(picked.tolist())) == 3


def request(*, per_user: bool, contexts: int = 3) -> TopRequest:
    lists = {"day": [f"d{n}" for n in range(contexts)]}
    domain = Domain([f"i{n}" for n in range(6)], lists)
    return TopRequest(2, domain, per_user, Epsilon(Fraction(3, 4)), Epsilon(Fraction(1, 4)))


def test_users_of_several_contexts_pay_for_each() -> None:
    assert request(per_user=False).rule.each.value == Fraction(3, 4) / 6
    assert request(per_user=True).rule.each.value == Fraction(3, 4) / 2


def test_contexts_of_one_user_share_a_draw_and_others_do_not() -> None:
    assert request(per_user=False).planned().law.blocks == 1
    assert request(per_user=False).planned().law.cells == 6
    assert request(per_user=True).planned().law.blocks == 3
    assert request(per_user=True).planned().law.cells == 2


class Loud(SystemDraws):
    """Noise that says which block it was drawn for: 1000 for the first, 2000 for the second …"""

    def __init__(self) -> None:
        super().__init__()
        self.drawn = 0

    def choose(self, scores, rate):
        return int(np.argmax(scores))

    def interval(self, rate, size):
        self.drawn += 1
        return np.full(size, 1000 * self.drawn)


def test_each_cell_gets_the_noise_of_its_own_context_and_the_table_is_sorted() -> None:
    asked = request(per_user=True)
    users = np.arange(18, dtype=np.int64)  # items 4 and 5 lead in every context
    users[[0, 3]] = (99, 98)  # but in the first: items 0 and 1
    draws, dropped = Loud(), Dropped(0, 0, 0)
    released = SelectTop(asked).release(Read(Memberships(18, users), dropped), Released(), draws)
    picked = released.picked
    assert picked is not None
    counted = Read(Memberships(len(picked), users[picked]), dropped)
    (table,) = MeasureTop(asked).release(counted, released, draws).tables
    (rows,) = table.blocks()
    named = list(zip(rows["item"], rows["day"], rows["count"].tolist(), strict=True))
    assert named == [
        ("i0", "d0", 1099), ("i1", "d0", 1098),
        ("i4", "d1", 2013), ("i4", "d2", 3014), ("i5", "d1", 2016), ("i5", "d2", 3017),
    ]  # fmt: skip
    # Which rows share a draw is what the format says: not every h-th, but those of one context.
    assert Counter(rows["day"]) == dict.fromkeys(("d0", "d1", "d2"), table.law.cells)
    written = Path(__file__).parents[3] / "docs" / "release-format.md"
    (line,) = (one for one in written.read_text().splitlines() if "`tables[].noise.blocks`" in one)
    assert (
        "one for each combination of the contexts' values, shared by the rows that have it" in line
    )
