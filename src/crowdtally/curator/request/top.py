"""A request for top items: selected, then measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import pi
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.domain import Domain
from crowdtally.core.layout import HEAD, HEADS, Picked, grid
from crowdtally.core.numbers import show
from crowdtally.core.privacy import Epsilon, Price
from crowdtally.curator.bounding.rules import Top
from crowdtally.curator.choices.selection import TopItems
from crowdtally.curator.request.method import complete_split
from crowdtally.curator.request.refusals import Asked
from crowdtally.curator.request.table_specs import Paid, check_measured, check_names, ways_to_pay
from crowdtally.curator.table import Table, members_table
from crowdtally.errors import UsageError
from crowdtally.laws.conversion import selection_epsilon, selection_rho
from crowdtally.laws.interval import MOST_CELLS
from crowdtally.ledger import Part

SELECT, MEASURE = "select", "measure"


@dataclass(frozen=True, eq=False)
class TopRequest:
    items: int
    """K, in each context."""
    domain: Domain
    per_user: bool
    select: Price
    measure: Price
    """The price of the counts: in ε where the selection's is, else in ρ."""

    @property
    def contexts(self) -> int:
        """h: combinations of the contexts' values."""
        return self.domain.contexts_size

    @property
    def table(self) -> str:
        return HEADS.name if self.domain.contexts else HEAD.name

    @property
    def reach(self) -> int:
        """How many draws, and selected cells, one user can change: of her context, or of all."""
        return self.items * (1 if self.per_user else self.contexts)

    @property
    def rule(self) -> TopItems:
        """How the items of one context are selected: users of several contexts pay for each."""
        if isinstance(self.select, Epsilon):
            return TopItems(self.items, self.select * Fraction(1, self.reach))
        return TopItems(self.items, selection_epsilon(self.select, self.reach))

    @property
    def variance(self) -> float:
        """Of the noise on a score (a draw is the largest noisy score), and on a count."""
        drawn = pi**2 / (6 * float(self.rule.each.value) ** 2)  # Gumbel noise of scale 1/ε_i
        return drawn + self.planned().law.std() ** 2

    def selection(self) -> Part:
        facts = {"items": self.items, "contexts": self.contexts}
        if isinstance(self.select, Epsilon):
            return Part(SELECT, self.select, "exponential", facts)
        each = self.rule.each
        by_draw = {"draws": self.reach, "epsilon": show(each.value)}
        rho = selection_rho(each) * self.reach
        return Part(SELECT, None, "exponential", facts | by_draw, rho=rho)

    def layout(self, places: NDArray[np.int64]) -> Picked:
        return Picked(grid(self.domain.axes), places)

    def measured(self, places: NDArray[np.int64]) -> Table:
        """The table of the selected cells; every h-th is of one context.

        Users of different values of their own property are different users. So interval noise has
        one draw for each context then, and otherwise one for all cells that one user may be in;
        Gaussian noise is for as many cells as one user may be in.
        """
        blocks = self.contexts if self.per_user else 1
        return members_table(self.table, MEASURE, self.layout(places), self.measure, 0, blocks)

    def planned(self) -> Table:
        """The table before the selection: as many cells, whichever they will be."""
        return self.measured(np.arange(self.items * self.contexts))


_MOST_SCORED = 100_000_000
"""Most cells of a selection: each has a score, and each draw weighs all of them."""


class PaidTop(NamedTuple):
    paid: Paid
    shares: Mapping[str, Fraction]
    request: TopRequest


def paid_for_top(
    domain: Domain, top: Top, asked: Asked, epsilon: Epsilon, split: Mapping[str, object] | None
) -> PaidTop:
    """What is asked for, by the way of paying with the smaller noise.

    K draws cost K times as much in pure ε and √K times as much by ρ, so few items are better
    selected with the one, many with the other.
    """
    items = _items(domain, top)

    def made(paid: Paid) -> PaidTop:
        shares = complete_split(split, [SELECT, MEASURE], by_rho=paid.rho is not None)
        prices = {name: paid.price * share for name, share in shares.items()}
        request = TopRequest(items, domain, bool(top.per_user), prices[SELECT], prices[MEASURE])
        return PaidTop(paid, shares, request)

    found = min(map(made, ways_to_pay(asked, epsilon)), key=lambda one: one.request.variance)
    check_measured(found.request.planned(), epsilon, "lower --top")
    return found


def _items(domain: Domain, top: Top) -> int:
    items = top.k
    if items > len(domain.items):
        raise UsageError(
            f"--top {items} asks for more items than the list has: it has {len(domain.items)}."
        )
    if items * domain.contexts_size > MOST_CELLS:
        raise UsageError(
            f"--top {items} in each of {domain.contexts_size} contexts is "
            f"{items * domain.contexts_size} counts, and at most {MOST_CELLS} are measured "
            "together: ask for fewer items, or give fewer contexts."
        )
    if domain.size > _MOST_SCORED:
        raise UsageError(
            f"--top scores every cell of the lists, at most {_MOST_SCORED}: received {domain.size}."
        )
    check_names([axis.name for axis in domain.axes])
    return items
