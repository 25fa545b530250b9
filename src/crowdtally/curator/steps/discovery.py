"""Items without a public list: those that enough users have, under (ε, δ)."""

from __future__ import annotations

from typing import Any

from crowdtally.curator.counting.items import Items, kept_items
from crowdtally.curator.counting.reading import Read
from crowdtally.curator.selecting.unknown_items import UnknownItems
from crowdtally.curator.steps.work import Work
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.published import NoisyTable
from crowdtally.values.layout import Listed
from crowdtally.values.rational import show


def read_items(work: Work) -> Read[Items]:
    """(user, item) → the items that users keep, at most l each, and how many users do."""
    limit = work.request.method.limit
    return kept_items(work.engine, work.prepared, limit, key=work.fresh_key())


def discover_items(work: Work, found: Items) -> tuple[NoisyTable, dict[str, Any]]:
    """The items that pass, with their noisy counts of users; and the mass of the others."""
    request, (items, users) = work.request, found
    rule = UnknownItems(request.method.limit, request.part("items"), request.delta)
    passed = rule.select(users, work.draws)
    other = rule.other(users, passed, request.part("total"), work.draws)
    facts = {
        "epsilon": show(rule.epsilon.value),
        "delta": show(rule.actual_delta),
        "sensitivity": rule.limit,
        "publishing": "threshold on unknown items",
        "threshold": rule.threshold,
    }
    layout = Listed(str(request.records.item), items[passed.places])
    table = NoisyTable("items", layout, passed.noisy, DiscreteLaplace(rule.scale), facts)
    words = "noisy number of (user, item) pairs among the kept ones whose item is not released"
    scale = request.method.limit / request.part("total").value
    return table, {"count": other, "noise_scale": show(scale), "counts": words}
