"""Servers of pages: run until stopped, limit connections and time, read forms."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from crowdtally.core.deadline import Patience, having
from crowdtally.errors import CrowdtallyError, UsageError, needs
from crowdtally.web.gate import HEADERS, Refused, bracketed

if TYPE_CHECKING:
    from starlette.requests import Request
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
    """A listening socket; port 0 is any that is free. A UsageError if there can be none."""
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
    """Where a server is found that listens at ``host``."""
    port = listening.getsockname()[1]
    reached = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://{bracketed(reached)}:{port}"


def run(app: ASGIApp, listening: socket.socket, ready: Callable[[], None]) -> None:
    """Serve until a signal says to stop, then end answers under way; ``ready`` is called first."""
    needs("uvicorn", "a server", "web")
    import uvicorn

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


HEAD_SECONDS = 10.0
"""Within which a request must have been sent, from its first letter or the connection on."""
WORDS = (
    "This is no request that is understood here: it is no HTTP, its head is too long, or it does "
    "not name its host exactly once. Open the address that was printed when the server started.\n"
)
_HEADERS = [
    ("content-type", "text/plain; charset=utf-8"),
    ("connection", "close"),
    *HEADERS.items(),
]
_SENDING = (h11.IDLE, h11.SEND_BODY)
"""States of a client whose request is not complete yet."""
MOST = 500


class PatientProtocol(H11Protocol):
    """uvicorn's protocol, with a time limit for sending a request."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > MOST:
            transport.abort()
            return
        # An answer is several small packets: the second would wait for the first to be confirmed,
        # 40 ms. asyncio leaves that on for sockets whose protocol is the default one.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state not in _SENDING:  # the whole request is there
            self._stop_waiting()
        elif self._timer is None:
            self._wait()

    def on_response_complete(self) -> None:
        """All was said; what comes next has its own time."""
        super().on_response_complete()
        if self.conn.their_state is not h11.SEND_BODY:  # an unread body goes on
            self._stop_waiting()

    def send_400_response(self, msg: str) -> None:
        """Answer what cannot be parsed: no page, but a reason, under the same policy."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):  # an answer has begun
            self.transport.abort()
            return
        for event in (
            h11.Response(status_code=400, headers=_HEADERS, reason=b"Bad Request"),
            h11.Data(data=WORDS.encode()),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._timer = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


SECONDS = 2.0
"""What one question may take."""
THREADS = max(3, (os.cpu_count() or 2) + 1)
"""How many are worked on at once: more would only make each slower, and its time is limited."""
WAITING = 200
"""How many may wait for a thread."""
WORK_GRACE = 3.0
"""Seconds that questions have to end once the server stops."""
_Found = TypeVar("_Found")


class Work:
    """Threads that answer questions.

    A question whose time is over is refused, and what it runs is stopped. Until it has ended it
    keeps its thread, so that abandoned questions cannot take more than the threads. The threads are
    daemons: Python waits at its end for a pool's threads, and a question that nothing stops must
    not keep the process alive.
    """

    def __init__(self, threads: int = THREADS, seconds: float = SECONDS) -> None:
        self._queue: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._threads = [
            threading.Thread(target=self._work, name=f"question-{number}", daemon=True)
            for number in range(threads)
        ]
        self._begun = False
        self._seconds = seconds
        self._under_way = 0
        self._most = threads + WAITING

    async def run(self, task: Callable[[], _Found]) -> _Found:
        """What the task returns; refused if it takes too long, or too many are waiting."""
        if self._under_way >= self._most:
            raise Refused(429, "Try again in a few seconds.", retry_after="2")
        patience, context, begun = Patience(), copy_context(), list[float]()

        def work() -> _Found:
            begun.append(time.monotonic())  # its time begins when a thread takes it
            with having(patience):
                return task()

        self._under_way += 1
        future = asyncio.wrap_future(self._submitted(lambda: context.run(work)))
        future.add_done_callback(self._ended)
        try:
            await self._waited(future, begun)
            if future.done() and not future.cancelled():
                return future.result()
            if not begun:
                raise Refused(429, "Try again in a few seconds.", retry_after="2")
            raise Refused(
                422,
                f"A question has {self._seconds:g} seconds, and this one was stopped. Ask for "
                "fewer rows, fewer values or a simpler condition.",
            )
        finally:  # also where the server stops, and does not wait for the answer
            patience.end()
            future.cancel()

    async def _waited(self, future: asyncio.Future[Any], begun: Sequence[float]) -> None:
        """Wait until a question is answered, or its time is over.

        A thread does not tell that it has taken a question, since that would wake this one for
        each: only an unanswered question is looked at again.
        """
        asked = time.monotonic()
        while not future.done():
            end = begun[0] + self._seconds if begun else asked + 5 * self._seconds
            left = end - time.monotonic()
            if left <= 0:
                return
            await asyncio.wait([future], timeout=min(left, self._seconds))

    def _submitted(self, task: Callable[[], _Found]) -> Future[_Found]:
        if not self._begun:
            self._begun = True
            for thread in self._threads:
                thread.start()
        future: Future[_Found] = Future()
        self._queue.put((future, task))
        return future

    def _work(self) -> None:
        while (taken := self._queue.get()) is not None:
            future, task = taken
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(task())
                except BaseException as error:
                    future.set_exception(error)
            del taken, future, task  # what it answered is not kept until the next one

    def _ended(self, future: asyncio.Future[_Found]) -> None:
        self._under_way -= 1
        if not future.cancelled():
            future.exception()  # Fetch it, or asyncio logs it: the client has left.

    def close(self) -> None:
        """Start no more questions, and wait shortly for those under way."""
        try:
            while True:
                waiting = self._queue.get_nowait()
                if waiting is not None:
                    waiting[0].cancel()
        except Empty:
            pass
        for _ in self._threads:
            self._queue.put(None)
        end = time.monotonic() + WORK_GRACE
        for thread in self._threads if self._begun else ():
            thread.join(max(0.0, end - time.monotonic()))


# Tasks that must be finished once begun, such as a draw: one thread, no limit of time. A browser
# that goes away, or a server that stops, then leaves nothing half done.

MOST_FINISHING = 20
"""How many may wait for their turn."""


class Finishing:
    """A thread that does things one after the other, each to its end."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="deed")
        self._under_way = 0

    @property
    def is_busy(self) -> bool:
        return self._under_way > 0

    async def run(self, task: Callable[[], _Found]) -> _Found:
        """Run a task to its end, also if its client leaves; refused if too many are waiting."""
        if self._under_way > MOST_FINISHING:
            raise Refused(429, "Try again in a few seconds.", retry_after="2")
        self._under_way += 1
        future = self._pool.submit(copy_context().run, task)
        future.add_done_callback(self._ended)
        return await asyncio.wrap_future(future)

    def _ended(self, future: Future[Any]) -> None:
        self._under_way -= 1

    def close(self) -> None:
        """Let nothing more begin, and wait for what has begun."""
        self._pool.shutdown(wait=True, cancel_futures=True)


LONGEST = 1 << 18
MOST_FIELDS = 1000
FORM_SECONDS = 10.0
"""Within which all of it must have come."""
_KIND = "application/x-www-form-urlencoded"


async def fields(request: Request) -> list[tuple[str, str]]:
    """The fields of a form, in order, empty ones too; refused if too long, slow or damaged."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _KIND:
        raise Refused(415, f"Send the page's own form, of the type {_KIND}.")
    try:
        body = await asyncio.wait_for(_body(request), FORM_SECONDS)
    except TimeoutError:
        raise Refused(408, "The form did not come in time: send it again.") from None
    try:
        text = body.decode("ascii")
        return parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except (UnicodeDecodeError, ValueError):
        raise Refused(400, "The form is damaged: load the page again, and send it anew.") from None


async def _body(request: Request) -> bytes:
    found = bytearray()
    async for part in request.stream():
        found += part
        if len(found) > LONGEST:
            raise Refused(413, f"At most {LONGEST:,} bytes of a form are read.")
    return bytes(found)
