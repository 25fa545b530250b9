"""A Spark session to work in: started, joined or connected to, checked, and left as it was found.

Whatever is wrong with a cluster shows here, in bounded time and in one line, before anything is
charged.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from crowdtally.errors import CrowdtallyError, UsageError
from crowdtally.records.spark.sql import translation, without_warnings

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
"""Settings that the counts rest on; set in every session, and checked."""
CONNECT_SECONDS = 5  # how long a connection may take to be accepted, or closed
PROBE_SECONDS = 300  # how long a cluster may take to find an executor for us
JAVA = "sudo apt-get install openjdk-17-jre-headless (or set JAVA_HOME)"


@dataclass(frozen=True)
class Joined:
    """A session of our own on some Spark, and how to leave it."""

    session: Any
    """Its temporary views and settings are ours alone."""
    is_local: bool
    """Whether every executor reads this machine's files."""
    leave: Callable[[], None]
    """Ends what we started, and only that."""


def require_pyspark() -> None:
    try:
        with without_warnings():
            import pyspark.sql  # noqa: F401
    except ImportError:
        raise CrowdtallyError(
            "Spark is not installed here: pip install 'crowdtally[spark]'."
        ) from None


def find_java() -> None:
    """Require Java 17 or newer with the module that Spark 4 loads."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not Path(java).exists():
        raise CrowdtallyError(f"Spark needs Java 17 or newer, and there is none: {JAVA}.")
    command = [java, "--add-modules=jdk.incubator.vector", "-version"]
    run = subprocess.run(command, capture_output=True, text=True)
    version = re.search(r'version "(\d+)', run.stderr + run.stdout)
    if run.returncode != 0 or version is None or int(version[1]) < 17:
        version_words = f"Java {version[1]}" if version else "this Java"
        raise CrowdtallyError(
            f"Spark needs Java 17 or newer with all its modules; {version_words} is not: {JAVA}."
        )


def is_connect(session: Any) -> bool:
    """Whether a session is a Connect client's, so that no driver is in this process."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def reach(master: str) -> None:
    """Refuse an address where nothing listens; Spark itself would wait for minutes."""
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
    """The session, if its version fits, it takes our settings and has an executor that works."""

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
            # A cluster that does not answer need not hear that we leave.
            close = joined.session.client.close if is_connect(joined.session) else joined.leave
            _in_time(close, CONNECT_SECONDS)
        raise
    return joined


def check_version(session: Any) -> None:
    """Refuse a Spark of another version than the pyspark installed here."""
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
    """Run it in a thread, which is left behind if Spark does not answer in time."""
    failures: list[Exception] = []

    def run() -> None:
        try:
            with without_warnings():
                work()
        except Exception as error:  # raised below, in the thread that waits
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


_OF_OURS = {
    "spark.app.name": "crowdtally",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",  # its messages quote values of records
    "spark.driver.maxResultSize": "0",  # non-zero cells stream through: docs/scale.md
}
"""Settings of a session that we start; the curator can override each."""
_MACHINE_LOCAL = re.compile(r"local(-cluster)?(\[.*\])?")


def check_settings(settings: Mapping[str, str]) -> None:
    """Refuse names that are not Spark's, and other values of settings that the counts rest on."""
    for name, value in settings.items():
        if not name.startswith("spark."):
            raise UsageError(
                f"an engine setting is one of Spark's, such as spark.executor.memory=4g: "
                f"received {name!r}."
            )
        if name == "spark.sql.session.timeZone":
            raise UsageError("the zone of days and hours is part of what is asked: --timezone Z.")
        if REQUIRED.get(name, value) != value:
            raise UsageError(
                f"{name} must be {REQUIRED[name]}, because the counts rest on it: leave it out."
            )


def join(master: str | None, settings: Mapping[str, str]) -> Joined:
    """A session on the master or Connect server; None is the running one, or else this machine."""
    require_pyspark()
    if master is not None and master.startswith("sc://"):
        return _connect(master, settings)
    return _classic(master, settings)


def join_frame(frame: Any) -> Joined:
    """A session beside the one that a DataFrame belongs to."""
    require_pyspark()
    theirs = frame.sparkSession
    session = theirs.newSession()
    if is_connect(theirs):
        return checked(Joined(session, False, lambda: _release(session)))
    master = str(theirs.sparkContext.master)
    return checked(Joined(session, bool(_MACHINE_LOCAL.fullmatch(master)), _nothing))


