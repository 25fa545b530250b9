"""A request for the top items alone, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from crowdtally.core.domain import Domain
from crowdtally.core.numbers import whole_number
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.bounding.selected import Selected
from crowdtally.curator.request.paying import Paid, ways_to_pay
from crowdtally.curator.request.refusals import Asked
from crowdtally.curator.request.split import complete_split
from crowdtally.curator.request.tables import check_measured, check_names
from crowdtally.curator.selecting.top_request import MEASURE, SELECT, TopRequest
from crowdtally.errors import UsageError
from crowdtally.laws.interval import MOST_CELLS

_MOST_SCORED = 100_000_000
"""Cells that a selection may have: each has a score, and each draw weighs all of them."""


@dataclass(frozen=True, eq=False)
class PaidTop:
    """A request for top items with what it is paid for in."""

    paid: Paid
    """What the whole release costs."""
    shares: Mapping[str, Fraction]
    """Of the selection and of the counts."""
    request: TopRequest
    """What is asked for."""


def paid_for_top(
    domain: Domain, asked: Asked, epsilon: Epsilon, split: Mapping[str, object] | None
) -> PaidTop:
    """What is asked for, by the way of paying that gives the smaller noise.

    K draws cost K times as much in pure ε and √K times as much by ρ: few items are better selected
    with the one, many with the other.
    """
    items = _items(domain, asked)
    per_user = isinstance(asked.rule, Selected) and bool(asked.rule.per_user)

    def made(paid: Paid) -> PaidTop:
        shares = complete_split(split, [SELECT, MEASURE], by_rho=paid.rho is not None)
        prices = {name: paid.price * share for name, share in shares.items()}
        request = TopRequest(items, domain, per_user, prices[SELECT], prices[MEASURE])
        return PaidTop(paid, shares, request)

    found = min(map(made, ways_to_pay(asked, epsilon)), key=lambda one: one.request.variance)
    check_measured(found.request.planned(), epsilon, "lower --top")
    return found


def _items(domain: Domain, asked: Asked) -> int:
    """K; a UsageError where public numbers alone rule it out."""
    items = whole_number(asked.options["top"], "--top", 1, MOST_CELLS)
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
