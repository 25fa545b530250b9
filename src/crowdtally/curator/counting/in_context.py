"""Users' rows → exact counts of contexts and of chosen items in context.

Contract of the scaled ones: each user's row, exactly the row that is divided, is scaled to a sum of
at most θ on a grid of g units, so one user changes the table by at most g·θ units in L1. Contract
of :func:`users_by_block`: one user changes cells of one context only, each by 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.counts import Counts, Memberships
from crowdtally.curator.bounding.dpsense import GRID
from crowdtally.curator.counting.scaled_rows import UNIT, scaled_by_cell
from crowdtally.curator.counting.visits import LARGEST_AMOUNT, Visits
from crowdtally.errors import CrowdtallyError
from crowdtally.records.engine import Column, Rows, smaller, sum_of

Ints = NDArray[np.int64]


def context_totals(visits: Visits, contexts: int, bound: int) -> Counts:
    """What each context has: rows over contexts, each scaled to at most ``bound``."""
    rows = visits.rows
    amount = smaller(sum_of(rows.amount), LARGEST_AMOUNT)
    each = rows.group_by("user", "context").agg(amount=amount)
    cells = each.select("user", "amount", cell=each.context)
    return _scaled(visits, cells, contexts, bound)


def rows_of_chosen(visits: Visits, places: Ints, contexts: int) -> Counts:
    """Chosen items × contexts: each user's row over these cells alone, scaled to at most 1."""
    chosen = _chosen(visits, places)
    cells = chosen.select("user", "amount", cell=_cell(chosen, contexts))
    return _scaled(visits, cells, len(places) * contexts, 1)


def users_by_block(visits: Visits, places: Ints, contexts: int) -> Memberships:
    """Chosen items × contexts: the users of each context that have the item."""
    refuse_several(visits)
    chosen = _chosen(visits, places)
    # (user, item, context) is there once, so rows are distinct users.
    cells = chosen.select(cell=_cell(chosen, contexts))
    found = visits.engine.arrays(cells.group_by("cell").agg(users=cells.count()))
    return Memberships.of(len(places) * contexts, found["cell"], found["users"])


def refuse_several(visits: Visits) -> None:
    """Stop where contexts are no groups of users: what is paid once would be spent h times."""
    if not visits.one_context:
        raise CrowdtallyError(
            "a user may be in several contexts here, and was to be counted as if in one: this is a "
            "fault of the program, and nothing is released."
        )


def _chosen(visits: Visits, places: Ints) -> Rows:
    """The users' rows at the chosen items, with the place of each among them."""
    listed = np.asarray(places, dtype=np.int64)
    numbered = {"item": listed, "place": np.arange(len(listed), dtype=np.int64)}
    return visits.rows.inner_join(visits.engine.load("chosen_items", numbered), "item")


def _cell(chosen: Rows, contexts: int) -> Column:
    return (chosen.place * contexts + chosen.context).cast("int64")


def _scaled(visits: Visits, cells: Rows, size: int, bound: int) -> Counts:
    """(user, cell, amount), each cell of a user once → the sums of the scaled rows."""
    engine = visits.engine
    held = engine.materialise(cells, f"to_scale_{visits.key}")
    found = engine.arrays(scaled_by_cell(held, bound))
    order = np.argsort(found["cell"])
    return Counts(size, found["cell"][order], found["total"][order], GRID * bound, UNIT)
