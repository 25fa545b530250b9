"""``kill -9`` of whole runs, at random moments and at every write, flush, link, rename and removal.

After each: the ledger opens and verifies, requests with an id are made again (charged once, drawn
at most once), every charge that it lets go is voided, what anybody can find is still paid for, and
the ledger goes on.
"""

from __future__ import annotations

import atexit
import functools
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from budget.ledger_kit import HERE, drive, memory, skip


@functools.cache
def _shim() -> Path | None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or sys.platform != "linux":
        return None
    home = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    built = Path(home) / "fault_shim.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", built, HERE / "fault_shim.c", "-ldl"]
    subprocess.run(command, check=True)
    return built


def with_shim(*arguments: str) -> dict[str, Any]:
    shim = _shim()
    if shim is None:
        skip("the fault shim needs Linux and a C compiler")
    found: dict[str, Any] = json.loads(
        drive(arguments[0], memory() or "/tmp", *arguments[1:], env={"LD_PRELOAD": str(shim)})
    )
    return found


def kill_at_random(kills: int, seed: int, order: str = "mark-first") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(drive("random", memory() or "/tmp", kills, seed, order))
    return found


@pytest.mark.parametrize(
    ("how", "step"),
    [("whole", 1), ("torn", 2), pytest.param("torn", 1, marks=pytest.mark.long)],
    ids=["whole", "torn", "all torn"],
)
def test_killed_at_every_call(how: str, step: int) -> None:
    """Before each of them; and in the middle of each write, by `make test` of every other one."""
    found = with_shim("every-call", how, "mark-first", str(step))
    assert found["failures"] == []
    calls = [call for call in found["calls"] if how == "whole" or "write" in call]
    assert found["kills"] == len(calls[::step]) > 100
    assert {"pwrite", "fsync", "unlink", "link", "write", "rename"} <= set(found["calls"])
    assert how == "torn" or found["between"] >= 2, "kills between the mark and the rename"
    for state in ("new", "reserved", "drawing", "published"):
        assert found["again"][state] >= 2, "requests made again in every state"


def test_killed_at_random_moments() -> None:
    found = kill_at_random(100, seed=1)
    assert found["failures"] == []
    assert found["releases"] > 25, "the children must get to release between the kills"
    assert found["again"]["drawing"] + found["again"]["reserved"] > 5, found["again"]


@pytest.mark.long
def test_killed_at_random_moments_500_times() -> None:
    assert kill_at_random(500, seed=2)["failures"] == []


def test_a_rename_before_the_mark_is_caught() -> None:
    """The test itself is tested: the wrong order must fail it."""
    found = with_shim("every-call", "whole", "rename-first")
    assert any("released and not paid for" in failure for failure in found["failures"])


def test_a_draw_before_its_entry_is_caught() -> None:
    """So is noise that is drawn before the entry that precedes it: a retry would draw again."""
    found = with_shim("every-call", "whole", "draw-first")
    assert any("2 draws for one request" in failure for failure in found["failures"])


def test_everything_is_flushed_when_a_charge_returns() -> None:
    assert with_shim("flushes", "durable")["unflushed"] == []
    assert "new/ledger.sqlite" in with_shim("flushes", "hasty")["unflushed"]
