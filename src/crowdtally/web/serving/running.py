"""A server runs until somebody stops it, and says where it is before."""

from __future__ import annotations

import errno
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from crowdtally.errors import CrowdtallyError, UsageError
from crowdtally.web.extras import needs
from crowdtally.web.serving.hosts import bracketed

if TYPE_CHECKING:
    from starlette.types import ASGIApp

KEEP_ALIVE = 5
"""Seconds that a connection stays open between two requests."""
GRACE = 3
"""Seconds that answers under way have when the server stops."""
LONGEST_HEAD = 2 << 20
"""Bytes of a request's head that are read, so that what is too long gets an answer that says so."""
_ENDING = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens there; port 0 is any that is free.

    Raises:
        UsageError: the port is taken, or there is no such address on this machine.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=512)
    except UnicodeError as error:  # no name of a host at all
        raise _unbound(host, port, socket.gaierror(str(error))) from error
    except OSError as error:
        raise _unbound(host, port, error) from error


def _unbound(host: str, port: int, error: OSError) -> CrowdtallyError:
    if error.errno == errno.EADDRINUSE:
        return UsageError(
            f"port {port} is taken: stop what listens there, or choose another with --port; "
            "--port 0 takes one that is free."
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return UsageError(f"port {port} is not for this account: choose one above 1023.")
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return UsageError(
            f"{host!r} is no address of this machine: leave out --host, or correct it."
        )
    return CrowdtallyError(f"cannot listen at {host!r}: {error.strerror or 'unknown reason'}.")


def url_of(listening: socket.socket, host: str) -> str:
    """Where a server is found.

    Args:
        listening: its socket.
        host: as it was asked for.
    """
    port = listening.getsockname()[1]
    reached = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://{bracketed(reached)}:{port}"


def run(app: ASGIApp, listening: socket.socket, ready: Callable[[], None]) -> None:
    """Answer requests until a signal says to stop; then end answers under way, and return.

    Args:
        app: what answers.
        listening: where.
        ready: is called once requests are answered.
    """
    needs("uvicorn", "a server", "web")
    import uvicorn

    from crowdtally.web.serving.protocol import PatientProtocol

    class Server(uvicorn.Server):
        """Stops at a signal, which is no failure: uvicorn's own would tell it again."""

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            with _signals(self.handle_exit):
                yield

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if not self.should_exit:
                ready()

    settings = uvicorn.Config(
        app, http=PatientProtocol, ws="none", lifespan="off", log_config=None, access_log=False,
        log_level="critical", server_header=False, date_header=True, proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE, timeout_graceful_shutdown=GRACE,
        h11_max_incomplete_event_size=LONGEST_HEAD,
    )  # fmt: skip
    Server(settings).run(sockets=[listening])


@contextmanager
def _signals(handle: Callable[[int, Any], None]) -> Iterator[None]:
    """While a server runs, signals that end a program end the server."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handle) for number in _ENDING}
    try:
        yield
    finally:
        for number, how in before.items():
            signal.signal(number, how)
