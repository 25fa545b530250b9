"""The users' rows, computed once for all steps of ``auto``."""

from __future__ import annotations

from crowdtally.curator.converse import Reading
from crowdtally.curator.counting.rows import Visits, make_visits
from crowdtally.curator.steps.auto.design import Design

_HELD = "visits"


def visits_of(reading: Reading, design: Design) -> Visits:
    """(user, item, context, amount), the same rows for every step of one release.

    A user's one context, and which of her records of an item survives, follow from one sampling
    key: they are settled here, once, before anything is counted.
    """
    if _HELD not in reading.held:
        reading.held[_HELD] = make_visits(
            reading.engine, reading.prepared, key=reading.fresh_key(),
            per_user=design.per_user, repeats=design.repeats,
        )  # fmt: skip
    found: Visits = reading.held[_HELD]
    return found
