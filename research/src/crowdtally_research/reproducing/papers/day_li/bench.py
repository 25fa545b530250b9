"""The records of one data set, read once, and the methods that DPSense is held against.

Every method draws with the product's own steps, exact noise included. Nothing is charged.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.curator.counting.reading import Read
from crowdtally.curator.counting.rows import row_totals
from crowdtally.curator.engine.census import Dropped
from crowdtally.curator.engine.duckdb import DuckDBEngine
from crowdtally.curator.engine.prepare import prepare
from crowdtally.curator.request.request import Request, make_request
from crowdtally.curator.steps.step import Reading
from crowdtally.lab.auto_estimates import AutoEstimates, estimate_auto
from crowdtally.lab.baselines.alpa import ALPA
from crowdtally.lab.baselines.baseline import keyed
from crowdtally.lab.baselines.gs import GS, Pair
from crowdtally.lab.baselines.lpa import LPA
from crowdtally.lab.rehearsing import Rehearsal
from crowdtally.noise.draws import Draws, SystemDraws
from crowdtally.values.domain import Domain
from crowdtally.values.epsilon import Epsilon
from crowdtally.values.records import Records
from crowdtally.values.table_kinds import ITEMS
from crowdtally_research.reproducing.papers.day_li.rows import BinaryRows

Floats = NDArray[np.float64]
_SEED = 1


@dataclass(frozen=True, eq=False)
class Bench:
    """A data set, ready for every method."""

    records: Records
    """The declaration."""
    domain: Domain
    """The public list of columns."""
    rows: BinaryRows
    """All that DPSense needs of them."""
    dropped: Dropped
    """What a read says of rows that fall out: none do in a look-alike."""
    draws: Draws
    """Where noise comes from."""

    def request(self, epsilon: Epsilon, **options: Any) -> Request:
        """A release of the columns' counts."""
        return make_request(self.records, self.domain, epsilon=epsilon, count="users", **options)

    def gs(self, epsilon: Epsilon, runs: int) -> Iterator[Floats]:
        """GS, told the longest row as in the paper; one sample orders the columns of all runs."""
        method = GS.of(self.request(epsilon).subject, self.rows.most)
        with reading(self.records, self.domain) as records:
            rough = method.sampled.count(keyed(records, _SEED))[ITEMS.name]
        counted = {ITEMS.name: Pair(rough, self.rows.whole())}
        for _ in range(runs):
            yield method.release(counted, epsilon, self.draws)[ITEMS.name]

    def alpa(self, epsilon: Epsilon, runs: int) -> Iterator[Floats]:
        """ALPA, told the longest row."""
        method = ALPA.of(self.request(epsilon).subject, self.rows.most)
        counted = {ITEMS.name: self.rows.whole()}
        for _ in range(runs):
            yield method.release(counted, epsilon, self.draws)[ITEMS.name]

    def lpa(self, epsilon: Epsilon, runs: int) -> Iterator[Floats]:
        """LPA, told the longest row."""
        method = LPA.of(self.request(epsilon).subject, self.rows.most)
        whole = self.rows.whole()
        counted = Read((method.bounded.request.method.rule, (whole, whole)), self.dropped)
        for _ in range(runs):
            yield method.release(counted, epsilon, self.draws)[ITEMS.name]

    def auto(self, epsilon: Epsilon, runs: int) -> Iterator[AutoEstimates]:
        """Our own method: what a reader makes of a release of it."""
        with reading(self.records, self.domain) as records:
            rehearsal = Rehearsal(self.request(epsilon), records.engine, records.prepared)
            for _ in range(runs):
                yield estimate_auto(rehearsal.request, rehearsal.run(_SEED, self.draws))


def bench_on(path: Path, draws: Draws | None = None) -> Bench:
    """The records of a look-alike; its items lie beside it."""
    records = Records(str(path), "user_id", "item_id", record_id="record_id")
    domain = Domain(_items(path.with_name(f"{path.stem}.items.parquet")))
    with reading(records, domain) as opened:
        read = row_totals(opened.engine, opened.prepared, 1, width=1)
    rows = BinaryRows.of(read.found, domain.size)
    return Bench(records, domain, rows, read.dropped, SystemDraws() if draws is None else draws)


@contextmanager
def reading(records: Records, domain: Domain) -> Iterator[Reading]:
    """The records in an engine of their own, so that what it held of them is gone afterwards."""
    request = make_request(records, domain, epsilon=1, count="users")
    with DuckDBEngine() as engine:
        yield Reading(engine, prepare(engine, request.records, request.domain, request.sources))


def _items(path: Path) -> list[int]:
    import pyarrow.parquet as pq

    listed: list[int] = pq.read_table(path)["item_id"].to_pylist()
    return listed
