"""Items without a public list: which there are, and how many users keep each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.curator.counting.reading import Read, dropped_in
from crowdtally.curator.engine import window
from crowdtally.curator.engine.census import countable, grouped
from crowdtally.curator.engine.engine import Engine
from crowdtally.curator.engine.prepare import Prepared

Items = tuple[NDArray[Any], NDArray[np.int64]]
"""The items in the order of their values, and how many users keep each."""


def kept_items(engine: Engine, prepared: Prepared, limit: int, *, key: int) -> Read[Items]:
    """Each user's items, each once and at most ``limit`` of them, and how many users keep each.

    The items' own values order and hash them. A number for each item, as where a list is public,
    would depend on what other users have.
    """
    same = engine.materialise(grouped(prepared.rows), "same")  # (user, item), each once
    distinct = countable(same).select("user", "cell")
    order = engine.hash(key, [distinct.user, distinct.cell])
    kept = window.least(distinct.mutate(priority=order), limit)
    found = engine.columns(kept.group_by("cell").agg(users=kept.count()))
    by_value = np.argsort(found["cell"], kind="stable")  # never the order of discovery
    items, users = found["cell"][by_value], found["users"][by_value].astype(np.int64)
    return Read((items, users), dropped_in(engine, same))
