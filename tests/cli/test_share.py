"""``report`` and ``serve``: what they write, where they are, how they end."""

from __future__ import annotations

import builtins
import csv
import json
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

import crowdtally as ct
from kit.command import INSTALLED, Ended, crowdtally
from kit.pages import Served
from kit.stored import stored

# ---- ``crowdtally report``: files by their ending, facts on stdout, no trace of a refusal --------


RELEASE = stored("sra-items")


def test_a_page_and_its_facts(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    ended = crowdtally("report", RELEASE, "-o", page)
    assert (ended.code, ended.out, ended.err) == (0, f"{page}\n", "")
    assert "What can undermine it" in page.read_text("utf-8")
    printed = crowdtally("report", RELEASE, "--json")
    stored = crowdtally("report", RELEASE, "-o", tmp_path / "report.json")
    assert stored.code == 0
    assert json.loads(printed.out) == json.loads((tmp_path / "report.json").read_text("utf-8"))


def test_items_are_shown_by_their_labels(tmp_path: Path) -> None:
    items = ct.load(RELEASE).metadata["domain"]["items"]
    rows = [{items["name"]: item, "title": f"Number {n}"} for n, item in enumerate(items["values"])]
    (tmp_path / "names.jsonl").write_text("\n".join(map(json.dumps, rows)))
    page = tmp_path / "report.html"
    ended = crowdtally("report", RELEASE, "-o", page, "--labels", tmp_path / "names.jsonl")
    assert (ended.code, ended.err) == (0, "")
    assert "Number 0 (" in page.read_text("utf-8")


def test_a_pdf_beside_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crowdtally.reader.report.page.pdf", lambda facts: b"%PDF-")
    ended = crowdtally("report", RELEASE, "-o", tmp_path / "r.html", "--pdf")
    assert ended.out.split() == [str(tmp_path / "r.html"), str(tmp_path / "r.pdf")]
    assert (tmp_path / "r.pdf").read_bytes() == b"%PDF-"
    again = crowdtally("report", RELEASE, "-o", tmp_path / "other.html", "--pdf")
    assert again.code == 0
    refused = crowdtally("report", RELEASE, "-o", tmp_path / "third.pdf", "--pdf")
    assert refused.out == f"{tmp_path / 'third.pdf'}\n"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((RELEASE,), 2, "-o report.html, or --json alone"),
        ((RELEASE, "--pdf", "--json"), 2, "-o report.html --pdf"),
        ((RELEASE, "-o", "report.txt"), 2, "received 'report.txt'"),
        ((RELEASE, "-o", "there.html", "--pdf"), 2, "'there.pdf' exists"),
        ((Path("nothing"), "-o", "r.html"), 4, "is not a release"),
    ],
)
def test_refusals_leave_nothing(
    arguments: tuple[object, ...], code: int, words: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.pdf").touch()
    ended = crowdtally("report", *arguments)
    assert (ended.code, ended.out) == (code, "")
    assert words in ended.err
    assert [one.name for one in tmp_path.iterdir()] == ["there.pdf"]


def test_items_are_named_by_their_labels(tmp_path: Path) -> None:
    first = json.loads(crowdtally("top", RELEASE, "-k", "1", "--json").out)[0]["item"]
    items = ct.load(RELEASE).table("items").fetchall()
    column = ct.load(RELEASE).metadata["domain"]["items"]["name"]
    named = [(row[0], "A <b>name</b>" if row[0] == first else "other") for row in items]
    catalogue = tmp_path / "names.csv"
    with catalogue.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([(column, "title"), *named])
    page = tmp_path / "report.html"
    assert crowdtally("report", RELEASE, "-o", page, "--labels", f"{catalogue}:title").code == 0
    assert "A &lt;b&gt;name&lt;/b&gt;" in page.read_text("utf-8")
    short = tmp_path / "short.csv"
    short.write_text(f"{column},title\n{first},x\n")
    refused = crowdtally("report", RELEASE, "-o", tmp_path / "b.html", "--labels", f"{short}:title")
    assert (refused.code, (tmp_path / "b.html").exists()) == (4, False)
    assert "misses" in refused.err


# ---- ``crowdtally serve``: where it is on stdout, the rest on stderr, a clean end, clear
#      refusals


RELEASE_SERVE = stored("sra-one-context")
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
    with _serving(RELEASE_SERVE, OTHER, "--port", 0) as (server, process):
        assert server.ask("/r/sra-one-context/").status == 200
        wanted = crowdtally("top", RELEASE_SERVE, "-k", 3, "--json").out
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
        ended = crowdtally("serve", RELEASE_SERVE, "--port", 0, "--host", "0.0.0.0")
        assert (ended.code, ended.out) == (0, "")
        assert "others on the network can reach these pages" in ended.err
        for host in ("127.0.0.1", "localhost"):
            ended = crowdtally("serve", RELEASE_SERVE, "--port", 0, "--host", host)
            assert (ended.code, ended.err) == (0, "stopped.\n")


def test_a_browser_is_opened_where_that_is_asked_for() -> None:
    def run(app: object, listening: object, ready: Any) -> None:
        ready()

    with _quietly(side_effect=run), mock.patch("webbrowser.open") as opened:
        plain = crowdtally("serve", RELEASE_SERVE, "--port", 0)
        assert opened.call_count == 0
        ended = crowdtally("serve", RELEASE_SERVE, "--port", 0, "--open")
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
        ((RELEASE_SERVE, "."), 4, "is not a release"),
        ((RELEASE_SERVE / "release.json",), 4, "it is a file"),
        ((RELEASE_SERVE, "--port", "65536"), 2, "a number from 0 to 65535: received 65536"),
        ((RELEASE_SERVE, "--port", "-1"), 2, "-1"),
        ((RELEASE_SERVE, "--port", "http"), 2, "http"),
        ((RELEASE_SERVE, "--port", "80.5"), 2, "80.5"),
        ((RELEASE_SERVE, "--host", "no.such.host.invalid"), 2, "no address of this machine"),
        ((RELEASE_SERVE, "--host", "192.0.2.1"), 2, "no address of this machine"),
        ((RELEASE_SERVE, "--host", "a..b"), 2, "no address of this machine"),
        ((RELEASE_SERVE, "--host", ""), 2, "no address of this machine"),
        ((RELEASE_SERVE, "--name", "http://counts.example"), 2, "that of a host alone"),
        ((RELEASE_SERVE, "--name", ""), 2, "that of a host alone"),
        ((RELEASE_SERVE, "--labels", "nothing.csv"), 4, "nothing.csv"),
        ((RELEASE_SERVE, "--json"), 2, "No such option"),
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
        _check(crowdtally("serve", RELEASE_SERVE, "--port", port), 2, f"port {port} is taken")


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
    _check(crowdtally("serve", RELEASE_SERVE, "--port", 0), 2, f"needs the package {package}")


def test_labels_name_items_on_the_pages(tmp_path: Path) -> None:
    import crowdtally as ct

    axis = next(iter(ct.load(RELEASE_SERVE).source().view.by_name.values()))
    names = tmp_path / "names.csv"
    rows = [(one, f"Name {one}") for one in axis.axis.values.tolist()]
    with names.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([(axis.name, "title"), *rows])
    seen = []

    def run(app: Any, *_: object) -> None:
        seen.append(app)

    with _quietly(side_effect=run):
        ended = crowdtally("serve", RELEASE_SERVE, "--port", 0, "--labels", f"{names}:title")
    assert (ended.code, len(seen)) == (0, 1)


def test_a_server_that_was_started_without_a_terminal_ends_with_its_pipe() -> None:
    with _serving(RELEASE_SERVE, "--port", 0) as (server, process):
        process.stdout.close()
        assert server.ask("/").status == 302
        process.send_signal(signal.SIGTERM)
        assert process.wait(300) == 0


def test_it_ends_cleanly_while_it_still_prepares() -> None:
    with _serving(*[RELEASE_SERVE, OTHER] * 3, "--port", 0) as (_, process):
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=300)
        assert (process.returncode, out) == (0, "")
        assert err.splitlines() == ["Press Ctrl-C to stop.", "stopped."]


HOSTILE = ["array[" * 24 + "1" + "]" * 24, "date(" * 40 + "1" + ")" * 40, "(" * 40 + "1" + ")" * 40]


@pytest.mark.parametrize("where", HOSTILE)
def test_a_condition_that_is_nested_deeply_is_answered_at_once(where: str) -> None:
    begun = time.process_time()
    _check(crowdtally("sum", RELEASE_SERVE, "--where", where), 2, "condition")
    assert time.process_time() - begun < 5


def test_no_question_keeps_the_server_from_others_or_from_its_end() -> None:
    """Three such questions took all its threads, and nothing but kill -9 ended it."""
    with _serving(RELEASE_SERVE, "--port", 0) as (server, process):
        for where in HOSTILE * 2:
            answer = server.ask("/r/sra-one-context/sum.json", where=where)
            assert answer.status == 400, answer.text
        assert server.ask("/r/sra-one-context/sum.json").status == 200
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)
        assert process.returncode == 0
