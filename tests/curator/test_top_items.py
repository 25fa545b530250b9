"""The top items chosen privately, in ε and in ρ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, permutations, product
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from flint import arb

import crowdtally as ct
from crowdtally.core.counts import Memberships
from crowdtally.core.domain import Domain
from crowdtally.core.privacy import Epsilon, Price, Rho
from crowdtally.curator.choices.selection import TopItems
from crowdtally.curator.method import charge_of, method_of
from crowdtally.curator.questions import MostUsers, UsersOf
from crowdtally.curator.request.request import Request, make_request
from crowdtally.curator.request.top import MEASURE, SELECT, TopRequest
from crowdtally.laws.balls import as_ball, precision
from crowdtally.noise.draws import Draws, SystemDraws

# ---- Selecting the top items: the exact law of every outcome, on all neighbours of tiny tables


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
    draws = Loud()
    picked = MostUsers(asked).draw(Memberships(18, users), draws).cells
    counted = Memberships(len(picked), users[list(picked)])
    (table,) = UsersOf(asked, picked).draw(counted, draws).tables
    (rows,) = table.blocks()
    named = list(zip(rows["item"], rows["day"], rows["count"].tolist(), strict=True))
    assert named == [
        ("i0", "d0", 1099), ("i1", "d0", 1098),
        ("i4", "d1", 2013), ("i4", "d2", 3014), ("i5", "d1", 2016), ("i5", "d2", 3017),
    ]  # fmt: skip
    # Which rows share a draw is what the format says: not every h-th, but those of one context.
    assert Counter(rows["day"]) == dict.fromkeys(("d0", "d1", "d2"), table.law.cells)
    written = Path(__file__).parents[2] / "docs" / "release-format.md"
    (line,) = (one for one in written.read_text().splitlines() if "`tables[].noise.blocks`" in one)
    assert (
        "one for each combination of the contexts' values, shared by the rows that have it" in line
    )


# ---- Top items paid for in ρ: the Rényi divergence of the selection by enumeration, in balls -----


RHO = Rho(Fraction(1, 50))
ORDERS = (Fraction(11, 10), Fraction(2), Fraction(5), Fraction(40))


def asked(items: int, listed: int, contexts: int = 1, *, per_user: bool = False) -> TopRequest:
    lists = {"day": [f"d{n}" for n in range(contexts)]} if contexts > 1 else {}
    domain = Domain([f"i{n}" for n in range(listed)], lists)
    return TopRequest(items, domain, per_user, RHO, RHO)


class ChosenRho(Draws):
    """Picks what the script says, and multiplies up how likely that was, in balls."""

    def __init__(self, script: tuple[int, ...]) -> None:
        self.script, self.probability = list(script), arb(1)

    def choose(self, scores: Any, rate: Fraction) -> int:
        weights = [(as_ball(rate) * int(score)).exp() for score in scores]
        place = self.script.pop(0)
        self.probability *= weights[place] / sum(weights, arb(0))
        return place


def law_of_rho(request: TopRequest, users: tuple[int, ...]) -> list[arb]:
    """The probability of every sequence of choices, which says no less than what is published."""
    listed, found = len(request.domain.items), []
    counted = Memberships(len(users), np.array(users, dtype=np.int64))
    one = [range(listed - drawn) for drawn in range(request.items)]
    for script in product(*one * request.contexts):
        draws = ChosenRho(script)
        MostUsers(request).draw(counted, draws)
        found.append(draws.probability)
    return found


def divergence(one: list[arb], other: list[arb], order: Fraction) -> arb:
    """Of that Rényi order."""
    a = as_ball(order)
    terms = ((a * p.log() + (1 - a) * q.log()).exp() for p, q in zip(one, other, strict=True))
    return sum(terms, arb(0)).log() / (a - 1)


def worst(request: TopRequest, neighbours: Iterator[tuple[Any, Any]]) -> Fraction:
    """The largest divergence, as a share of what may be; a fault where a ball reaches beyond 1."""
    largest = arb(0)
    with precision(256):
        for pair in neighbours:
            one, other = (law_of_rho(request, users) for users in pair)
            for order in ORDERS:
                for laws in ((one, other), (other, one)):
                    found = divergence(*laws, order) / as_ball(order * RHO.value)
                    assert found <= 1
                    largest = largest.max(found)
        return Fraction(float(largest.mid()))


def added(cells: int, most: int, may: Any = lambda _: True) -> Iterator[tuple[Any, Any]]:
    """Numbers of users of every cell without one user and with her, wherever she may be."""
    for users in product(range(most + 1), repeat=cells):
        for hers in product((0, 1), repeat=cells):
            if any(hers) and may(hers):
                yield users, tuple(a + b for a, b in zip(users, hers, strict=True))


@pytest.mark.parametrize(("items", "listed", "most"), [(1, 2, 2), (1, 4, 1), (2, 3, 1)])
def test_no_user_changes_the_selection_beyond_rho(items: int, listed: int, most: int) -> None:
    """Were ε_i twice as large the divergence would be four times: two items come near to it."""
    found = worst(asked(items, listed), added(listed, most))
    assert found > (Fraction(9, 10) if listed == 2 else Fraction(1, 3))


def test_a_user_of_two_contexts_pays_for_both() -> None:
    assert worst(asked(1, 2, 2), added(4, 1)) > Fraction(9, 10)


def test_a_user_of_one_context_pays_for_that_one() -> None:
    """Cells are (item, context): she has items of one context."""
    request = asked(1, 2, 2, per_user=True)
    assert request.rule.each.value > asked(1, 2, 2).rule.each.value
    assert worst(request, added(4, 1, lambda hers: not (any(hers[::2]) and any(hers[1::2])))) <= 1


@pytest.mark.parametrize("per_user", [False, True])
def test_what_is_charged_is_what_is_drawn(per_user: bool) -> None:
    request = asked(4, 6, 3, per_user=per_user)
    reach = 4 if per_user else 12
    part, each = request.selection(), request.rule.each.value
    assert part.rho is not None
    assert part.rho.value == reach * each**2 / 8 <= RHO.value
    assert part.rho.value > RHO.value * Fraction(999_999, 1_000_000)
    assert part.parameters["draws"] == reach
    assert Fraction(str(part.parameters["epsilon"])) == each
    table = request.planned()
    assert table.charge().rho == RHO
    assert Fraction(str(table.charge().parameters["l2_squared"])) == reach


class Gaussian(Draws):
    """Keeps what variance was asked for."""

    def gaussian(self, variance: Fraction, size: int) -> np.ndarray:
        self.variance = variance
        return np.zeros(size, dtype=np.int64)


@pytest.mark.parametrize("per_user", [False, True])
def test_counts_have_noise_for_all_cells_that_a_user_may_be_in(per_user: bool) -> None:
    request, draws = asked(2, 3, 2, per_user=per_user), Gaussian()
    places = np.array([0, 3, 4, 1])
    users = Memberships(4, np.array([7, 5, 3, 1], dtype=np.int64))
    noisy = request.measured(places).publish(users, draws)
    assert noisy.values.tolist() == [7, 5, 3, 1]
    distance = 2 if per_user else 4  # squared: 1 in each cell of one context, or of both
    assert draws.variance == distance / (2 * RHO.value)


ROWS = pa.table({"user": [1, 2], "item": [0, 1]})


def made(items: int, **options: Any) -> Request:
    records = ct.read(ROWS, user="user", item="item")
    given = {"epsilon": 1, "delta": "1e-9", "method": ct.Top(items)} | options
    return make_request(records, ct.Domain(range(400)), **given)


def test_few_items_are_selected_with_pure_epsilon_and_many_by_rho() -> None:
    """By public numbers: the noise on scores and counts, for the usual shares of each."""
    assert [made(k).paid.noise for k in (1, 5, 10)] == ["laplace"] * 3
    assert [made(k).paid.noise for k in (20, 100, 300)] == ["gaussian"] * 3
    for k in (10, 100):
        pure, by_rho = made(k, noise="laplace"), made(k, noise="gaussian")
        both = [one.selection.variance for one in (pure, by_rho) if one.selection is not None]
        assert made(k).selection.variance == min(both)  # type: ignore[union-attr]
    assert made(100).delta.value > 0 == made(10).delta.value == made(100, delta=0).delta.value


def test_shares_are_equal_by_rho_unless_they_are_given() -> None:
    assert made(100).shares == {SELECT: Fraction(1, 2), MEASURE: Fraction(1, 2)}
    assert made(5).shares == {SELECT: Fraction(3, 4), MEASURE: Fraction(1, 4)}
    given = {SELECT: "0.9", MEASURE: "0.1"}
    assert made(100, split=given).shares == {SELECT: Fraction(9, 10), MEASURE: Fraction(1, 10)}


def test_another_epsilon_prices_both_parts() -> None:
    request = made(100)
    other = request.at(Epsilon.of(2))
    assert other.paid.rho is not None
    assert other.selection is not None
    assert other.selection.select.value == other.selection.measure.value == other.paid.rho.value / 2


def test_the_whole_is_charged_within_rho() -> None:
    request = made(100)
    charge = charge_of(request, method_of(request), {})
    assert charge.rho is not None
    assert request.paid.rho is not None
    assert charge.rho.value <= request.paid.rho.value
    assert charge.epsilon is None
