"""Top items paid for in ρ: the Rényi divergence of the selection by enumeration, in balls."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from flint import arb

import crowdtally as ct
from crowdtally.core.counts import Memberships
from crowdtally.core.domain import Domain
from crowdtally.core.privacy import Epsilon, Rho
from crowdtally.curator.converse import Released
from crowdtally.curator.counting.bounded import Read
from crowdtally.curator.method import charge_of, steps_of
from crowdtally.curator.methods.top import SelectTop
from crowdtally.curator.request.request import Request, make_request
from crowdtally.curator.request.top import MEASURE, SELECT, TopRequest
from crowdtally.laws.balls import as_ball, precision
from crowdtally.noise.draws import Draws
from crowdtally.records.engine import Dropped

RHO = Rho(Fraction(1, 50))
ORDERS = (Fraction(11, 10), Fraction(2), Fraction(5), Fraction(40))


def asked(items: int, listed: int, contexts: int = 1, *, per_user: bool = False) -> TopRequest:
    lists = {"day": [f"d{n}" for n in range(contexts)]} if contexts > 1 else {}
    domain = Domain([f"i{n}" for n in range(listed)], lists)
    return TopRequest(items, domain, per_user, RHO, RHO)


class Chosen(Draws):
    """Picks what the script says, and multiplies up how likely that was, in balls."""

    def __init__(self, script: tuple[int, ...]) -> None:
        self.script, self.probability = list(script), arb(1)

    def choose(self, scores: Any, rate: Fraction) -> int:
        weights = [(as_ball(rate) * int(score)).exp() for score in scores]
        place = self.script.pop(0)
        self.probability *= weights[place] / sum(weights, arb(0))
        return place


def law_of(request: TopRequest, users: tuple[int, ...]) -> list[arb]:
    """The probability of every sequence of choices, which says no less than what is published."""
    listed, found = len(request.domain.items), []
    counted = Memberships(len(users), np.array(users, dtype=np.int64))
    one = [range(listed - drawn) for drawn in range(request.items)]
    for script in product(*one * request.contexts):
        draws = Chosen(script)
        SelectTop(request).release(Read(counted, Dropped(0, 0, 0)), Released(), draws)
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
            one, other = (law_of(request, users) for users in pair)
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
    given = {"epsilon": 1, "delta": "1e-9", "top": items} | options
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
    charge = charge_of(request, steps_of(request), {})
    assert charge.rho is not None
    assert request.paid.rho is not None
    assert charge.rho.value <= request.paid.rho.value
    assert charge.epsilon is None
