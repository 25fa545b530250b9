"""Distinct users of items: the one kind of count that interval noise may be added to.

Contract: a user counts once in a cell whatever she has there, and nobody else's cells depend on
her. By context, all her rows are in one context, so she is in the cells of one context alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.counts import Memberships
from crowdtally.curator.counting.in_context import refuse_several
from crowdtally.curator.counting.visits import Visits
from crowdtally.records.engine import Rows


def members(visits: Visits, chosen: NDArray[Any]) -> Memberships:
    """The distinct users of each of the chosen items, which are ascending, in their order."""
    rows = visits.items.filter(visits.items.item.isin(chosen.tolist()))
    found, users = _users(visits, rows.select("user", cell=rows.item))
    return Memberships.of(len(chosen), np.searchsorted(chosen, found), users)


def all_members(visits: Visits, size: int) -> Memberships:
    """The distinct users of every item."""
    rows = visits.items
    return Memberships.of(size, *_users(visits, rows.select("user", cell=rows.item)))


def all_members_by_context(visits: Visits, size: int, contexts: int) -> Memberships:
    """The distinct users of every item in each context, the context fastest."""
    refuse_several(visits)
    rows = visits.rows
    cell = (rows.item * contexts + rows.context).cast("int64")
    return Memberships.of(size * contexts, *_users(visits, rows.select("user", cell=cell)))


def _users(visits: Visits, rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    found = visits.engine.arrays(rows.group_by("cell").agg(users=rows.user.nunique()))
    return found["cell"], found["users"]
