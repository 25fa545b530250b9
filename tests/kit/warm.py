"""The command line in processes of their own that start at once.

They are forked from one that has imported what a command needs, which takes longer than most
commands: real processes with their own terminal, user and environment, for tests that are not
about the start. ``python -m kit.warm`` is that one; it serves requests from a socket.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_IMPORTED = (
    "crowdtally.cli", "crowdtally.curator.publish", "crowdtally.records.duckdb",
    "crowdtally.curator.request.request", "crowdtally.curator.plan.plan",
    "crowdtally.ledger.database.store", "crowdtally.reader.release", "ibis.backends.duckdb",
    "sqlalchemy.dialects.sqlite",
)  # fmt: skip
_MOST = 1 << 20


class Running:
    """A program that was started."""

    def __init__(self, server: socket.socket, pid: int) -> None:
        self._server, self.pid = server, pid

    def wait(self) -> int:
        """Its exit code, once it has ended."""
        return os.waitstatus_to_exitcode(int(self._server.recv(_MOST)))


def start(
    arguments: Sequence[str],
    folder: Path,
    fds: tuple[int, int, int],
    env: Mapping[str, str],
    *,
    script: str | None = None,
    uid: int | None = None,
) -> Running:
    """Start ``crowdtally ARGUMENT …``, or a script, with this stdin, stdout and stderr.

    With a ``uid`` its rights are dropped first. One at a time: wait for it before the next.
    """
    server = _server(uid is not None)
    asked = {"arguments": list(arguments), "folder": str(folder), "env": dict(env)}
    asked |= {"script": script, "uid": uid}
    socket.send_fds(server, [json.dumps(asked).encode()], list(fds))
    return Running(server, int(server.recv(_MOST)))


@functools.cache
def _server(released: bool) -> socket.socket:
    """One for this process; ``released``: it has made a release too.

    Python itself may lie where a user without rights may not read: then all must be imported.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    paths = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", "kit.warm", str(theirs.fileno()), *["released"] * released],
            pass_fds=[theirs.fileno()], env={**os.environ, "PYTHONPATH": paths},
            stdin=subprocess.DEVNULL, cwd="/",
        )  # fmt: skip
    atexit.register(_end, ours, process)
    return ours


def _end(server: socket.socket, process: subprocess.Popen[bytes]) -> None:
    server.close()
    process.wait(20)


def _serve(requests: socket.socket) -> None:
    while True:
        asked, fds, *_ = socket.recv_fds(requests, _MOST, 3)
        if not asked:
            return
        child = os.fork()
        if child == 0:
            requests.close()
            _live(fds, **json.loads(asked))
        for fd in fds:
            os.close(fd)
        requests.send(str(child).encode())
        requests.send(str(os.waitpid(child, 0)[1]).encode())


def _live(
    fds: list[int],
    arguments: list[str],
    folder: str,
    env: dict[str, str],
    script: str | None,
    uid: int | None,
) -> None:
    """All of the child's life."""
    code: Any = 1
    try:
        os.setsid()
        for number, fd in enumerate(fds):
            os.dup2(fd, number)
        sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
        sys.stderr = os.fdopen(2, "w", buffering=1)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(env)
        tempfile.tempdir = None
        if uid is not None:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
        sys.argv = ["crowdtally", *arguments]
        exec(script or "from crowdtally.cli import main\nmain()", {"__name__": "__main__"})
        code = 0
    except SystemExit as ended:
        code = ended.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)


def _release() -> None:
    """Make a release: what it needs is then imported."""
    from kit.command import Town, crowdtally

    with tempfile.TemporaryDirectory() as elsewhere:
        town = Town.build(Path(elsewhere))
        os.chdir(town.folder)
        ledger = str(town.ledger)
        crowdtally("ledger", "create", "warm", "--epsilon", "1", "--ledger", ledger)
        ended = crowdtally(*town.arguments(ledger=ledger, dataset="warm"))
        assert ended.code == 0, str(ended)
        os.chdir("/")


if __name__ == "__main__":
    for name in _IMPORTED:
        importlib.import_module(name)
    if sys.argv[2:]:
        _release()
    with socket.socket(fileno=int(sys.argv[1])) as requests:
        _serve(requests)
