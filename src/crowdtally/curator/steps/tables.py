"""The tables of counts: bound every user, count, add noise."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from crowdtally.curator.bounding.dpsense import DPSense
from crowdtally.curator.bounding.hpa import HPA
from crowdtally.curator.bounding.sra import SRA
from crowdtally.curator.bounding.tempered import Tempered
from crowdtally.curator.counting.reading import Read
from crowdtally.curator.counting.tables import Sampling, count, count_pairs, count_rows
from crowdtally.curator.publishing.dense import dense
from crowdtally.curator.steps.bounds import Bound
from crowdtally.curator.steps.forming import publish_table
from crowdtally.curator.steps.work import Work
from crowdtally.published import NoisyTable
from crowdtally.values.counts import Counts
from crowdtally.values.layout import grid


def read_popularity(work: Work, limit: int) -> Read[tuple[Counts, Counts]]:
    """(user, cell) → at most d₀ per user → item counts."""
    return count(
        work.engine, work.prepared, SRA(limit),
        key=work.fresh_key(), what=work.request.method.what,
    )  # fmt: skip


def popularity_table(work: Work, found: tuple[Counts, Counts]) -> NoisyTable:
    """The popularity that hand-picking goes by: SRA(d₀) counts of all items, noisy, drawn once."""
    return dense(
        "popularity",
        grid([work.prepared.domain.items]),
        found[0],
        work.request.part("popularity"),
        work.draws,
    )


def count_tables(
    work: Work,
    bounds: Mapping[str, Bound],
    popularity: NoisyTable | None,
    found: Mapping[str, Counts] | None = None,
) -> list[NoisyTable]:
    """Each table of the request with its noise; all noises are independent draws.

    ``found`` are the exact counts, where the release began with them.
    """
    request, layouts = work.request, work.request.layouts(work.prepared.domain)
    ranking = popularity.values if popularity is not None else None
    counts = found if found is not None else read_tables(work, bounds, ranking).found
    return [
        publish_table(
            table,
            layouts[table],
            counts[table],
            request.form,
            request.table_epsilon(table),
            work.draws,
        )
        for table in bounds
    ]


def read_tables(
    work: Work, bounds: Mapping[str, Bound], ranking: NDArray[np.int64] | None = None
) -> Read[dict[str, Counts]]:
    """The exact counts of each table, bounded."""
    method = work.request.method
    if not method.samples and not method.by_row:
        reads = {table: _count_scaled(work, table, bound) for table, bound in bounds.items()}
        dropped, *_ = (read.dropped for read in reads.values())
        return Read({table: read.found for table, read in reads.items()}, dropped)
    if method.by_row:
        # (cell[, weight]): each row is one person, or as many as its weight says
        read = count_rows(work.engine, work.prepared)
    else:
        # (user, cell) → at most l rows per user → counts, all from one and the same sample
        (limit,) = {bound.value for bound in bounds.values()}
        read = (count_pairs if method.pairs else count)(
            work.engine, work.prepared, _rule(work, limit, ranking),
            key=work.fresh_key(), what=method.what,
        )  # fmt: skip
    items, others = read.found
    tables = {"items": items, "edges": others, "pairs": others, "cells": others}
    return Read(tables, read.dropped)


def _rule(work: Work, limit: int, ranking: NDArray[np.int64] | None) -> Sampling:
    method = work.request.method
    if ranking is None:
        return SRA(limit)
    if method.temper is None:
        return HPA(limit, ranking)
    return Tempered(limit, ranking, method.temper)


def _count_scaled(work: Work, table: str, bound: Bound) -> Read[Counts]:
    """(user, cell) → rows scaled to θ → counts in units of 1/g."""
    rule = DPSense(bound.value, work.request.method.cap, bound.scaling)
    layout = work.request.layouts(work.prepared.domain)[table]
    return rule.count(work.engine, work.prepared, layout.size, width=work.width_of(table))
