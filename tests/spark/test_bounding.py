"""Bounding on a cluster: where records lie changes nothing, and few of them travel."""

from __future__ import annotations

from typing import Any

import numpy as np

from crowdtally.curator.bounding.sampling import SRA
from crowdtally.records.prepare import prepare
from crowdtally.records.spark.engine import SparkEngine
from crowdtally.records.spark.session import join_frame
from crowdtally.records.spark.sources import plan_of
from kit.cluster import engine_beside
from kit.crowd import DOMAIN, EVERYONE, STORED, together
from kit.histories import kept_by


def test_partitions_and_row_order_change_nothing(cluster: Any) -> None:
    rows = together(EVERYONE)
    order = np.random.default_rng(3).permutation(len(rows))
    found = []
    for table, parts in ((rows, 1), ([rows[i] for i in order], 7)):
        frame = cluster.createDataFrame(STORED.table(table)).repartition(parts)
        with SparkEngine(join_frame(frame)) as engine:
            prepared = prepare(engine, STORED.records(frame, DOMAIN), DOMAIN)
            found.append(kept_by(engine, prepared, SRA(2), 2**62 + 99, "records"))
    assert found[0] == found[1]


def test_the_fast_cut_works_before_records_travel(cluster: Any) -> None:
    """Otherwise every record of every user would be sent."""
    with engine_beside(cluster) as engine:
        table = engine.load("held", {"user": np.arange(9) % 2, "priority": np.arange(9)})
        found = engine._session.table(engine.least(table, 2).rows.get_name())
        *_, plan = plan_of(found).partition("== Physical Plan ==")
    assert plan.count("WindowGroupLimit") == 2
