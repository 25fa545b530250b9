"""A server from its start to its end: slow connections, work that is finished."""

from __future__ import annotations

import asyncio
import http.client
import socket
import statistics
import threading
import time
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest
from starlette.responses import PlainTextResponse

from crowdtally.errors import UsageError
from crowdtally.web import server as module
from crowdtally.web import server as protocol
from crowdtally.web.gate import Gate, Hosts, Refused, refusal
from crowdtally.web.server import MOST_FINISHING, Finishing, bound, run, url_of
from kit.pages import PATIENCE, Served, everything, running

# ---- A server says where it is, and ends when it is told to: answers under way are given first


def _slow(seconds: float, begun: threading.Event) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        begun.set()
        await asyncio.sleep(seconds)
        await PlainTextResponse("whole")(scope, receive, send)

    return app


def _stopped_while_asked(seconds: float) -> list[str]:
    """What somebody got who asked before it was stopped."""
    answers, begun = list[str](), threading.Event()

    def ask(server: Served) -> None:
        try:
            answers.append(server.ask("/").text)
        except (ConnectionError, OSError) as error:
            answers.append(type(error).__name__)

    with bound("127.0.0.1", 0) as listening:
        app, address = _slow(seconds, begun), f"{url_of(listening, '127.0.0.1')}/"
        with running(lambda ready: run(app, listening, lambda: ready(address))) as server:
            asking = threading.Thread(target=ask, args=(server,))
            asking.start()
            assert begun.wait(300)
        asking.join()
    return answers


def test_an_answer_under_way_is_given_before_it_ends() -> None:
    assert _stopped_while_asked(0.3) == ["whole"]


def test_one_that_takes_for_ever_is_given_up(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "GRACE", 0.3)
    assert _stopped_while_asked(60) != ["whole"]


def test_a_port_that_is_taken_is_told_with_what_to_type() -> None:
    with bound("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        with pytest.raises(UsageError, match=rf"port {port} is taken.*--port 0"):
            bound("127.0.0.1", port)


@pytest.mark.parametrize(
    "host",
    ["no.such.host.invalid", "192.0.2.1", "a" * 70, "a..b", "\x00", "http://127.0.0.1", "[::1]x"],
)
def test_a_host_that_is_none_of_this_machine_is_refused(host: str) -> None:
    with pytest.raises(UsageError, match="no address of this machine"):
        bound(host, 0)


def test_an_empty_host_is_not_everybody() -> None:
    with pytest.raises(UsageError, match="no address of this machine"):
        bound("", 0)


def test_where_it_is_found() -> None:
    with bound("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        assert url_of(listening, "127.0.0.1") == f"http://127.0.0.1:{port}"
        assert url_of(listening, "0.0.0.0") == f"http://127.0.0.1:{port}"
        assert url_of(listening, "::") == f"http://[::1]:{port}"


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6")
def test_it_can_listen_at_an_address_of_version_6() -> None:
    try:
        listening = bound("::1", 0)
    except UsageError:
        pytest.skip("this machine has no IPv6")
    with listening:
        assert listening.family == socket.AF_INET6
        assert url_of(listening, "::1").startswith("http://[::1]:")


# ---- Connections that say nothing, or too slowly, are let go, and are in nobody's way ------------


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


# ---- What is begun is finished: one thing after the other ----------------------------------------


def run_finishing(waiting: Coroutine[Any, Any, Any]) -> Any:
    """In a thread of its own: a browser's tests may have left an event loop in this one."""
    with ThreadPoolExecutor(1) as alone:
        return alone.submit(asyncio.run, waiting).result()


def test_one_thing_is_done_after_the_other() -> None:
    finishing, at_once, most = Finishing(), [0], [0]

    def task() -> int:
        at_once[0] += 1
        most[0] = max(most[0], at_once[0])
        time.sleep(0.01)
        at_once[0] -= 1
        return 7

    async def many() -> list[int]:
        return await asyncio.gather(*(finishing.run(task) for _ in range(10)))

    assert run_finishing(many()) == [7] * 10
    assert most == [1]
    assert not finishing.is_busy
    finishing.close()


def test_who_stops_waiting_stops_nothing_and_the_end_waits() -> None:
    finishing, done, may = Finishing(), list[str](), threading.Event()

    def task() -> None:
        assert may.wait(20)
        done.append("done")

    async def impatient() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(finishing.run(task), 0.05)

    run_finishing(impatient())
    assert finishing.is_busy
    threading.Timer(0.2, may.set).start()
    finishing.close()
    assert done == ["done"]


def test_not_too_many_wait() -> None:
    finishing, may = Finishing(), threading.Event()

    async def crowd() -> None:
        tasks = [finishing.run(lambda: may.wait(20)) for _ in range(MOST_FINISHING + 1)]
        waiting = list(map(asyncio.ensure_future, tasks))
        await asyncio.sleep(0.05)
        with pytest.raises(Refused, match="few seconds"):
            await finishing.run(int)
        may.set()
        await asyncio.gather(*waiting)

    run_finishing(crowd())
    finishing.close()


def test_a_failure_is_told_to_who_waits() -> None:
    finishing = Finishing()

    async def failing() -> None:
        with pytest.raises(ZeroDivisionError):
            await finishing.run(lambda: 1 // 0)

    run_finishing(failing())
    finishing.close()
