"""What was really counted: every record of every user, by the expressions that releases use.

Exact and not private: for comparing with, never for showing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.counts import Counts, What
from crowdtally.core.layout import KINDS
from crowdtally.curator.counting.bounded import cells_of, count, count_rows, fold
from crowdtally.curator.counting.users import record_sums
from crowdtally.curator.table import Table
from crowdtally.errors import UsageError
from crowdtally.records.engine import Engine, Kept, Rows, countable
from crowdtally.records.prepare import Prepared

LARGEST = 50_000_000
"""Cells beyond which a table is not compared: each needs a truth and an estimate in memory."""


def true_counts(
    engine: Engine, prepared: Prepared, what: What, tables: Sequence[Table]
) -> dict[str, NDArray[np.int64]]:
    """The unbounded counts of every cell of these tables, by table, in the order of the domain.

    Args:
        engine: what runs it.
        prepared: all records; those of nobody and those outside the domain count nothing.
        what: records, each as often as its quantity says; or distinct users in each cell.
        tables: the tables of a request.
    """
    for table in tables:
        check_size(table.name, table.cells.size)
    if not tables:
        raise UsageError(
            "items without a public list have no cells to compare: give --items and a list."
        )
    found = _counted(engine, prepared, what, pairs=any(KINDS[t.name].is_pairs for t in tables))
    # Of cells without contexts the counts come twice, as in a release: the second is not asked for.
    pairs = zip(tables, found, strict=False)
    return {table.name: counts.dense() for table, counts in pairs}


def check_size(name: str, cells: int) -> None:
    """Refuse a table whose cells would not fit the memory, each with its truth and estimate."""
    if cells > LARGEST:
        raise UsageError(
            f"the table {name!r} has {cells} cells, and at most {LARGEST} are compared with their "
            "truth: shorten the lists, or use fewer contexts or attributes."
        )


@dataclass(frozen=True)
class Everything:
    """The rule that keeps every record: the truth is a count without a bound."""

    limit: int = 1
    """What nobody has more of, where that matters: no noise is added to the truth."""
    times: int = 1
    """How often a record may count."""

    def keep(self, engine: Engine, rows: Rows, *, cells: int, key: int, what: What) -> Kept:
        """All of them; of a user's records in one cell one, where users are counted."""
        known = countable(rows).select("user", "cell")
        return Kept(known.distinct() if what == "users" else known)


def _counted(
    engine: Engine, prepared: Prepared, what: What, *, pairs: bool
) -> tuple[Counts, Counts]:
    if "user" not in prepared.rows.columns:
        return count_rows(engine, prepared).found
    if _said(prepared, what):
        return _as_often_as_said(engine, prepared)
    rule = Everything(2 if pairs else 1)
    return count(engine, prepared, rule, key=0, what=what, pairs=pairs).found


def _said(prepared: Prepared, what: What) -> bool:
    """Whether records count by a quantity."""
    return what == "records" and "quantity" in prepared.rows.columns


def _as_often_as_said(engine: Engine, prepared: Prepared) -> tuple[Counts, Counts]:
    """Each record as often as its quantity says, also beyond the most that a release counts."""
    domain, rows = prepared.domain, countable(prepared.matched)
    found = rows.group_by("cell").agg(times=rows.said.sum().cast("int64"))
    edges = cells_of(engine.columns(found), "times", domain)
    items = fold(edges, domain.contexts_size)
    return (
        Counts(domain.size // domain.contexts_size, *items, 1),
        Counts(domain.size, *edges, 1),
    )


def largest_contribution(engine: Engine, prepared: Prepared, what: What) -> int:
    """M: the most that one user has within the domain; 0 where nobody has anything.

    Records, each as often as its quantity says; or different cells, where users are counted.
    """
    sums, users = _per_user(engine, prepared, what)
    return int(sums[users > 0].max(initial=0))


def mean_contribution(engine: Engine, prepared: Prepared, what: What) -> float:
    """The same on average over the users who have something; 0 where nobody has."""
    sums, users = _per_user(engine, prepared, what)
    return float((sums * users).sum() / users.sum()) if users.sum() else 0.0


def _per_user(
    engine: Engine, prepared: Prepared, what: What
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """What users have, and how many have so much."""
    if "user" not in prepared.rows.columns:
        return _persons(engine, prepared)
    if not _said(prepared, what):
        found: Any = record_sums(engine, prepared, what).found
        return found.sums, found.users
    rows = countable(prepared.matched)
    each = rows.group_by("user").agg(total=rows.said.sum().cast("int64"))
    columns = engine.arrays(each.group_by("total").agg(users=each.count()))
    return columns["total"], columns["users"]


def _persons(engine: Engine, prepared: Prepared) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each row is a person, or several, and each of them is in one cell."""
    _, edges = count_rows(engine, prepared).found
    return np.ones(1, dtype=np.int64), np.array([edges.values.sum()], dtype=np.int64)
