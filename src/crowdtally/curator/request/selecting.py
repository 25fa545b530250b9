"""A request for the top items alone, checked."""

from __future__ import annotations

from collections.abc import Mapping

from crowdtally.curator.bounding.selected import Selected
from crowdtally.curator.pricing import pure
from crowdtally.curator.request.refusals import Asked
from crowdtally.curator.request.tables import check_measured, check_names
from crowdtally.curator.selecting.top_request import MEASURE, SELECT, TopRequest
from crowdtally.errors import UsageError
from crowdtally.laws.interval import MOST_CELLS
from crowdtally.values.domain import Domain
from crowdtally.values.epsilon import Epsilon, Price
from crowdtally.values.whole import whole_number

_MOST_SCORED = 100_000_000
"""Cells that a selection may have: each has a score, and each draw weighs all of them."""


def top_request(domain: Domain, asked: Asked, prices: Mapping[str, Price]) -> TopRequest:
    """What is asked for; a UsageError where public numbers alone rule it out."""
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
    per_user = isinstance(asked.rule, Selected) and bool(asked.rule.per_user)
    made = TopRequest(items, domain, per_user, pure(prices[SELECT]), pure(prices[MEASURE]))
    check_measured(made.planned(), Epsilon(made.select.value + made.measure.value), "lower --top")
    return made
