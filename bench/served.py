"""A PostgreSQL server for the benchmarks: on a free port, in a folder of its own."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NOBODY = 65534
PATIENCE = 30


def binaries(how: dict[str, Any]) -> Path | None:
    """Where initdb and postgres are: in pgserver's wheel, else where the system has them.

    Those that can be run as ``how`` says: another account may not reach this one's folders.
    """
    wheel = importlib.util.find_spec("pgserver")  # found, not imported: its import has side effects
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if wheel is not None and wheel.origin is not None:
        places.insert(0, Path(wheel.origin).parent / "pginstall" / "bin")
    return next((place for place in places if _runs(place / "initdb", how)), None)


def _runs(program: Path, how: dict[str, Any]) -> bool:
    try:
        return subprocess.run([str(program), "--version"], check=False, **how).returncode == 0
    except OSError:
        return False


@contextmanager
def server() -> Iterator[str]:
    """The URL of a database that lives as long as the context."""
    # PostgreSQL refuses to run as root.
    nobody: dict[str, Any] = (
        {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
    )
    home = Path(tempfile.mkdtemp(prefix="crowdtally-bench-"))
    if nobody:
        os.chown(home, NOBODY, NOBODY)
    quiet: dict[str, Any] = {"cwd": "/", "env": {"LC_ALL": "C", "PATH": os.environ.get("PATH", "")}}
    quiet |= {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL} | nobody
    found = binaries(quiet)
    if found is None:
        shutil.rmtree(home, ignore_errors=True)
        raise SystemExit("no PostgreSQL is found that can be run: pip install pgserver.")
    data = str(home / "data")
    prepare = [str(found / "initdb"), "-D", data, "-U", "bench", "-A", "trust", "-E", "UTF8", "-N"]
    subprocess.run(prepare, check=True, **quiet)
    port = _free_port()
    started = subprocess.Popen(
        [str(found / "postgres"), "-D", data, "-p", str(port), "-k", "", "-h", "127.0.0.1"], **quiet
    )
    url = f"postgresql://bench@127.0.0.1:{port}/postgres"
    try:
        _wait(url, started)
        yield url
    finally:
        started.send_signal(signal.SIGQUIT)
        started.wait(PATIENCE)
        shutil.rmtree(home, ignore_errors=True)


def _wait(url: str, started: subprocess.Popen[bytes]) -> None:
    import psycopg

    end = time.monotonic() + PATIENCE
    while True:
        try:
            psycopg.connect(url, connect_timeout=5).close()
            return
        except psycopg.OperationalError:
            if started.poll() is not None or time.monotonic() > end:
                raise
            time.sleep(0.05)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