def _classic(master: str | None, settings: Mapping[str, str]) -> Joined:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    running = SparkContext._active_spark_context
    if running is not None:
        session = SparkSession.getActiveSession() or SparkSession(running)
        return _beside(session, master, settings)
    find_java()
    master = master or settings.get("spark.master") or "local[*]"
    is_local = bool(_MACHINE_LOCAL.fullmatch(master))
    reach(master)
    # Spark makes a folder for tables, by default in the working directory.
    folder = tempfile.TemporaryDirectory(prefix="crowdtally-", ignore_cleanup_errors=True)
    ours = {**_OF_OURS, "spark.sql.warehouse.dir": f"{folder.name}/tables"}
    started = _start(master, {**ours, **settings}, is_local)
    return checked(Joined(started.newSession(), is_local, _stopping(started, folder)))


def _beside(running: Any, master: str | None, settings: Mapping[str, str]) -> Joined:
    theirs = str(running.sparkContext.master)
    if master not in (None, theirs):
        raise UsageError(
            f"a Spark session on {theirs!r} runs in this process already: stop it, or leave the "
            "master out to use it."
        )
    fixed = [name for name in settings if not running.conf.isModifiable(name)]
    if fixed:
        raise UsageError(f"{fixed[0]} cannot be changed in a Spark session that runs already.")
    session = running.newSession()
    for name, value in settings.items():
        session.conf.set(name, value)
    return checked(Joined(session, bool(_MACHINE_LOCAL.fullmatch(theirs)), _nothing))


def _start(master: str, settings: Mapping[str, str], is_local: bool) -> Any:
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    launch: Any = launch_gateway
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items())).setMaster(master)
    with tempfile.TemporaryFile() as log, _local_address(is_local), without_warnings():
        try:
            # Java's own words go to a file that vanishes: they may quote values.
            gateway = SparkContext._gateway or launch(conf, {"stderr": log, "stdout": log})
            return SparkSession(SparkContext(conf=conf, gateway=gateway))
        except Exception as error:  # Java's errors, in many wrappings
            log.seek(max(0, log.seek(0, os.SEEK_END) - 20_000))
            words = log.read().decode(errors="replace")
            raise _no_start(error, master, words) from error


def _no_start(error: Exception, master: str, log: str) -> CrowdtallyError:
    import pyspark

    if re.search(r"UnsupportedClassVersion|jdk.incubator.vector not found", log):
        return CrowdtallyError(f"this Java cannot run Spark {pyspark.__version__}: {JAVA}.")
    if "not callable" in str(error) or "does not exist in the JVM" in str(error):
        return CrowdtallyError(
            f"the Spark in SPARK_HOME is not of pyspark's version {pyspark.__version__}: unset "
            "SPARK_HOME, or install the pyspark of that version."
        )
    if re.search(r"masters are unresponsive|stopped SparkContext|clusterScheduler", str(error)):
        return CrowdtallyError(
            f"no Spark {pyspark.__version__} master answers at {master}: check the address, that "
            "it runs, and that it is of the same version as pyspark here. Nothing was charged."
        )
    words = translation(error, f"starting Spark on {master}")
    return CrowdtallyError(f"{words} Nothing was charged.")


@contextmanager
def _local_address(is_local: bool) -> Iterator[None]:
    """On one machine Spark uses the loopback address, whatever the machine's name resolves to."""
    before = os.environ.get("SPARK_LOCAL_IP")
    if is_local and before is None:
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("SPARK_LOCAL_IP", None)


def _stopping(started: Any, folder: Any) -> Callable[[], None]:
    work = Path(os.environ.get("SPARK_HOME") or _spark_home()) / "work"
    left_behind = work / str(started.sparkContext.applicationId)  # by local-cluster's workers

    def stop() -> None:
        started.stop()
        folder.cleanup()
        shutil.rmtree(left_behind, ignore_errors=True)

    return stop


def _spark_home() -> str:
    import pyspark

    return str(Path(pyspark.__file__).parent)


def _connect(url: str, settings: Mapping[str, str]) -> Joined:
    try:
        with without_warnings():
            from pyspark.sql.connect.session import SparkSession
    except ImportError as error:  # pyspark says so itself where a package is missing
        raise CrowdtallyError(
            "Spark Connect needs packages that are not installed: pip install 'crowdtally[spark]'."
        ) from error
    reach(url)
    session = SparkSession(connection=url)
    joined = checked(Joined(session, False, lambda: _release(session)))
    for name, value in settings.items():
        if not session.conf.isModifiable(name):
            joined.leave()
            raise UsageError(
                f"{name} cannot be set through Spark Connect: set it where the server is started."
            )
        session.conf.set(name, value)
    return joined


def _release(session: Any) -> None:
    """End our session alone: ``stop`` would also end a server that pyspark itself started."""
    with suppress(Exception):
        session.client.release_session()
    session.client.close()


def _nothing() -> None:
    """Leave a session that others use unchanged."""
