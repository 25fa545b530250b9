"""``crowdtally describe``: the same words wherever they go."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from kit.command import crowdtally
from kit.stored import stored

RELEASE = stored("sra-one-context")


def test_a_release_is_described() -> None:
    ended = crowdtally("describe", RELEASE)
    assert (ended.code, ended.err) == (0, "")
    titles = [line for line in ended.out.splitlines() if line and not line.startswith(" ")]
    assert titles == [
        "What is counted", "From whom", "How it is protected", "What ε means as odds",
        "What was spent", "What is not covered",
    ]  # fmt: skip
    assert max(map(len, ended.out.splitlines())) <= 88


def test_json_is_for_programs() -> None:
    ended = crowdtally("describe", RELEASE, "--json")
    found = json.loads(ended.out)
    assert (ended.code, ended.err) == (0, "")
    assert found["epsilon"] == "2"
    assert found["delta"] == "0"
    assert found["unit"] == "user"
    assert [entry["before"] for entry in found["beliefs"]] == ["0.01", "0.1", "0.5"]
    assert found["not_covered"]


@pytest.mark.parametrize("columns", [60, 300])
def test_a_terminal_is_filled_and_a_pipe_is_always_the_same(columns: int) -> None:
    environment = {**os.environ, "COLUMNS": str(columns)}
    command = [sys.executable, "-m", "crowdtally", "describe", str(RELEASE)]
    piped = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert piped.stdout == crowdtally("describe", RELEASE).out
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, env=environment, stdout=theirs, stderr=theirs) as running:
        os.close(theirs)
        shown = _all_of(ours)
        assert running.wait() == 0
    longest = max(map(len, shown.splitlines()))
    assert min(columns, 100) - 20 <= longest <= min(columns, 100)
    assert shown.split() == piped.stdout.split()


def _all_of(terminal: int) -> str:
    found = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # the other end is closed
            part = b""
        if not part:
            os.close(terminal)
            return found.decode()
        found += part


def test_what_is_no_release_is_refused(tmp_path: Path) -> None:
    ended = crowdtally("describe", tmp_path)
    assert ended.code == 4
    assert ended.out == ""
    assert "is not a release: it has no release.json" in ended.err
    assert crowdtally("describe").code == 2
