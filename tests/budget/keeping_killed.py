"""Backups and imports that are killed at every write, flush, link and removal."""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from budget.driven import EACH, UNIT, charge, in_child, moments
from crowdtally.errors import CrowdtallyError
from crowdtally.ledger import Ledger


def _new(folder: Path) -> None:
    ledger = Ledger.open(folder / "ledger.sqlite", create=True)
    ledger.create("data", UNIT, epsilon=100)
    for _ in range(3):
        ledger.reserve("data", UNIT, charge())


def _backup(folder: Path) -> None:
    Ledger.open(folder / "ledger.sqlite").backup(folder / "copy.sqlite")


def _import(folder: Path) -> None:
    Ledger.import_from(folder / "ledger.sqlite", folder / "new.sqlite")


def _backed_up(folder: Path, head: str) -> str | None:
    copy = folder / "copy.sqlite"
    if copy.exists():
        kept = Ledger.open(copy)
        if not kept.verify().ok or str(kept.head()) != head or kept.closed() is None:
            return "half a backup"
        copy.unlink()
    _backup(folder)
    Ledger.open(folder / "ledger.sqlite").reserve("data", UNIT, charge())
    return None


def _imported(folder: Path, head: str) -> str | None:
    here, there = folder / "ledger.sqlite", folder / "new.sqlite"
    usable = [path for path in (here, there) if path.exists() and _usable(path)]
    if len(usable) > 1:
        return "two ledgers can be charged"
    _import(folder)
    if _usable(here) or not _usable(there):
        return "not moved by a second attempt"
    if str(Ledger.open(there).head()) != head or str(Ledger.open(here).head()) != head:
        return "an entry was lost"
    made = Ledger.open(there).reserve("data", UNIT, charge())
    return None if made.after.spent.epsilon == 4 * EACH else "another sum"


def _usable(path: Path) -> bool:
    ledger = Ledger.open(path)
    return ledger.head().number > 0 and ledger.closed() is None


Survived = Callable[[Path, str], str | None]
LIVES: dict[str, tuple[Callable[[Path], None], Survived]] = {
    "backup": (_backup, _backed_up),
    "import": (_import, _imported),
}
"""What is killed, and what must hold after."""


def kill_keeping(
    home: Path, torn: bool, what: str, step: int = 1, offset: int = 0
) -> dict[str, object]:
    """Kill it at its first write or flush, then at its second, and so on to its end.

    Of those that write pages, at one of ``step``.
    """
    act, survived = LIVES[what]
    shim = ctypes.CDLL(None)
    shim.shim_log.restype = ctypes.c_char_p
    failures: list[str] = []
    kills = 0
    with tempfile.TemporaryDirectory(dir=home) as name:
        folder, log, before = Path(name) / "ledger", Path(name) / "log", Path(name) / "before"
        before.mkdir()
        _new(before)
        head = str(Ledger.open(before / "ledger.sqlite").head())

        def live(at: int) -> int:
            def life() -> None:
                shim.shim_arm(os.fsencode(folder), ctypes.c_long(at), int(torn))
                act(folder)
                log.write_bytes(shim.shim_log())

            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(before, folder)
            return os.waitpid(in_child(life), 0)[1]

        assert live(-1) == 0  # once to its end, to know the calls
        calls = [line.split("\t")[0] for line in log.read_text().splitlines()]
        for at in moments(calls, torn, step, offset):
            kills += os.WIFSIGNALED(live(at))
            try:
                problem = survived(folder, head)
            except CrowdtallyError as error:
                problem = f"{type(error).__name__}: {error}"
            if problem is not None:
                failures.append(f"at call {at}: {problem}")
    return {"kills": kills, "failures": failures, "calls": calls}
