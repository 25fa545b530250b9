"""``kill -9`` of runs, backups and imports, at every write, flush, link, rename and removal."""

from __future__ import annotations

import atexit
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kit.ledgers import HERE, drive, drive_at_once, skip
from kit.repeatable import memory

# ---- ``kill -9`` of whole runs, at random moments and at every write, flush, link, rename and
#      removal
#
# Of the calls that write a page, which are most and one like the next, `make test` takes every
# sixth, from the first, the second, … as the seed that it prints says; `make test-all` takes all.
#
# After each: the ledger opens and verifies, requests with an id are made again (charged once,
# drawn at most once), every charge that it lets go is voided, what anybody can find is still paid
# for, and the ledger goes on.


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


def with_shim(mode: str, *arguments: object) -> dict[str, Any]:
    shim = _shim()
    if shim is None:
        skip("the fault shim needs Linux and a C compiler")
    found: dict[str, Any] = json.loads(
        drive(mode, memory() or "/tmp", *arguments, env={"LD_PRELOAD": str(shim)})
    )
    return found


def kill_at_random(kills: int, seed: int, order: str = "mark-first") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        drive_at_once("random", memory() or "/tmp", kills, seed, order)
    )
    return found


SEED = int(os.environ["CROWDTALLY_MUTANT_SEED"])
STEPS = [6, pytest.param(1, marks=pytest.mark.long)]


def kills_of(calls: Sequence[str], how: str, step: int) -> int:
    """How many kills there must be: at each call, but at one of ``step`` that write pages."""
    kinds = Counter(call for call in calls if how == "whole" or "write" in call)
    return kinds.total() - kinds["pwrite"] + len(range(SEED % step, kinds["pwrite"], step))


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("how", ["whole", "torn"])
def test_killed_at_every_call(how: str, step: int) -> None:
    """Before each of them; and in the middle of each write."""
    found = with_shim("every-call", how, "mark-first", step, SEED)
    assert found["failures"] == []
    assert found["kills"] == kills_of(found["calls"], how, step) > 200 / step
    assert {"pwrite", "fsync", "unlink", "link", "write", "rename"} <= set(found["calls"])
    assert how == "torn" or found["between"] >= 6, "kills between the mark and the rename"
    for state in ("new", "reserved", "drawing", "published"):
        assert found["again"][state] >= 2, "requests made again in every state"


@pytest.mark.parametrize("kills", [40, pytest.param(500, marks=pytest.mark.long)])
def test_killed_at_random_moments(kills: int) -> None:
    found = kill_at_random(kills, seed=1)
    assert found["failures"] == []
    assert found["releases"] > kills / 4, "the children must get to release between the kills"
    assert found["again"].get("drawing", 0) + found["again"]["reserved"] > kills / 40, found[
        "again"
    ]


def test_a_rename_before_the_mark_is_caught() -> None:
    """The test itself is tested: the wrong order must fail it."""
    found = with_shim("every-call", "whole", "rename-first", 6, SEED)
    assert any("released and not paid for" in failure for failure in found["failures"])


def test_a_draw_before_its_entry_is_caught() -> None:
    """So is noise that is drawn before the entry that precedes it: a retry would draw again."""
    found = with_shim("every-call", "whole", "draw-first", 6, SEED)
    assert any("2 draws for one request" in failure for failure in found["failures"])


def test_everything_is_flushed_when_a_charge_returns() -> None:
    assert with_shim("flushes", "durable")["unflushed"] == []
    assert "new/ledger.sqlite" in with_shim("flushes", "hasty")["unflushed"]


# ---- ``kill -9`` of a backup and an import, at every write, flush, link and removal --------------
#
# After each: never half a backup, never two ledgers that can be charged, no entry lost, and the
# same command again finishes what was begun. Of the calls that write a page `make test` takes
# every sixth, as above.


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("how", ["whole", "torn"])
@pytest.mark.parametrize("what", ["backup", "import"])
def test_killed_at_every_call_moved(what: str, how: str, step: int) -> None:
    found = with_shim("keeping", how, what, step, SEED)
    assert found["failures"] == []
    assert found["kills"] == kills_of(found["calls"], how, step) >= 10 // step
    assert {"pwrite", "fsync", "unlink"} <= set(found["calls"])
