"""Columns and spreads that an inspection shows, without a record's value."""

from __future__ import annotations

import os
import random
import sqlite3
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crowdtally as ct
from crowdtally.curator.inspect import Spread, check_columns
from crowdtally.errors import CrowdtallyError
from crowdtally.records.locate import Sources, locate
from crowdtally.records.start import can_look, without_rows
from kit.every_source import DAYS, PLACES, some_source, source, table
from kit.ledgers import server

__all__ = ["server", "some_source", "source"]

pytestmark = [
    pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The 'future.infer_string' option"),
]


# ---- A plan looks at columns, with the messages of a release, and reads no record ----------------


DOMAIN = ct.Domain(PLACES, {"day": DAYS})
ROLES = {"user": "who", "item": "place", "contexts": ["day"]}
SLIPS: dict[str, dict[str, Any]] = {
    "user": {"user": "whom"},
    "item": {"item": "plaec"},
    "context": {"contexts": ["day"], "record_id": "nr"},
    "expression": {"contexts": {"day": "dayname(dya)"}},
    "type of an expression": {"contexts": {"day": "list_value(day)"}},
    "join key": {"joins": [(pa.table({"area": ["a"]}), "place")]},
    "clash": {"joins": [(pa.table({"place": ["a"], "who": ["b"]}), "place")]},
}


def refused(action: Any) -> tuple[type, str]:
    with pytest.raises(CrowdtallyError) as caught:
        action()
    return type(caught.value), str(caught.value)


def test_of_every_source_the_columns_are_seen_and_no_row(source: Any) -> None:
    located = locate(source)
    if not can_look(located):  # nothing tells its columns without taking its rows
        assert not hasattr(source, "schema")
        assert check_columns(Sources(ct.read(source, **ROLES)), DOMAIN) == ("the stream",)
        return
    with without_rows() as engine:
        columns = engine.open(located, "source")
        rows = engine.table("source")
        (number,) = engine.arrays(rows.aggregate(number=rows.count()))["number"]
    assert {"who", "place", "day", "n"} <= set(columns)
    assert number == 0
    assert check_columns(Sources(ct.read(source, **ROLES)), DOMAIN) == ()
    if located.kind == "stream":  # and it still has all its rows to give
        assert pa.RecordBatchReader.from_stream(source).read_all().num_rows == len(table())


@pytest.mark.parametrize("slip", SLIPS)
def test_a_plan_refuses_what_a_release_would(some_source: Any, slip: str, tmp_path: Path) -> None:
    records = ct.read(some_source, **ROLES | SLIPS[slip])
    planned = refused(lambda: ct.plan(records, DOMAIN, epsilon=1))
    books = {"ledger": tmp_path / "ledger.sqlite", "dataset": "town"}
    released = refused(lambda: ct.release(records, DOMAIN, epsilon=1, **books, new_dataset=True))
    assert planned == released


def test_types_of_a_frame_are_those_that_a_release_sees() -> None:
    """Objects are text, also where no row is there to show it."""
    frame = pd.DataFrame(
        {"who": pd.Series(["a", 1], dtype=object), "place": ["x", "y"], "n": [1, 2]}
    )
    records = ct.read(frame, user="who", item="place", contexts={"first": "upper(who)"})
    assert ct.plan(records, ct.Domain(["x"], {"first": ["A"]}), epsilon=1).unseen == ()


def test_no_record_is_read(tmp_path: Path) -> None:
    """Rows that cannot be read stop a release, and not a plan."""
    table = pa.table({"who": list(range(9000)), "place": ["x"] * 9000})
    pq.write_table(table, tmp_path / "a.parquet", compression="gzip", use_dictionary=False)
    raw = bytearray((tmp_path / "a.parquet").read_bytes())
    raw[100:4000] = bytes(3900)
    (tmp_path / "a.parquet").write_bytes(raw)
    (tmp_path / "a.csv").write_bytes(b'who,place\n1,"never closed\n')
    with closing(sqlite3.connect(tmp_path / "a.db")) as base:
        base.execute("CREATE TABLE base (who, place)")
        # An overflow, as soon as a row is read.
        base.execute("INSERT INTO base VALUES (-9223372036854775808, 'b')")
        base.execute("CREATE VIEW v AS SELECT abs(who) AS who, place FROM base")
        base.commit()
    for name in ("a.parquet", "a.csv"):
        records = ct.read(tmp_path / name, user="who", item="place")
        ct.plan(records, ct.Domain(["x"]), epsilon=1)
        with pytest.raises(ct.InputError):
            ct.release(
                records,
                ct.Domain(["x"]),
                epsilon=1,
                ledger=tmp_path / "l",
                dataset="d",
                new_dataset=True,
            )
    records = ct.read(f"sqlite://{tmp_path}/a.db#v", user="who", item="place")
    ct.plan(records, ct.Domain(["x"]), epsilon=1)
    with pytest.raises(ct.InputError):
        ct.release(
            records,
            ct.Domain(["x"]),
            epsilon=1,
            ledger=tmp_path / "l",
            dataset="d",
            new_dataset=True,
        )


def test_a_pipe_is_left_alone(tmp_path: Path) -> None:
    """It can be read once, and that is the release's."""
    os.mkfifo(tmp_path / "pipe.csv")
    records = ct.read(tmp_path / "pipe.csv", user="who", item="place")
    plan = ct.plan(records, ct.Domain(["x"]), epsilon=1)
    assert plan.unseen == (str(tmp_path / "pipe.csv"),)
    assert f"{tmp_path / 'pipe.csv'} is not opened for a plan" in str(plan)


def test_what_only_spark_reads_is_not_looked_at() -> None:
    records = ct.read("spark:lake.visits", user="who", item="place")
    plan = ct.plan(records, ct.Domain(["x"]), epsilon=1)
    assert plan.unseen == ("spark:lake.visits",)
    assert "whether the columns exist and fit" in plan.as_dict()["unknown"][0]


def test_what_is_not_there_is_missed(tmp_path: Path) -> None:
    records = ct.read(tmp_path / "none.parquet", user="who", item="place")
    with pytest.raises(ct.InputError, match="no such file"):
        ct.plan(records, ct.Domain(["x"]), epsilon=1)


# ---- Buckets and bounds by plain sums ------------------------------------------------------------


def test_buckets_hold_every_user_once() -> None:
    drawn = random.Random(5)
    users_with = {drawn.randrange(1, 30_000): drawn.randrange(1, 9) for _ in range(200)}
    spread = Spread(dict(sorted(users_with.items())), "records")
    buckets = spread.histogram()
    assert sum(bucket["users"] for bucket in buckets) == spread.users == sum(users_with.values())
    assert buckets[-1]["least"] <= max(users_with) <= buckets[-1]["most"]
    ends = [(bucket["least"], bucket["most"]) for bucket in buckets]
    assert ends[:6] == [(1, 1), (2, 2), (3, 5), (6, 10), (11, 20), (21, 50)]
    assert all(low == high + 1 for (_, high), (low, _) in pairwise(ends))


def test_the_bound_that_was_asked_for_is_among_those_shown() -> None:
    spread = Spread({1: 3, 100: 1}, "records")
    for limit in (1, 2, 3, 10, 77):
        shown = [one.limit for one in spread.around(limit)]
        assert limit in shown
        assert shown == sorted(set(shown))
    assert [one.kept for one in spread.around(10)] == [5, 8, 13, 23, 53]
    assert [one.cut for one in spread.around(100)] == [1, 1, 0, 0, 0]
