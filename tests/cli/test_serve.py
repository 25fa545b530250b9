"""``crowdtally serve``: where it is on stdout, the rest on stderr, a clean end, clear refusals."""

from __future__ import annotations

import builtins
import csv
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from kit.command import INSTALLED, Ended, crowdtally
from kit.served import Served
from kit.stored import stored

RELEASE = stored("sra-one-context")
OTHER = stored("sra-record-id")


@contextmanager
def _serving(*arguments: object, before: float = 60) -> Iterator[tuple[Served, Any]]:
    command = [str(INSTALLED), "serve", *map(str, arguments)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )  # fmt: skip
    try:
        assert process.stdout is not None
        line = process.stdout.readline().strip()
        assert line.startswith("http://"), process.communicate(timeout=before)
        yield Served(line), process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_says_where_it_is_answers_and_ends_cleanly(number: signal.Signals) -> None:
    with _serving(RELEASE, OTHER, "--port", 0) as (server, process):
        assert server.ask("/r/sra-one-context/").status == 200
        wanted = crowdtally("top", RELEASE, "-k", 3, "--json").out
        server.until_ready()
        assert server.ask("/r/sra-one-context/top.json?k=3").text == wanted
        with server.connected():  # somebody who says nothing is in nobody's way
            process.send_signal(number)
            out, err = process.communicate(timeout=300)
        assert (process.returncode, out) == (0, "")
        assert err.splitlines() == ["Press Ctrl-C to stop.", "stopped."]
        with pytest.raises(ConnectionRefusedError):
            server.ask("/")


def _quietly(**served: Any) -> Any:
    """The command without a server: what it would have run with."""
    return mock.patch("crowdtally.reader.server.app.run", **served)


def test_an_address_that_others_reach_is_warned_about() -> None:
    with _quietly():
        ended = crowdtally("serve", RELEASE, "--port", 0, "--host", "0.0.0.0")
        assert (ended.code, ended.out) == (0, "")
        assert "others on the network can reach these pages" in ended.err
        for host in ("127.0.0.1", "localhost"):
            ended = crowdtally("serve", RELEASE, "--port", 0, "--host", host)
            assert (ended.code, ended.err) == (0, "stopped.\n")


def test_a_browser_is_opened_where_that_is_asked_for() -> None:
    def run(app: object, listening: object, ready: Any) -> None:
        ready()

    with _quietly(side_effect=run), mock.patch("webbrowser.open") as opened:
        plain = crowdtally("serve", RELEASE, "--port", 0)
        assert opened.call_count == 0
        ended = crowdtally("serve", RELEASE, "--port", 0, "--open")
    assert ended.out == f"{opened.call_args.args[0]}\n"
    assert plain.out.startswith("http://127.0.0.1:")
    assert "Press Ctrl-C to stop." in ended.err


def _check(ended: Ended, code: int, words: str) -> None:
    assert (ended.code, ended.out) == (code, ""), str(ended)
    assert words in " ".join(ended.err.split()), str(ended)
    assert "Traceback" not in ended.err
    assert "unforeseen" not in ended.err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "Missing argument"),
        (("nothing",), 4, "is not a release: there is no such folder"),
        ((RELEASE, "."), 4, "is not a release"),
        ((RELEASE / "release.json",), 4, "it is a file"),
        ((RELEASE, "--port", "65536"), 2, "a number from 0 to 65535: received 65536"),
        ((RELEASE, "--port", "-1"), 2, "-1"),
        ((RELEASE, "--port", "http"), 2, "http"),
        ((RELEASE, "--port", "80.5"), 2, "80.5"),
        ((RELEASE, "--host", "no.such.host.invalid"), 2, "no address of this machine"),
        ((RELEASE, "--host", "192.0.2.1"), 2, "no address of this machine"),
        ((RELEASE, "--host", "a..b"), 2, "no address of this machine"),
        ((RELEASE, "--host", ""), 2, "no address of this machine"),
        ((RELEASE, "--name", "http://counts.example"), 2, "that of a host alone"),
        ((RELEASE, "--name", ""), 2, "that of a host alone"),
        ((RELEASE, "--labels", "nothing.csv"), 4, "nothing.csv"),
        ((RELEASE, "--json"), 2, "No such option"),
    ],
)
def test_what_is_wrong_is_told_before_anything_listens(
    arguments: tuple[object, ...], code: int, words: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    with _quietly(side_effect=AssertionError("it listens")):
        _check(crowdtally("serve", *arguments), code, words)
    assert list(tmp_path.iterdir()) == []


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        _check(crowdtally("serve", RELEASE, "--port", port), 2, f"port {port} is taken")


@pytest.mark.parametrize("package", ["starlette", "uvicorn", "babel"])
def test_what_is_not_installed_is_named(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    really = builtins.__import__

    def without(name: str, *more: Any) -> Any:
        if name.split(".")[0] == package:
            raise ImportError(name)
        return really(name, *more)

    for name in [one for one in sys.modules if one.split(".")[0] == package]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(builtins, "__import__", without)
    _check(crowdtally("serve", RELEASE, "--port", 0), 2, f"needs the package {package}")


def test_labels_name_items_on_the_pages(tmp_path: Path) -> None:
    import crowdtally as ct

    axis = next(iter(ct.load(RELEASE).source().axes.by_name.values()))
    names = tmp_path / "names.csv"
    rows = [(one, f"Name {one}") for one in axis.axis.values.tolist()]
    with names.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([(axis.name, "title"), *rows])
    seen = []

    def run(app: Any, *_: object) -> None:
        seen.append(app)

    with _quietly(side_effect=run):
        ended = crowdtally("serve", RELEASE, "--port", 0, "--labels", f"{names}:title")
    assert (ended.code, len(seen)) == (0, 1)


def test_a_server_that_was_started_without_a_terminal_ends_with_its_pipe() -> None:
    with _serving(RELEASE, "--port", 0) as (server, process):
        process.stdout.close()
        assert server.ask("/").status == 302
        process.send_signal(signal.SIGTERM)
        assert process.wait(300) == 0


def test_it_ends_cleanly_while_it_still_prepares() -> None:
    with _serving(*[RELEASE, OTHER] * 3, "--port", 0) as (_, process):
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=300)
        assert (process.returncode, out) == (0, "")
        assert err.splitlines() == ["Press Ctrl-C to stop.", "stopped."]


HOSTILE = ["array[" * 24 + "1" + "]" * 24, "date(" * 40 + "1" + ")" * 40, "(" * 40 + "1" + ")" * 40]


@pytest.mark.parametrize("where", HOSTILE)
def test_a_condition_that_is_nested_deeply_is_answered_at_once(where: str) -> None:
    begun = time.process_time()
    _check(crowdtally("sum", RELEASE, "--where", where), 2, "condition")
    assert time.process_time() - begun < 5


def test_no_question_keeps_the_server_from_others_or_from_its_end() -> None:
    """Three such questions took all its threads, and nothing but kill -9 ended it."""
    with _serving(RELEASE, "--port", 0) as (server, process):
        for where in HOSTILE * 2:
            answer = server.ask("/r/sra-one-context/sum.json", where=where)
            assert answer.status == 400, answer.text
        assert server.ask("/r/sra-one-context/sum.json").status == 200
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)
        assert process.returncode == 0
