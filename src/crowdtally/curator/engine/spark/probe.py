"""Whether a Spark can be had and works: found out in bounded time, before anything is charged."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from crowdtally.curator.engine.spark.errors import translation, without_warnings
from crowdtally.errors import CrowdtallyError

REQUIRED = {
    "spark.sql.ansi.enabled": "false",  # a value that cannot be computed is null, not an error
    "spark.sql.session.timeZone": "UTC",  # a weekday must not depend on a machine's zone
    "spark.sql.timestampType": "TIMESTAMP_NTZ",  # a time without a zone stays without
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.csv.parser.columnPruning.enabled": "false",  # else ragged lines pass unseen
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    # Values in the names of folders are text: a type guessed from all of them is not one row's.
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    "spark.sql.storeAssignmentPolicy": "ANSI",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
}
"""Settings of the session that the counts rest on; asked of every session, and checked."""
CONNECT_SECONDS = 5
"""How long anything may take to accept a connection, or to take leave of."""
PROBE_SECONDS = 300
"""How long a cluster may take to find an executor for us."""
JAVA = "sudo apt-get install openjdk-17-jre-headless (or set JAVA_HOME)"
"""What to type where Java is missing."""


@dataclass(frozen=True)
class Joined:
    """A session of our own on some Spark, and how to leave it."""

    session: Any
    """The session: temporary views and settings in it are nobody else's."""
    is_local: bool
    """Whether every executor reads this machine's files."""
    leave: Callable[[], None]
    """Ends what we started, and only that."""


def require_pyspark() -> None:
    """Say what to install where there is no Spark."""
    try:
        with without_warnings():
            import pyspark.sql  # noqa: F401
    except ImportError:
        raise CrowdtallyError(
            "Spark is not installed here: pip install 'crowdtally[spark]'."
        ) from None


def find_java() -> None:
    """Java 17 or newer with the module that Spark 4 loads."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not Path(java).exists():
        raise CrowdtallyError(f"Spark needs Java 17 or newer, and there is none: {JAVA}.")
    told = subprocess.run(
        [java, "--add-modules=jdk.incubator.vector", "-version"], capture_output=True, text=True
    )
    version = re.search(r'version "(\d+)', told.stderr + told.stdout)
    if told.returncode != 0 or version is None or int(version[1]) < 17:
        found = f"Java {version[1]}" if version else "this Java"
        raise CrowdtallyError(
            f"Spark needs Java 17 or newer with all its modules; {found} is not: {JAVA}."
        )


def is_connect(session: Any) -> bool:
    """Whether a session is a Connect client's, without a driver in this process."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def reach(master: str) -> None:
    """Whether anything listens at an address; Spark itself would wait for minutes."""
    if not master.startswith(("spark://", "sc://")):
        return
    default = 15002 if master.startswith("sc://") else 7077
    hosts = master.partition("://")[2].partition("/")[0].split(",")
    for host in hosts:
        try:
            parts = urlsplit(f"//{host}")
            address = (parts.hostname or "", parts.port or default)
            socket.create_connection(address, CONNECT_SECONDS).close()
            return
        except (OSError, ValueError):
            continue
    what = "Connect server" if master.startswith("sc://") else "master"
    raise CrowdtallyError(
        f"no Spark {what} listens at {without_token(master)}: check the address and that it "
        "runs. Nothing was charged."
    )


def checked(joined: Joined) -> Joined:
    """The session, if it is of our version, takes our settings and has an executor that works."""

    def probe() -> None:
        check_version(joined.session)
        for name, value in REQUIRED.items():
            joined.session.conf.set(name, value)
            if joined.session.conf.get(name) != value:
                raise CrowdtallyError(f"Spark does not take the setting {name}={value}.")
        joined.session.range(0, 1, 1, 1).selectExpr("sum(id)").toArrow()

    try:
        _in_time(probe, PROBE_SECONDS)
    except BaseException:
        with suppress(Exception):
            # Whoever does not answer cannot be told that we leave, either.
            close = joined.session.client.close if is_connect(joined.session) else joined.leave
            _in_time(close, CONNECT_SECONDS)
        raise
    return joined


def check_version(session: Any) -> None:
    """Refuse a Spark that the pyspark installed here was not made for."""
    import pyspark

    theirs, ours = str(session.version), str(pyspark.__version__)
    # Connect is made to bridge minor versions; within one driver both halves must be the same.
    parts = 1 if is_connect(session) else 2
    if theirs.split(".")[:parts] != ours.split(".")[:parts]:
        version = ".".join(theirs.split(".")[:2])
        raise CrowdtallyError(
            f"Spark there is {theirs}, pyspark here is {ours}: pip install 'pyspark=={version}.*'. "
            "Nothing was charged."
        )


def _in_time(work: Callable[[], None], seconds: float) -> None:
    """Do it in a thread, which is left behind where Spark does not answer in time."""
    failures: list[Exception] = []

    def run() -> None:
        try:
            with without_warnings():
                work()
        except Exception as error:  # handed over to the thread that waits
            failures.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise CrowdtallyError(
            f"Spark gave no answer within {seconds:.0f} seconds. Has the cluster a worker with "
            "free cores, and memory for spark.executor.memory? Nothing was charged."
        )
    for error in failures:
        if isinstance(error, CrowdtallyError):
            raise error
        words = translation(error, "trying Spark out")
        raise CrowdtallyError(f"{words} Nothing was charged.") from error


def without_token(url: str) -> str:
    """A Connect URL without its parameters, of which one may be a secret."""
    return url.partition("/;")[0]
