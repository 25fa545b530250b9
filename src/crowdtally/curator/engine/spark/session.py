"""A Spark session to work in: started, joined or connected to, checked, and left as it was found.

Everything that can be wrong with a cluster shows here, in bounded time and in one line, before
anything is charged.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from crowdtally.curator.engine.spark.errors import translation, without_warnings
from crowdtally.curator.engine.spark.probe import (
    JAVA,
    REQUIRED,
    Joined,
    checked,
    find_java,
    is_connect,
    reach,
    require_pyspark,
)
from crowdtally.errors import CrowdtallyError, UsageError

_OF_OURS = {
    "spark.app.name": "crowdtally",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",  # its messages quote values of records
    "spark.driver.maxResultSize": "0",  # non-zero cells stream through: docs/scale.md
}
"""Settings of a session that we start; each can be given otherwise."""
_MACHINE_LOCAL = re.compile(r"local(-cluster)?(\[.*\])?")


def check_settings(settings: Mapping[str, str]) -> None:
    """Refuse settings that the counts rest on, and what is not a setting of Spark's."""
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


# ---- a driver in this process ------------------------------------------------------------------


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
    # Spark makes a folder for tables, by default in whatever folder we are in.
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
            raise _no_start(error, master, _tail(log)) from error


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
        return _no_master(master)
    words = translation(error, f"starting Spark on {master}")
    return CrowdtallyError(f"{words} Nothing was charged.")


def _no_master(master: str) -> CrowdtallyError:
    import pyspark

    return CrowdtallyError(
        f"no Spark {pyspark.__version__} master answers at {master}: check the address, that it "
        "runs, and that it is of the same version as pyspark here. Nothing was charged."
    )


def _tail(log: Any) -> str:
    log.seek(max(0, log.seek(0, os.SEEK_END) - 20_000))
    return bytes(log.read()).decode(errors="replace")


@contextmanager
def _local_address(is_local: bool) -> Iterator[None]:
    """On one machine Spark talks to itself, whatever the machine's name resolves to."""
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


# ---- a Connect server --------------------------------------------------------------------------


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
    """End our session alone: ``stop`` would, of a server that pyspark started itself, end that."""
    with suppress(Exception):
        session.client.release_session()
    session.client.close()


def _nothing() -> None:
    """Leave a session that others use as it is."""
