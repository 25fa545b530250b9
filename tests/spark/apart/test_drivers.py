"""Drivers that die or get nowhere: no charge is forgotten, none is made for nothing."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as parquet

from crowdtally.ledger import Ledger
from kit.cluster import LOCAL_CLUSTER, QUICK, need_spark, wait_for
from kit.command import INSTALLED

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
