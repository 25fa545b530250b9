"""The tables of counts: bound every user, count, add noise."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from crowdtally.curator.bounding.dpsense import DPSense
from crowdtally.curator.bounding.hpa import HPA
from crowdtally.curator.bounding.sra import SRA
from crowdtally.curator.bounding.tempered import Tempered
from crowdtally.curator.engine.counting import Sampling, count, count_pairs
from crowdtally.curator.publishing.dense import dense
from crowdtally.curator.steps.bounds import Bound
from crowdtally.curator.steps.work import Work
from crowdtally.published import NoisyTable
from crowdtally.values.counts import Counts


def popularity_table(work: Work) -> NoisyTable | None:
    """The popularity that hand-picking goes by: SRA(d₀) counts of all items, noisy, drawn once."""
    limit = work.request.method.popularity_records
    if limit is None:
        return None
    items, _ = count(  # (user, cell) → at most d₀ per user → item counts
        work.engine, work.prepared, SRA(limit),
        rows=work.rows, key=work.fresh_key(), what=work.request.method.what,
    )  # fmt: skip
    return dense("popularity", items, work.request.part("popularity"), work.draws)


def count_tables(
    work: Work, bounds: Mapping[str, Bound], popularity: NoisyTable | None
) -> list[NoisyTable]:
    """Each table of the request with its noise; all noises are independent draws."""
    ranking = popularity.values if popularity is not None else None
    counts = (
        _count_kept(work, bounds["items"].value, ranking)
        if work.request.method.samples
        else {table: _count_scaled(work, table, bound) for table, bound in bounds.items()}
    )
    return [
        dense(table, counts[table], work.request.table_epsilon(table), work.draws)
        for table in bounds
    ]


def _count_kept(work: Work, limit: int, ranking: NDArray[np.int64] | None) -> dict[str, Counts]:
    """(user, cell) → at most l rows per user → counts; all tables from one and the same sample."""
    method = work.request.method
    rule = _rule(work, limit, ranking)
    counter, second = (count_pairs, "pairs") if method.pairs else (count, "edges")
    items, others = counter(
        work.engine, work.prepared, rule, rows=work.rows, key=work.fresh_key(), what=method.what
    )
    return {"items": items, second: others}


def _rule(work: Work, limit: int, ranking: NDArray[np.int64] | None) -> Sampling:
    method = work.request.method
    if ranking is None:
        return SRA(limit)
    if method.temper is None:
        return HPA(limit, ranking)
    return Tempered(limit, ranking, method.temper)


def _count_scaled(work: Work, table: str, bound: Bound) -> Counts:
    """(user, cell) → rows scaled to θ → counts in units of 1/g."""
    method = work.request.method
    rule = DPSense(bound.value, method.cap, bound.scaling)
    layout = work.request.layouts(work.prepared.domain)[table]
    return rule.count(work.engine, work.records_of(table), layout, method.what)
