"""A Spark of two worker processes on this machine, a Connect server, and what tests do to them."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from crowdtally.errors import CrowdtallyError
from crowdtally.records.spark import session as spark_probe
from crowdtally.records.spark import session as spark_session
from crowdtally.records.spark.engine import SparkEngine

LOCAL_CLUSTER = "local-cluster[2,1,1024]"
# One compiler, whose code all fits: in the 48 MB that it gets by itself it is thrown away and made
# again. Classes of Spark's own jars need not be verified. Room for what a query leaves behind.
_LIGHT_JAVA = (
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote -XX:+UseSerialGC -Xmn256m"
)
QUICK = {
    "spark.driver.extraJavaOptions": _LIGHT_JAVA,
    "spark.executor.extraJavaOptions": _LIGHT_JAVA,
    "spark.sql.shuffle.partitions": "2",
}
"""Settings under which tiny jobs cost little."""


def need_spark() -> None:
    """Skip where Java or pyspark is missing; fail on CI, where both must be there."""
    try:
        spark_probe.require_pyspark()
        spark_probe.find_java()
    except CrowdtallyError as error:
        if os.environ.get("CI"):
            pytest.fail(f"Spark's tests must run on CI: {error}")
        pytest.skip(str(error))


def engine_beside(session: Any) -> SparkEngine:
    """An engine in a session of its own on a running Spark."""
    return SparkEngine(spark_session._beside(session, None, {}))


def executors() -> list[psutil.Process]:
    """The processes of the executors that this process's Spark has."""
    found = psutil.Process().children(recursive=True)
    return [child for child in found if _is_executor(child)]


def _is_executor(process: psutil.Process) -> bool:
    try:
        words = process.cmdline()
    except psutil.Error:
        return False
    return any("CoarseGrainedExecutorBackend" in word for word in words)


def wait_for(condition: Any, seconds: float = 300) -> None:
    """Until the condition holds; fails where it does not in time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"nothing within {seconds} seconds"
        time.sleep(0.02)


@contextmanager
def connect_server(folder: Path) -> Iterator[str]:
    """A Connect server in a process of its own; its URL."""
    need_spark()
    port = _free_port()
    home = spark_session._spark_home()
    settings = {**QUICK, "spark.connect.grpc.binding.port": str(port), "spark.ui.enabled": "false"}
    command = [
        f"{home}/bin/spark-submit", "--master", "local[2]",
        "--class", "org.apache.spark.sql.connect.service.SparkConnectServer",
        *(word for name, value in settings.items() for word in ("--conf", f"{name}={value}")),
        "spark-internal",
    ]  # fmt: skip
    environment = {**os.environ, "SPARK_HOME": home, "SPARK_LOCAL_IP": "127.0.0.1"}
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(
            command, stdout=log, stderr=log, env=environment, cwd=folder, stdin=subprocess.DEVNULL
        )
    try:
        wait_for(lambda: server.poll() is not None or _listens(port))
        assert server.poll() is None, "the Connect server did not start"
        yield f"sc://127.0.0.1:{port}"
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0
