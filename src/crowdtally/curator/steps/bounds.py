"""The bound of each table: as given, or chosen privately for its share of ε."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

from crowdtally.curator.choosing.candidates import log_spaced
from crowdtally.curator.choosing.dpsense import DPSenseChoice
from crowdtally.curator.choosing.dpsense_s import DPSenseSChoice
from crowdtally.curator.choosing.rank import RankChoice
from crowdtally.curator.choosing.rows import RowSums, RowTable
from crowdtally.curator.counting.reading import Read
from crowdtally.curator.counting.rows import record_sums, row_totals, scaled_sums
from crowdtally.curator.steps.work import Work
from crowdtally.values.epsilon import Epsilon


@dataclass(frozen=True)
class Bound:
    """What a table is bounded by; published with it."""

    value: int
    """l or θ."""
    scaling: Fraction = Fraction(1)
    """s, for DPSense-S."""


def read_rows(work: Work, table: str) -> Read[Any]:
    """What the choice of this table's bound looks at."""
    method, width = work.request.method, work.width_of(table)
    if method.samples:
        return record_sums(work.engine, work.prepared, method.what)
    read: Any = row_totals if method.bounding == "dpsense-s" else scaled_sums
    return cast(Read[Any], read(work.engine, work.prepared, method.cap, width=width))


def given_bounds(work: Work) -> dict[str, Bound]:
    """The bound of each table where nothing is chosen."""
    method = work.request.method
    return dict.fromkeys(work.request.layouts(), Bound(method.limit, method.scalings[0]))


def find_bounds(work: Work, first: Any = None) -> dict[str, Bound]:
    """The bound of each table of the request; ``first`` is what was read for the first of them."""
    request, method = work.request, work.request.method
    if method.choose is None:
        return given_bounds(work)
    table, *others = request.layouts()
    rows = {table: first if first is not None else read_rows(work, table).found}
    if method.samples:
        # One sample serves all tables; it is fitted to the item counts.
        limit = _choose_limit(work, table, request.part("choose"), rows[table])
        return dict.fromkeys(request.layouts(), Bound(limit))
    share = Epsilon(request.part("choose").value / len(request.layouts()))
    choose = _choose_theta if method.bounding == "dpsense" else _choose_theta_and_scaling
    rows |= {other: read_rows(work, other).found for other in others}
    return {table: choose(work, table, share, found) for table, found in rows.items()}


def _choose_limit(work: Work, table: str, epsilon: Epsilon, rows: RowSums) -> int:
    request = work.request
    least = 2 if request.method.pairs else 1
    candidates = tuple(c for c in log_spaced(request.method.limit) if c >= least)
    layout = request.layouts()[table]  # the items, or all cells
    choice = RankChoice(layout.size, candidates, epsilon, request.table_epsilon(table))
    return choice.pick(rows, work.draws)


def _choose_theta(work: Work, table: str, epsilon: Epsilon, rows: RowSums) -> Bound:
    request, method = work.request, work.request.method
    cells, published = request.layouts()[table].size, request.table_epsilon(table)
    choice: Any
    if method.choose == "rank":
        choice = RankChoice(cells, log_spaced(method.limit), epsilon, published)
    else:
        choice = DPSenseChoice(cells, method.limit, epsilon, published, method.cap)
    return Bound(choice.pick(rows, work.draws))


def _choose_theta_and_scaling(work: Work, table: str, epsilon: Epsilon, rows: RowTable) -> Bound:
    request, method = work.request, work.request.method
    choice = DPSenseSChoice(
        request.layouts()[table].size, method.limit, epsilon, request.table_epsilon(table),
        method.cap, method.scalings,
    )  # fmt: skip
    theta, scaling = choice.pick(rows, work.draws)
    return Bound(theta, scaling)
