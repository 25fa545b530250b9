"""``auto`` on the persons of a table: each unit of a count has one record and is one user.

With one record each, ``auto`` finds no reason to bound anybody: it spends 3% of ε on how long rows
are, and the rest on all cells (twice on the largest ones, where persons are few per cell). A sum is
what a reader is told: that of the estimates of the cells.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from crowdtally.curator.engine.duckdb import DuckDBEngine
from crowdtally.curator.request.declaring import declare
from crowdtally.curator.request.request import Request, make_request
from crowdtally.lab.auto_estimates import estimate_auto
from crowdtally.lab.rehearsing import Rehearsal
from crowdtally.noise.draws import SystemDraws
from crowdtally.values.domain import Domain
from crowdtally_research.reproducing.papers.cormode.sparse import Floats, Sparse
from crowdtally_research.reproducing.papers.cormode.ways import AXIS, EPSILON

NOISES = 5
"""Runs of ``auto`` on the same persons: counting them takes much longer than drawing noise."""


def auto_estimates(sparse: Sparse, runs: int) -> Iterator[Floats]:
    """What a reader is told of every cell, after each of some whole runs."""
    request = _request(sparse)
    with DuckDBEngine() as engine:
        rehearsal = Rehearsal(request, engine)
        for _ in range(runs):
            yield estimate_auto(request, rehearsal.run(0, SystemDraws())).mean


def _request(sparse: Sparse) -> Request:
    cells = np.repeat(sparse.cells, sparse.values)
    people = pa.table({"user": np.arange(len(cells)), AXIS: cells})
    records = declare(people, user="user", attributes=[AXIS])
    domain = Domain(attributes={AXIS: range(sparse.size)})
    return make_request(records, domain, epsilon=EPSILON.value)
