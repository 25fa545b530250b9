"""Items without a public list: those that enough users have, under (ε, δ)."""

from __future__ import annotations

from typing import Any

import numpy as np

from crowdtally.curator.engine import window
from crowdtally.curator.selecting.unknown_items import UnknownItems
from crowdtally.curator.steps.work import Work
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.published import NoisyTable
from crowdtally.values.layout import Listed
from crowdtally.values.rational import show


def discover_items(work: Work) -> tuple[NoisyTable, dict[str, Any]]:
    """The items that pass, with their noisy counts of distinct users; and the mass of the others.

    The items' own values order and hash them. A number for each item, as where a list is public,
    would depend on what other users have.
    """
    request, rows = work.request, work.prepared.table
    distinct = rows.select("user", "cell").distinct()  # (user, item), each once
    order = work.engine.hash(work.fresh_key(), [distinct.user, distinct.cell])
    kept = window.least(distinct.mutate(priority=order), request.method.limit)  # at most l per user
    found = work.engine.columns(kept.group_by("cell").agg(users=kept.count()))
    by_value = np.argsort(found["cell"], kind="stable")  # never the order of discovery
    items, users = found["cell"][by_value], found["users"][by_value].astype(np.int64)

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
