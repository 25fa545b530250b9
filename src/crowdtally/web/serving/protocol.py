"""Connections: those that say nothing, or too slowly, are let go."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from crowdtally.web.serving.policy import HEADERS

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
"""What somebody does whose request is not whole yet."""
MOST = 500
"""Connections at once; one more is closed."""


class PatientProtocol(H11Protocol):
    """uvicorn's, with a limit to how long somebody may take to ask."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Somebody is there."""
        super().connection_made(transport)
        if len(self.connections) > MOST:
            transport.abort()
            return
        # An answer is several small packets: the second would wait for the first to be confirmed,
        # 40 ms. asyncio leaves that on for sockets whose protocol is the default one.
        connection = transport.get_extra_info("socket")
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Somebody says something."""
        super().data_received(data)
        if self.conn.their_state not in _SENDING:  # the whole request is there
            self._stop_waiting()
        elif self._timer is None:
            self._wait()

    def on_response_complete(self) -> None:
        """All was said; what comes next has its own time."""
        super().on_response_complete()
        if self.conn.their_state is not h11.SEND_BODY:  # a body that nobody wants goes on
            self._stop_waiting()

    def send_400_response(self, msg: str) -> None:
        """What cannot be understood has no page, but is told why, under the same policy."""
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
        """Nobody is there any more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._timer = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
