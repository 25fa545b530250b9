"""What --top asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import pi

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
from crowdtally.curator.table import Measured, MembersTable, members_table
from crowdtally.errors import UsageError
from crowdtally.laws.conversion import selection_epsilon, selection_rho
from crowdtally.laws.interval import MOST_CELLS
from crowdtally.ledger import Part

SELECT, MEASURE = "select", "measure"
"""The parts of the split that pay."""


@dataclass(frozen=True, eq=False)
class TopRequest:
    """Everything public about a release of top items."""

    items: int
    """K: how many, in each context where there are contexts."""
    domain: Domain
    per_user: bool
    """Whether the contexts are a property of the user, of which she has one value."""
    select: Price
    """What the selection costs."""
    measure: Price
    """What the counts cost; in pure ε where the selection does, else in ρ."""

    @property
    def contexts(self) -> int:
        """h: combinations of the contexts' values; 1 without contexts."""
        return self.domain.contexts_size

    @property
    def table(self) -> str:
        return HEADS.name if self.domain.contexts else HEAD.name

    @property
    def reach(self) -> int:
        """How many draws, and how many selected cells, one user can change.

        Those of all contexts; but of one alone where the contexts are a property of the user.
        """
        return self.items * (1 if self.per_user else self.contexts)

    @property
    def rule(self) -> TopItems:
        """How the items of one context are selected: users of several contexts pay for each."""
        if isinstance(self.select, Epsilon):
            return TopItems(self.items, self.select * Fraction(1, self.reach))
        return TopItems(self.items, selection_epsilon(self.select, self.reach))

    @property
    def variance(self) -> float:
        """Of the noise on a score, as which a draw is the largest noisy one, and on a count."""
        drawn = pi**2 / (6 * float(self.rule.each.value) ** 2)  # Gumbel noise of scale 1/ε_i
        return drawn + self.planned().law.std() ** 2

    def selection(self) -> Part:
        """What the ledger is told about all draws together."""
        facts = {"items": self.items, "contexts": self.contexts}
        if isinstance(self.select, Epsilon):
            return Part(SELECT, self.select, "exponential", facts)
        each = self.rule.each
        by_draw = {"draws": self.reach, "epsilon": show(each.value)}
        rho = selection_rho(each) * self.reach
        return Part(SELECT, None, "exponential", facts | by_draw, rho=rho)

    def layout(self, places: NDArray[np.int64]) -> Picked:
        """These cells of the public table."""
        return Picked(grid(self.domain.axes), places)

    def measured(self, places: NDArray[np.int64]) -> Measured | MembersTable:
        """The table of the selected cells, of which every h-th is of one context.

        It is drawn in this order; published, its rows are sorted by cell (``UsersOf``).

        Users of different values of their own property are different users. So interval noise has a
        draw for each context then, and otherwise one that covers all cells which one user may be
        in; Gaussian noise, of cells one by one, is for as many of them as one user may be in.
        """
        blocks = self.contexts if self.per_user else 1
        return members_table(self.table, MEASURE, self.layout(places), self.measure, 0, blocks)

    def planned(self) -> Measured | MembersTable:
        """The table before anything is selected: as many cells, whichever they will be."""
        return self.measured(np.arange(self.items * self.contexts))


_MOST_SCORED = 100_000_000
"""Cells that a selection may have: each has a score, and each draw weighs all of them."""


@dataclass(frozen=True, eq=False)
class PaidTop:
    """A request for top items with what it is paid for in."""

    paid: Paid
    shares: Mapping[str, Fraction]
    """Of the selection and of the counts."""
    request: TopRequest


def paid_for_top(
    domain: Domain,
    top: Top,
    asked: Asked,
    epsilon: Epsilon,
    split: Mapping[str, object] | None,
) -> PaidTop:
    """What is asked for, by the way of paying that gives the smaller noise.

    K draws cost K times as much in pure ε and √K times as much by ρ: few items are better selected
    with the one, many with the other.
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
    """K; a UsageError where public numbers alone rule it out."""
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
