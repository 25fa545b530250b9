"""What the ledger's tests share: charges, folders, and a PostgreSQL server of their own."""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib.util
import os
import secrets
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import psycopg
import pytest

from crowdtally.core.privacy import Delta, Epsilon, PrivacyUnit
from crowdtally.ledger import Charge, Ledger, Part
from kit.repeatable import memory
from kit.warm import start

USER = PrivacyUnit("user", "user_id")
ROW = PrivacyUnit("row")
SHA = "5a" * 32
"""Any SHA-256."""
NOBODY = 65534
HERE = Path(__file__).parent


def charge(epsilon: object, delta: object = 0, release: str = "release-1") -> Charge:
    """The charge of a release with one table."""
    total, rest = Epsilon.of(epsilon), Delta.of(delta)
    part = Part("items", total, "discrete-laplace", {"l1_bound": 4}, rest)
    return Charge(release, total, (part,), rest, {"crowdtally": "0.1.0"})


def publish(ledger: Ledger, reservation_id: str, sha256: str = SHA) -> None:
    """What a run does with its charge, to the end."""
    ledger.start_drawing(reservation_id)
    ledger.mark_published(reservation_id, sha256)


def skip(reason: str) -> NoReturn:
    """Skip on a developer's machine; on CI a skipped test is a failure."""
    if os.environ.get("CI"):
        pytest.fail(f"must not be skipped on CI: {reason}")
    pytest.skip(reason)


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=memory()) as name:
        yield Path(name)


def drive(
    *arguments: object, env: dict[str, str] | None = None, prefix: tuple[str, ...] = ()
) -> str:
    """Run the driver (a clean process, free to fork and to be killed) and return what it prints."""
    command = [*prefix, sys.executable, str(HERE / "ledger_driver.py"), *map(str, arguments)]
    paths = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=900,
        env={**os.environ, "PYTHONPATH": paths, **(env or {})},
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def drive_at_once(*arguments: object) -> str:
    """The same where nothing need be preloaded and all may be read: forked, without its start."""
    script = (
        f"import runpy; runpy.run_path({str(HERE / 'ledger_driver.py')!r}, run_name='__main__')"
    )
    with (
        open(os.devnull) as nothing,
        tempfile.TemporaryFile("w+") as out,
        tempfile.TemporaryFile("w+") as err,
    ):
        fds = nothing.fileno(), out.fileno(), err.fileno()
        running = start([*map(str, arguments)], Path("/"), fds, os.environ, script=script)
        code = running.wait()
        out.seek(0)
        err.seek(0)
        said = out.read()
        assert code == 0, f"{arguments}\n{said[-3000:]}\n{err.read()[-3000:]}"
    return said


