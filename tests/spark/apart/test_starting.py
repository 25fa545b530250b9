"""A Spark that cannot be had: one line that says what to do, exit 1, nothing charged."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from crowdtally.errors import CrowdtallyError
from crowdtally.ledger import Ledger
from crowdtally.records.spark import session as spark_probe
from crowdtally.records.spark import session as spark_session
from kit.command import Ended, crowdtally, installed


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
