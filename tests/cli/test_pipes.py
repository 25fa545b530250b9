"""Readers of the output that go away early, as ``head`` does: the exit code is that of the work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kit.command import crowdtally
from kit.town import Town

PROGRAM = [sys.executable, "-m", "crowdtally"]
INPUT = 4


@pytest.fixture
def released(town: Town) -> Path:
    ended = crowdtally(*town.arguments())
    assert ended.code == 0, str(ended)
    return town.folder / "out"


def with_a_reader_gone(*arguments: str, env: dict[str, str] | None = None) -> tuple[int, str]:
    """Exit code and stderr of the program whose output is a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ended = subprocess.run(
            [*PROGRAM, *arguments], stdout=writing, stderr=subprocess.PIPE, text=True, check=False,
            env={**os.environ, **(env or {})},
        )  # fmt: skip
    finally:
        os.close(writing)
    return ended.returncode, ended.stderr


@pytest.mark.parametrize("buffered", [True, False], ids=["buffered until the exit", "unbuffered"])
def test_an_answer_that_nobody_reads_is_no_failure(released: Path, buffered: bool) -> None:
    env = {} if buffered else {"PYTHONUNBUFFERED": "1"}
    assert with_a_reader_gone("top", str(released), env=env) == (0, "")


def test_more_than_a_pipe_holds(town: Town) -> None:
    """The reader takes one line and goes while the program is still writing."""
    town.write("places.csv", "place\n" + "".join(f"place {n:05}\n" for n in range(20_000)))
    assert crowdtally(*town.arguments()).code == 0
    command = f"set -o pipefail; {' '.join(PROGRAM)} top out -k 20000 | head -1"
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("None of these items is told apart from noise")


def test_the_exit_code_is_still_the_works(released: Path) -> None:
    (released / "items.parquet").write_bytes(b"damaged")
    code, said = with_a_reader_gone("check", str(released))
    assert code == INPUT
    assert said.startswith("crowdtally: ")


def test_a_release_whose_words_nobody_reads_is_made(town: Town) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run(
        [*PROGRAM, *town.arguments()], stdout=writing, stderr=writing, check=False
    )
    os.close(writing)
    assert ended.returncode == 0
    assert crowdtally("check", "out").code == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_disk_is_still_told(released: Path) -> None:
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [*PROGRAM, "top", str(released)], stdout=full, stderr=subprocess.PIPE, text=True,
            check=False,
        )  # fmt: skip
    assert ended.returncode == 1
    assert "No space left" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_no_output_at_all(released: Path) -> None:
    ended = subprocess.run(
        ["sh", "-c", f"{' '.join(PROGRAM)} top {released} >&-"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")
