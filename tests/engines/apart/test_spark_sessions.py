"""Sparks of their own: Connect servers, drivers that die, and Sparks that cannot be had."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from crowdtally.errors import CrowdtallyError
from crowdtally.ledger import Ledger
from crowdtally.records.spark import session as spark_probe
from crowdtally.records.spark import session as spark_session
from kit.command import INSTALLED, Ended, crowdtally, installed
from kit.spark import LOCAL_CLUSTER, QUICK, need_spark, wait_for

# ---- Spark Connect: a client without a driver, on a server in another process --------------------


SCRIPT = '''
import faulthandler
import sys
from pathlib import Path
faulthandler.dump_traceback_later(900, exit=True)  # however busy the machine is
import pyarrow.parquet as parquet
import crowdtally as ct
from crowdtally.ledger import Ledger
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.locate import locate
from crowdtally.records.start import starter
from kit.publishing import publish
from crowdtally.curator.request.request import make_request
from crowdtally.errors import CrowdtallyError
from kit.draws import SilentDraws

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

rules = {
    "sra": dict(method=ct.SRA(500), count="users"),
    "hpa": dict(method=ct.HPA(500, popularity_records=500)),
    "dpsense": dict(method=ct.DPSense(2), count="users"),
}
for rule in sys.argv[3:]:
    here = made(folder / "r.parquet", f"here-{rule}", "duckdb", **rules[rule])
    there = made(folder / "r.parquet", f"there-{rule}", url, **rules[rule])
    assert here == there, rule

from pyspark.sql.connect.session import SparkSession
from pyspark import SparkContext
session = SparkSession(connection=url)
frame = session.createDataFrame(
    [(str(n % 5), n % 7) for n in range(99)], "user STRING, item BIGINT"
).repartition(3)
assert len(made(frame, "frame", None, method=ct.SRA(500))) == 2
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
    make_request(records, ct.Domain(["x"]), epsilon=1, method=ct.SRA(1)), "t", folder / "times",
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


@pytest.mark.parametrize(
    "rules", [("sra",), pytest.param(("hpa", "dpsense"), marks=pytest.mark.long)], ids=" ".join
)
def test_releases_through_a_server(
    rules: tuple[str, ...], connect_url: str, tmp_path: Path
) -> None:
    """In a process of its own, so that no driver of another test can help."""
    users = [str(number % 40) for number in range(600)]
    items = [number * number % 20 for number in range(600)]
    table = pa.table({"user": users, "item": items})
    parquet.write_table(table, tmp_path / "r.parquet")
    lines = [f"{number},{'xy'[number % 2]}" for number in range(38)]
    (tmp_path / "people.csv").write_text("user,g\n" + "\n".join(lines) + "\n")
    tests = Path(__file__).parents[2]
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, connect_url, tmp_path, *rules],
        capture_output=True, text=True, env={"PYTHONPATH": str(tests), "PATH": ""}, timeout=1000,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert ended.stdout.endswith("done\n")


# ---- Drivers that die or get nowhere: no charge is forgotten, none is made for nothing -----------


LIGHT = [word for pair in QUICK.items() for word in ("--engine-setting", "=".join(pair))]


def test_the_driver_dies(tmp_path: Path) -> None:
    need_spark()
    rng = np.random.default_rng(2)
    table = pa.table({"user": rng.integers(0, 3000, 60_000), "item": rng.integers(0, 50, 60_000)})
    parquet.write_table(table, tmp_path / "r.parquet")
    parquet.write_table(pa.table({"item": range(50)}), tmp_path / "items.parquet")
    ledger = tmp_path / "ledger.sqlite"
    command = [
        INSTALLED, "release", tmp_path / "r.parquet", "--user", "user", "--item", "item",
        "--items", tmp_path / "items.parquet", "--epsilon", "3/7", "-o", tmp_path / "made",
        "--ledger", ledger, "--dataset", "d", "--new-dataset", "--engine", "local[1]", *LIGHT,
    ]  # fmt: skip
    with subprocess.Popen([str(word) for word in command], stderr=subprocess.PIPE) as driver:
        books = Ledger.open(ledger, create=True)
        wait_for(lambda: books.charges() or driver.poll() is not None)
        children = psutil.Process(driver.pid).children(recursive=True)
        os.kill(driver.pid, signal.SIGKILL)
        assert driver.wait() == -signal.SIGKILL, "the release was over before it was killed"
    assert not (tmp_path / "made").exists()
    (charge,) = books.charges()
    assert str(books.balance("d").spent.epsilon) == "3/7", charge
    psutil.wait_procs(children, timeout=60)
    assert not [child for child in children if child.is_running()], "Java outlived its driver"


def test_workers_too_small_to_start_an_executor(tmp_path: Path) -> None:
    need_spark()
    parquet.write_table(pa.table({"user": [1], "item": [1]}), tmp_path / "r.parquet")
    parquet.write_table(pa.table({"item": [1]}), tmp_path / "items.parquet")
    command = [
        INSTALLED, "release", tmp_path / "r.parquet", "--user", "user", "--item", "item",
        "--items", tmp_path / "items.parquet", "--epsilon", "1", "-o", tmp_path / "made",
        "--ledger", tmp_path / "ledger.sqlite", "--new-dataset",
        "--engine", LOCAL_CLUSTER.replace("1024", "100"), *LIGHT,
    ]  # fmt: skip
    ended = subprocess.run([str(w) for w in command], capture_output=True, text=True, timeout=300)
    assert ended.returncode == 1
    assert "too little memory" in ended.stderr
    assert not Ledger.open(tmp_path / "ledger.sqlite", create=True).charges()


# ---- A Spark that cannot be had: one line that says what to do, exit 1, nothing charged ----------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    parquet.write_table(pa.table({"user": [1, 2], "item": ["a", "b"]}), tmp_path / "r.parquet")
    parquet.write_table(pa.table({"item": ["a", "b"]}), tmp_path / "items.parquet")
    return tmp_path


def released(
    folder: Path,
    engine: str,
    *more: str,
    env: dict[str, str] | None = None,
    run: Callable[..., Ended] = crowdtally,
) -> Ended:
    """Try a release; it must fail without a charge."""
    started = time.monotonic()
    with mock.patch.dict(os.environ, env or {}):
        ended = run(
            "release", folder / "r.parquet", "--user", "user", "--item", "item", "--items",
            folder / "items.parquet", "--epsilon", "1", "-o", folder / "made", "--ledger",
            folder / "ledger.sqlite", "--new-dataset", "--engine", engine, *more,
        )  # fmt: skip
    assert time.monotonic() - started < 300
    assert not (folder / "made").exists()
    assert not Ledger.open(folder / "ledger.sqlite", create=True).charges(), "something was charged"
    return ended


def fake_java(folder: Path, words: str, code: int = 0) -> dict[str, str]:
    (folder / "bin").mkdir()
    java = folder / "bin" / "java"
    java.write_text(f"#!/bin/sh\necho '{words}' >&2\nexit {code}\n")
    java.chmod(0o755)
    return {"JAVA_HOME": str(folder)}


def one_line(ended: Ended, *words: str) -> None:
    assert ended.code == 1, str(ended)
    assert ended.out == ""
    assert len(ended.err.strip().splitlines()) == 1, str(ended)
    for word in words:
        assert word in ended.err


def test_without_java(folder: Path) -> None:
    nowhere = {"JAVA_HOME": str(folder / "nowhere")}
    ended = released(folder, "spark", env=nowhere, run=installed)  # all that a process says
    one_line(ended, "Java 17", "openjdk-17-jre-headless")


@pytest.mark.parametrize(
    ("words", "code"),
    [('openjdk version "11.0.2"', 0), ("Module jdk.incubator.vector not found", 1)],
)
def test_with_a_java_that_cannot_run_spark(folder: Path, words: str, code: int) -> None:
    ended = released(folder, "local[1]", env=fake_java(folder, words, code))
    one_line(ended, "Java 17", "openjdk-17-jre-headless")


@pytest.mark.parametrize("address", ["spark://127.0.0.1:1", "sc://127.0.0.1:1", "sc://[nonsense"])
def test_where_nothing_listens(folder: Path, address: str) -> None:
    """In a process of its own: Java and gRPC write past Python, and would be heard."""
    ended = released(folder, address, run=installed)
    one_line(ended, "listens at", "Nothing was charged")


def test_with_an_engine_that_does_not_exist(folder: Path) -> None:
    ended = released(folder, "sparc")
    assert ended.code == 2
    assert "there is no engine 'sparc'" in ended.err


def test_with_a_setting_that_is_none(folder: Path) -> None:
    ended = released(folder, "spark", "--engine-setting", "spark.executor.memory")
    assert ended.code == 2
    assert "KEY=VALUE" in ended.err


def test_without_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyspark"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(CrowdtallyError, match=r"pip install 'crowdtally\[spark\]'"):
        spark_session.join("local[1]", {})


@pytest.mark.parametrize("theirs", ["3.5.1", "5.0.0"])
def test_another_version(theirs: str) -> None:
    session = SimpleNamespace(version=theirs)
    with pytest.raises(CrowdtallyError, match=f"Spark there is {theirs}, pyspark here is"):
        spark_probe.check_version(session)


def test_a_server_that_never_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("grpc", reason="Spark Connect needs grpcio")
    monkeypatch.setattr(spark_probe, "PROBE_SECONDS", 2)
    monkeypatch.setattr(spark_probe, "CONNECT_SECONDS", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"sc://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(CrowdtallyError, match="no answer within 2 seconds"):
            spark_session.join(url, {})
