"""``crowdtally person page``: what it prints, what it refuses before it listens, how it stops."""

from __future__ import annotations

import http.client
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from kit.command import COMMANDS, crowdtally
from kit.person_page import FILMS, OWN

ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/[\w-]{43}/\n")


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """A history and its catalogue, as arguments."""
    rows = [f"{film},{name}" for film, names in FILMS.items() for name in names]
    (tmp_path / "films.csv").write_text("\n".join(["item,category", *rows]))
    (tmp_path / "mine.txt").write_text("\n".join(OWN))
    store = str(tmp_path / "store")
    return [
        str(tmp_path / "mine.txt"),
        "--catalogue",
        str(tmp_path / "films.csv"),
        "--store",
        store,
    ]


def test_it_prints_its_address_and_stops_cleanly(files: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "crowdtally", "person", "page", *files]
    options = ["--level", "horror=no", "--epsilon", "1/2", "--output-folder", str(tmp_path)]
    process = subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline()
        assert ADDRESS.fullmatch(address), address
        parts = urlsplit(address.strip())
        connection = http.client.HTTPConnection("127.0.0.1", parts.port or 0, timeout=300)
        connection.request("GET", parts.path)
        page = connection.getresponse().read().decode()
        assert "Draw once: costs epsilon 0.5" in page
        assert 'value="no:4"' in page
        with pytest.raises(OSError, match=r"refused|denied"):
            socket.create_connection((_other_address(), parts.port or 0), timeout=2)
    finally:
        process.send_signal(signal.SIGINT)  # while the connection is still open
        out, err = process.communicate(timeout=300)
        connection.close()
    assert (process.returncode, out) == (0, "")
    assert err.splitlines()[-1] == "stopped."
    assert parts.path.strip("/") not in err
    assert not any(item in err for item in OWN)
    assert not (tmp_path / "store").exists(), "looking made nothing"


def _other_address() -> str:
    """An address of this machine that others use too, or one that only it has."""
    found = socket.gethostbyname(socket.gethostname())
    return found if found != "127.0.0.1" else "127.0.0.2"


def test_only_this_machine_is_served() -> None:
    options = {name for one in COMMANDS["crowdtally person page"].params for name in one.opts}
    assert "--host" not in options
    assert {"--port", "--store", "--output-folder", "--epsilon", "--quantify", "--level"} <= options


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        (["--port", "70000"], 2, "a port is a number from 0 to 65535"),
        (["--port", "-1"], 2, "a port is a number"),
        (["--port", "x"], 2, "whole number"),
        (["--host", "0.0.0.0"], 2, "--host"),
        (["--epsilon", "0"], 2, "epsilon must be greater than 0"),
        (["--epsilon", "1", "--quantify"], 2, "either --epsilon"),
        (["--eta", "2"], 2, "--eta goes with --quantify"),
        (["--level", "horor=no"], 2, "Did you mean 'horror'"),
        (["--level", "horror=much"], 2, "a level is no"),
        (["--output-folder", "nowhere"], 2, "'nowhere' is not a folder"),
    ],
)
def test_what_is_wrong_is_said_before_it_listens(
    files: list[str], more: list[str], code: int, said: str
) -> None:
    ended = crowdtally("person", "page", *files, *more)
    assert ended.code == code, ended
    assert said in ended.err
    assert ended.out == ""


def test_a_strange_history_or_store_is_refused_without_its_items(
    files: list[str], tmp_path: Path
) -> None:
    (tmp_path / "mine.txt").write_text("Nosferatu-1922\n")
    ended = crowdtally("person", "page", *files)
    assert ended.code == 4
    assert "Nosferatu" not in ended.err
    (tmp_path / "mine.txt").write_text("\n".join(OWN))
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "letter.txt").touch()
    ended = crowdtally("person", "page", *files)
    assert ended.code == 2
    assert "no store" in ended.err


def test_a_port_that_is_taken_is_said(files: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = crowdtally("person", "page", *files, "--port", taken.getsockname()[1])
    assert ended.code == 2
    assert "is taken" in ended.err


def test_without_the_extra_it_says_what_to_install(
    files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "babel", None)
    ended = crowdtally("person", "page", *files)
    assert ended.code == 2
    assert "pip install 'crowdtally[web]'" in ended.err
