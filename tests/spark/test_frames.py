"""DataFrames as records: they choose the engine, and their own session stays as it was."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet

import crowdtally as ct


def test_a_spark_dataframe_chooses_its_engine(cluster: Any, tmp_path: Path) -> None:
    rows = [
        (user, item, datetime.date(2024, 1, 1 + user)) for user in range(5) for item in range(4)
    ]
    frame = cluster.createDataFrame(rows, "user INT, item INT, day DATE")
    records = ct.read(
        frame, user="user", item="item", contexts={"wday": "isodow(day)"}, types={"day": "date"}
    )
    views = {view.name for view in cluster.catalog.listTables()}
    made = ct.release(
        records, ct.Domain(range(4), {"wday": range(1, 8)}), epsilon=50, max_records=9,
        output=tmp_path / "made", ledger=tmp_path / "ledger.sqlite", dataset="frame",
        new_dataset=True,
    )  # fmt: skip
    table = parquet.read_table(tmp_path / "made" / "edges.parquet")
    assert table.num_rows == 4 * 7
    assert made.metadata["charged"]["epsilon"] == "50"
    assert {view.name for view in cluster.catalog.listTables()} == views, "views were left behind"
    assert cluster.conf.get("spark.sql.ansi.enabled") == "false"


def test_settings_of_the_frames_own_session_stay(cluster: Any, tmp_path: Path) -> None:
    theirs = cluster.newSession()
    theirs.conf.set("spark.sql.ansi.enabled", "true")
    frame = theirs.createDataFrame([(1, "a")], "user INT, item STRING")
    ct.release(
        ct.read(frame, user="user", item="item"), ct.Domain(["a"]), epsilon=1,
        output=tmp_path / "made", ledger=tmp_path / "ledger.sqlite", dataset="frame",
        new_dataset=True, max_records=10,
    )  # fmt: skip
    assert theirs.conf.get("spark.sql.ansi.enabled") == "true"
    assert json.loads((tmp_path / "made" / "release.json").read_text())["guarantee"]
