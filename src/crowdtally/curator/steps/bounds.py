"""The bound of each table: as given, or chosen privately for its share of ε."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.curator.bounding.dpsense import rows_with_sums
from crowdtally.curator.choosing.candidates import log_spaced
from crowdtally.curator.choosing.dpsense import DPSenseChoice
from crowdtally.curator.choosing.dpsense_s import DPSenseSChoice
from crowdtally.curator.choosing.rank import RankChoice
from crowdtally.curator.choosing.rows import RowSums, RowTable
from crowdtally.curator.engine.prepare import cell_numbers
from crowdtally.curator.engine.relations import Rows
from crowdtally.curator.steps.work import Work
from crowdtally.values.epsilon import Epsilon


@dataclass(frozen=True)
class Bound:
    """What a table is bounded by; published with it."""

    value: int
    """l or θ."""
    scaling: Fraction = Fraction(1)
    """s, for DPSense-S."""


def find_bounds(work: Work) -> dict[str, Bound]:
    """The bound of each table of the request."""
    request, method = work.request, work.request.method
    tables = list(request.layouts())
    if method.choose is None:
        return dict.fromkeys(tables, Bound(method.limit, method.scalings[0]))
    if method.samples:
        # One sample serves all tables; it is fitted to the item counts.
        return dict.fromkeys(tables, Bound(_choose_limit(work, request.part("choose"))))
    share = Epsilon(request.part("choose").value / len(tables))
    choose = _choose_theta if method.bounding == "dpsense" else _choose_theta_and_scaling
    return {table: choose(work, table, share) for table in tables}


def _choose_limit(work: Work, epsilon: Epsilon) -> int:
    request, rows = work.request, work.prepared.table
    amounts = rows.select("user", "cell")
    if request.method.what == "users":
        amounts = amounts.distinct()
    sums = amounts.group_by("user").agg(row_sum=amounts.count())
    least = 2 if request.method.pairs else 1
    candidates = tuple(c for c in log_spaced(request.method.limit) if c >= least)
    table, layout = next(iter(request.layouts().items()))  # the items, or all cells
    choice = RankChoice(layout.size, candidates, epsilon, request.table_epsilon(table))
    return choice.pick(_histogram(work, sums), work.draws)


def _choose_theta(work: Work, table: str, epsilon: Epsilon) -> Bound:
    request, method = work.request, work.request.method
    amounts = rows_with_sums(work.records_of(table), method.cap)
    histogram = _histogram(work, amounts.select("user", "row_sum").distinct())
    cells, published = request.layouts()[table].size, request.table_epsilon(table)
    choice: Any
    if method.choose == "rank":
        choice = RankChoice(cells, log_spaced(method.limit), epsilon, published)
    else:
        choice = DPSenseChoice(cells, method.limit, epsilon, published, method.cap)
    return Bound(choice.pick(histogram, work.draws))


def _choose_theta_and_scaling(work: Work, table: str, epsilon: Epsilon) -> Bound:
    request, method = work.request, work.request.method
    amounts = rows_with_sums(work.records_of(table), method.cap)
    totals = amounts.group_by("row_sum", "cell").agg(total=amounts.amount.sum().cast("int64"))
    found = work.engine.columns(totals)
    cells = cell_numbers(found["cell"], work.prepared.domain)
    choice = DPSenseSChoice(
        request.layouts()[table].size, method.limit, epsilon, request.table_epsilon(table),
        method.cap, method.scalings,
    )  # fmt: skip
    theta, scaling = choice.pick(
        RowTable(_int64(found["row_sum"]), cells, _int64(found["total"])), work.draws
    )
    return Bound(theta, scaling)


def _int64(column: NDArray[Any]) -> NDArray[np.int64]:
    return np.asarray(column, dtype=np.int64)


def _histogram(work: Work, sums: Rows) -> RowSums:
    """(user, row_sum) → how many users have which row sum."""
    counted = work.engine.arrays(sums.group_by("row_sum").agg(users=sums.count()))
    return RowSums(counted["row_sum"].astype(np.int64), counted["users"])
