"""A limit on the process's memory is heeded; one that is too small is told before the charge."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from crowdtally.core import memory
from crowdtally.errors import CrowdtallyError
from crowdtally.ledger import Ledger
from crowdtally.records.duckdb import DuckDBEngine

resource = pytest.importorskip("resource")
MIB = 2**20
RUN = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv.pop(1)),) * 2)
from crowdtally.cli import main
main()
"""


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A million visits: their users' samples need more than the least memory at once."""
    folder = tmp_path_factory.mktemp("records")
    duckdb.sql(
        "COPY (SELECT range % 100000 AS user, 'p' || (hash(range) % 50) AS place "
        f"FROM range(1000000)) TO '{folder / 'visits.parquet'}' (FORMAT parquet)"
    )
    (folder / "places.csv").write_text("place\n" + "".join(f"p{n}\n" for n in range(50)))
    return folder


def released(records: Path, folder: Path, limit: int) -> subprocess.CompletedProcess[str]:
    words = [
        "release", records / "visits.parquet", "--user", "user", "--item", "place", "--items",
        records / "places.csv", "--epsilon", "1", "--method", "sra:max-records=5",
        "--ledger", folder / "ledger.sqlite", "--new-dataset", "-o", folder / "out",
    ]  # fmt: skip
    command = [sys.executable, "-c", RUN, str(limit), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_least_memory_is_enough(records: Path, tmp_path: Path) -> None:
    """The engine is told what is left: else it takes the machine's, and libc aborts."""
    ended = released(records, tmp_path, memory.LEAST)
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "out" / "release.json").is_file()


@pytest.mark.parametrize("share", [2, 4])
def test_less_is_refused_before_the_charge(records: Path, tmp_path: Path, share: int) -> None:
    limit = memory.LEAST // share
    ended = released(records, tmp_path, limit)
    assert ended.returncode == 1
    assert ended.stderr == (
        f"crowdtally: the memory of this process is limited to {limit // MIB:,} MiB (ulimit -v), "
        f"and 1,792 MiB are needed. Type `ulimit -v {memory.LEAST // 1024}` or more, or `ulimit -v "
        "unlimited`, and run again. Nothing was charged.\n"
    )
    assert not (tmp_path / "out").exists()
    assert not Ledger.open(tmp_path / "ledger.sqlite", create=True).charges()


def test_what_only_reads_is_not_held_up(tmp_path: Path) -> None:
    command = [sys.executable, "-c", RUN, str(memory.LEAST // 4), "--version"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("limit", [memory.LEAST, 3 * 2**30, 64 * 2**30])
def test_the_engine_gets_a_share(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "limit", lambda: limit)
    monkeypatch.setattr(memory, "_taken", lambda: 300 * MIB)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    share = memory.share()
    assert share is not None
    assert 1 <= share.threads <= 8
    assert share.memory >= 128 * MIB
    assert 300 * MIB + share.threads * 256 * MIB + share.memory + 768 * MIB < limit
    with DuckDBEngine() as engine:
        setting = engine._connection.execute("SELECT current_setting('threads')")
        assert setting.fetchall() == [(share.threads,)]


def test_without_a_limit_the_engine_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "limit", lambda: None)
    assert memory.share() is None
    memory.require()


def test_the_engine_does_not_start_within_too_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "limit", lambda: memory.LEAST - 1)
    with pytest.raises(CrowdtallyError, match="1,792 MiB are needed"):
        DuckDBEngine()
