"""Connections that say nothing, or too slowly, are let go, and are in nobody's way."""

from __future__ import annotations

import http.client
import socket
import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from starlette.responses import PlainTextResponse

from crowdtally.web import server as protocol
from crowdtally.web.gate import Gate, Hosts, refusal
from crowdtally.web.server import bound, run, url_of
from kit.served import PATIENCE, Served, everything, running

SECONDS = 1.0


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await PlainTextResponse("hello")(scope, receive, send)

    with pytest.MonkeyPatch.context() as quick, bound("127.0.0.1", 0) as listening:
        quick.setattr(protocol, "HEAD_SECONDS", SECONDS)
        quick.setattr("crowdtally.web.server.KEEP_ALIVE", 4)
        gate = Gate(app, Hosts.of("127.0.0.1", listening.getsockname()[1]), refusal)
        address = f"{url_of(listening, '127.0.0.1')}/"
        with running(lambda ready: run(gate, listening, lambda: ready(address))) as found:
            yield found


def test_two_hundred_that_say_nothing_are_let_go(server: Served) -> None:
    with ExitStack() as all_of_them:
        silent = [all_of_them.enter_context(server.connected()) for _ in range(200)]
        for _ in range(5):
            assert server.ask("/").text == "hello"
        assert [everything(one) for one in silent] == [b""] * 200
    assert server.ask("/").text == "hello"


def test_more_than_the_most_are_closed_at_once(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "HEAD_SECONDS", PATIENCE)
    monkeypatch.setattr(protocol, "MOST", 20)
    with ExitStack() as all_of_them:
        silent = [all_of_them.enter_context(server.connected()) for _ in range(20)]
        with server.connected() as one_more:
            assert everything(one_more) == b""
        for one in silent:
            one.setblocking(False)
            with pytest.raises(BlockingIOError):
                one.recv(1)
    assert server.ask("/").text == "hello"


@pytest.mark.parametrize("part", ["G", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: a\r\nX: "])
def test_a_head_that_is_not_whole_in_time_is_let_go(server: Served, part: str) -> None:
    begun = time.monotonic()
    with server.connected() as connection:
        connection.sendall(part.encode())
        assert everything(connection) == b""
        assert time.monotonic() - begun > SECONDS / 2


def _drips(connection: socket.socket) -> bool:
    """Whether somebody who sends a letter now and then is let go."""
    begun = time.monotonic()
    try:
        while time.monotonic() - begun < PATIENCE:
            connection.sendall(b"x")
            time.sleep(0.05)
    except ConnectionError:
        return True
    return False


def test_letters_now_and_then_buy_no_time(server: Served) -> None:
    with server.connected() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nX: ")
        assert _drips(connection)


def _until_hello(connection: socket.socket) -> None:
    found = b""
    while not found.endswith(b"hello"):
        part = connection.recv(65536)
        assert part, found
        found += part


def _head(server: Served, *more: str) -> bytes:
    return "\r\n".join(["GET / HTTP/1.1", f"Host: 127.0.0.1:{server.port}", *more, "", ""]).encode()


def test_a_body_that_never_ends_is_let_go(server: Served) -> None:
    with server.connected() as connection:
        connection.sendall(_head(server, "Content-Length: 1000000000"))
        assert _drips(connection)


def test_between_two_requests_there_is_time_but_not_for_ever(server: Served) -> None:
    with server.connected() as connection:
        for _ in range(2):
            connection.sendall(_head(server))
            _until_hello(connection)
            time.sleep(SECONDS * 1.5)
        assert everything(connection) == b""


def test_a_second_request_has_its_own_time(server: Served) -> None:
    with server.connected() as connection:
        connection.sendall(_head(server))
        _until_hello(connection)
        connection.sendall(b"GET / HT")
        assert everything(connection) == b""


def test_several_requests_at_once_are_all_answered(server: Served) -> None:
    with server.connected() as connection:
        connection.sendall(_head(server) * 3 + _head(server, "Connection: close"))
        assert everything(connection).count(b"hello") == 4


def test_nonsense_after_a_request_ends_the_connection(
    server: Served, capfd: pytest.CaptureFixture[str]
) -> None:
    with server.connected() as connection:
        connection.sendall(_head(server, "Transfer-Encoding: chunked"))
        connection.sendall(b"no chunk at all\r\n\r\n" * 10)
        everything(connection)
    assert server.ask("/").text == "hello"
    assert "Traceback" not in capfd.readouterr().err


def test_answers_on_one_connection_do_not_wait_for_confirmations(server: Served) -> None:
    """With delays each answer but the first takes 40 ms, until its first packet is confirmed."""
    client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    taken = []
    for _ in range(15):
        begun = time.perf_counter()
        client.request("GET", "/")
        assert client.getresponse().read() == b"hello"
        taken.append(time.perf_counter() - begun)
    client.close()
    assert statistics.median(taken) < 0.03