class PostgresServer:
    """A server of its own, on a free port, as an unprivileged user if we are root."""

    def __init__(self, binaries: Path, home: Path) -> None:
        self.password = secrets.token_hex(8)
        self.port = _free_port()
        self._home, self._binaries = home, binaries
        self._as = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
        self._kept: psycopg.Connection[Any] | None = None
        self._initialise()
        self._process = self._start()
        atexit.register(self.stop)

    def _initialise(self) -> None:
        data, secret = self._home / "data", self._home / "password"
        data.mkdir(mode=0o700)
        secret.write_text(self.password)
        for path in (self._home, data, secret) if self._as else ():
            os.chown(path, NOBODY, NOBODY)
        options = [
            "-U",
            "postgres",
            "-A",
            "md5",  # made for thousands of logins a second, as tests need, not against guessing
            f"--pwfile={secret}",
            "-N",
            "-E",
            "UTF8",
        ]
        self._run("initdb", "-D", str(data), *options)

    def _run(self, name: str, *arguments: str) -> None:
        environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"}
        subprocess.run(
            [str(self._binaries / name), *arguments],
            check=True, capture_output=True, cwd="/", env=environment, **self._as,
        )  # fmt: skip

    def _start(self) -> subprocess.Popen[bytes]:
        log = (self._home / "log").open("wb")
        process = subprocess.Popen(
            [
                str(self._binaries / "postgres"), "-D", str(self._home / "data"),
                "-p", str(self.port), "-k", "", "-h", "127.0.0.1", "-c", "max_connections=60",
            ],
            stdout=log, stderr=log, cwd="/", env={"LC_ALL": "C"}, **self._as,
        )  # fmt: skip
        log.close()
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            try:
                self.execute("SELECT 1")
                return process
            except Exception:
                if process.poll() is not None:
                    break
                time.sleep(0.05)
        raise RuntimeError((self._home / "log").read_text()[-2000:])

    def execute(self, *statements: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """Run statements as the superuser, each in a transaction of its own."""
        if database == "postgres":
            return _executed(self._keeper(), statements)
        with self._connect(database) as connection:
            return _executed(connection, statements)

    def _keeper(self) -> psycopg.Connection[Any]:
        """One connection for all tests: a login takes longer than what most of them ask."""
        if self._kept is None or self._kept.closed:
            self._kept = self._connect("postgres")
        return self._kept

    def _connect(self, database: str) -> psycopg.Connection[Any]:
        import psycopg

        return psycopg.connect(
            host="127.0.0.1", port=self.port, user="postgres", password=self.password,
            dbname=database, autocommit=True, connect_timeout=300, prepare_threshold=None,
        )  # fmt: skip

    def new_database(self) -> str:
        name = f"ledger_{secrets.token_hex(6)}"
        self.execute(f"CREATE DATABASE {name}")
        return name

    def new_schema(self) -> str:
        """The URL of a place of its own for one test; cheaper than a database."""
        name = f"ledger_{secrets.token_hex(6)}"
        self.execute(f"CREATE SCHEMA {name}")
        return f"{self.url('postgres')}?options=-csearch_path%3D{name}"

    def url(self, database: str, user: str = "postgres", password: str | None = None) -> str:
        return f"postgresql://{user}:{password or self.password}@127.0.0.1:{self.port}/{database}"

    def stop(self) -> None:
        if self._kept is not None:
            self._kept.close()
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGQUIT)  # at once: nothing of it is kept
            self._process.wait(20)
        shutil.rmtree(self._home, ignore_errors=True)


def _executed(
    connection: psycopg.Connection[Any], statements: Sequence[str]
) -> list[tuple[object, ...]]:
    for statement in statements:
        cursor = connection.execute(statement)
    return cursor.fetchall() if cursor.description else []


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _candidates() -> Iterator[Path]:
    wheel = importlib.util.find_spec("pgserver")  # found, not imported: its import has side effects
    if wheel is not None and wheel.origin is not None:
        yield Path(wheel.origin).parent / "pginstall" / "bin"
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if found := shutil.which("initdb"):
        yield Path(found).parent


@functools.cache
def _server() -> PostgresServer | str:
    """One server for the whole test run, or why there is none."""
    tried = []
    for binaries in _candidates():
        home = Path(tempfile.mkdtemp(prefix="crowdtally-postgres-", dir=memory()))
        try:
            return PostgresServer(binaries, home)
        except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
            tried.append(f"{binaries}: {error} {getattr(error, 'stderr', b'') or b''!r}")
            shutil.rmtree(home, ignore_errors=True)
    return "no PostgreSQL server could be started. " + " | ".join(tried)


def running_server() -> PostgresServer:
    """The one server of this run; the test that asks is skipped where none can be started."""
    started = _server()
    if isinstance(started, str):
        skip(started)
    return started


@pytest.fixture
def server() -> PostgresServer:
    return running_server()


@pytest.fixture(params=["sqlite", "postgresql"])
def location(request: pytest.FixtureRequest, folder: Path) -> str:
    """Where a new ledger may be made, on each kind of database."""
    if request.param == "sqlite":
        return str(folder / "ledger.sqlite")
    started = request.getfixturevalue("server")
    return started.new_schema()


def alter(location: str, *statements: str) -> None:
    """Do to a ledger's tables what no program of ours would."""
    if location.startswith("postgresql://"):
        import psycopg

        with psycopg.connect(location) as connection:
            for statement in statements:
                connection.execute(statement)
    else:
        with contextlib.closing(sqlite3.connect(location)) as file, file:
            for statement in statements:
                file.execute(statement)
