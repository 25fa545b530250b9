"""Theorem 2 of the paper, corrected: the mean squared error that SRA is expected to have.

The paper's model: n users with M records each, every record of item i with probability p_i,
independently; l of the M are kept. Of a count, (M − l) records of each user are missing, so

    MSE = n(M − l)p(1 − p) + n²(M − l)²p² + 2l²/ε²,

where the paper prints the variance of what is kept in place of what is missing. Both agree in
what the theorem states: the best l grows with ε.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdtally.curator.engine.duckdb import DuckDBEngine
from crowdtally.curator.engine.prepare import prepare
from crowdtally.curator.request.request import Subject, make_request
from crowdtally.lab.truth import mean_contribution, true_counts


@dataclass(frozen=True, eq=False)
class Theorem:
    """The model, fitted to records."""

    users: float
    """n."""
    records: float
    """M: every user is taken to have the mean."""
    shares: Mapping[str, NDArray[np.float64]]
    """p of every cell, by table."""

    def error(self, table: str, limit: int, epsilon: float) -> float:
        """The expected MSE, averaged over the cells; ``epsilon`` is the table's own."""
        p, lost = self.shares[table], max(self.records - limit, 0.0)
        spread = self.users * lost * p * (1 - p)
        return float((spread + (self.users * lost * p) ** 2).mean() + 2 * (limit / epsilon) ** 2)

    def best(self, table: str, epsilon: float) -> float:
        """The l of least expected MSE, within 1 … M."""
        p = self.shares[table]
        squares = 2 * self.users**2 * float((p**2).mean())
        spread = self.users * float((p * (1 - p)).mean())
        found = (squares * self.records + spread) / (4 / epsilon**2 + squares)
        return min(max(found, 1.0), self.records)


def theorem_of(subject: Subject) -> Theorem:
    """The model of these records: n, the mean number of records, and the true shares."""
    tables = make_request(
        subject.records, subject.domain, epsilon=1, max_records=1, sources=subject.sources
    ).bounded
    with DuckDBEngine() as engine:
        prepared = prepare(engine, subject.records, subject.domain, subject.sources)
        truth = true_counts(engine, prepared, "records", tables)
        mean = mean_contribution(engine, prepared, "records")
    total = float(truth[tables[0].name].sum())
    return Theorem(total / mean, mean, {name: counts / total for name, counts in truth.items()})
