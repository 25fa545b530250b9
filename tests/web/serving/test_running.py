"""A server says where it is, and ends when it is told to: answers under way are given first."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

import pytest
from starlette.responses import PlainTextResponse

from crowdtally.errors import UsageError
from crowdtally.web import server as module
from crowdtally.web.server import bound, run, url_of
from kit.served import Served, running


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
