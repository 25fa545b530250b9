"""Spark Connect: a client without a driver, on a server in another process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet

SCRIPT = '''
import faulthandler
import sys
from pathlib import Path
faulthandler.dump_traceback_later(180, exit=True)
import pyarrow.parquet as parquet
import crowdtally as ct
from crowdtally.ledger import Ledger
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.locate import locate
from crowdtally.records.start import starter
from kit.publishing import publish
from crowdtally.curator.request.request import make_request
from crowdtally.errors import CrowdtallyError
from kit.silent import SilentDraws

url, folder = sys.argv[1], Path(sys.argv[2])

def made(source, name, engine, **options):
    """A release without noise; all three tables' bytes."""
    records = ct.read(
        source, user="user", item="item", joins=[(folder / "people.csv", "user")],
        contexts={"g": None, "size": "(item + hour(to_timestamp(item * 3600))) % 3"},
        where="item <> 4 AND g IS NOT NULL", timezone="Asia/Kolkata",
        types={"item": "int64"},
    )
    domain = ct.Domain(range(20), {"g": ["x", "y"], "size": range(3)})
    request = make_request(records, domain, epsilon=1, **options)
    start = starter(engine, {}, [locate(source), locate(folder / "people.csv")])
    done = publish(
        request, "d", folder / name, ledger=Ledger.open(folder / "ledger.sqlite", create=True),
        draws=SilentDraws(), tell=lambda words: print(words), start_engine=start,
    )
    known = done.id.encode()  # which is drawn anew, and stands in each footer
    return {p.name: p.read_bytes().replace(known, b"") for p in done.folder.glob("*.parquet")}

for number, options in enumerate([
    dict(max_records=500, count="users"),
    dict(bounding="hpa", max_records=500, popularity_records=500),
    dict(bounding="dpsense", max_records=2, count="users"),
]):
    here = made(folder / "r.parquet", f"here{number}", "duckdb", **options)
    there = made(folder / "r.parquet", f"there{number}", url, **options)
    assert here == there, options

from pyspark.sql.connect.session import SparkSession
from pyspark import SparkContext
session = SparkSession(connection=url)
frame = session.createDataFrame(
    [(str(n % 5), n % 7) for n in range(99)], "user STRING, item BIGINT"
).repartition(3)
assert len(made(frame, "frame", None, max_records=500)) == 2
try:
    made(frame.selectExpr("user", "cast(rand() * 9 AS bigint) AS item"), "other", None)
except CrowdtallyError as error:
    assert "may differ each time" in str(error)
else:
    raise AssertionError("a random frame was taken")
# An hour that clocks show twice: by their local times these users would be fewer.
times = session.range(14).selectExpr(
    "timestamp_seconds(1729987200 + 600 * id) AS at", "'x' AS item"
)
records = ct.read(times, user="at", item="item", timezone="Europe/Vienna")
done = publish(
    make_request(records, ct.Domain(["x"]), epsilon=1, max_records=1), "t", folder / "times",
    ledger=Ledger.open(folder / "ledger.sqlite", create=True), draws=SilentDraws(), tell=print,
    start_engine=starter(None, {}, [locate(times)]),
)
assert parquet.read_table(done.folder / "items.parquet")["count"].to_pylist() == [14]
assert session.conf.get("spark.sql.session.timeZone") is not None
session.stop()
assert SparkContext._active_spark_context is None, "a driver was started"
assert SparkContext._gateway is None, "Java was started"
print("done")
'''


def test_releases_through_a_server(connect_url: str, tmp_path: Path) -> None:
    """In a process of its own, so that no driver of another test can help."""
    users = [str(number % 40) for number in range(600)]
    items = [number * number % 20 for number in range(600)]
    table = pa.table({"user": users, "item": items})
    parquet.write_table(table, tmp_path / "r.parquet")
    lines = [f"{number},{'xy'[number % 2]}" for number in range(38)]
    (tmp_path / "people.csv").write_text("user,g\n" + "\n".join(lines) + "\n")
    tests = Path(__file__).parents[2]
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, connect_url, tmp_path],
        capture_output=True, text=True, env={"PYTHONPATH": str(tests), "PATH": ""}, timeout=200,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert ended.stdout.endswith("done\n")
