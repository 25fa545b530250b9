"""Whole runs that are killed, at random or at every write, flush, link, rename and removal.

After each kill every charge is given back that the ledger lets go: what anybody can find must still
be paid for.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from unittest import mock

from budget.driven import EACH, UNIT, charge, in_child
from crowdtally.budget import Ledger, Reservation
from crowdtally.curator import publish
from crowdtally.curator.stages import marking
from crowdtally.errors import CrowdtallyError, UsageError
from crowdtally.published import Staged
from crowdtally.values.epsilon import Epsilon
from kit.bare import DATASET, bare_publish, nothing_to_count, released


@contextlib.contextmanager
def in_order(order: str) -> Iterator[None]:
    """The main line as it is or, a mutant that the tests must catch, renaming before the mark."""

    def rename_first(reservation: Reservation, staged: Staged) -> AbstractContextManager[None]:
        staged.commit()
        staged.commit = lambda: None  # type: ignore[method-assign]
        return marking(reservation, staged)

    chosen = {"mark-first": marking, "rename-first": rename_first}[order]
    with nothing_to_count(Epsilon(EACH)), mock.patch.object(publish, "marking", chosen):
        yield


def survived(folder: Path) -> str | None:
    """What is wrong after a crash; None if all holds and the ledger goes on."""
    try:
        ledger = Ledger.open(folder / "ledger.sqlite", create=True)
        kept = _give_back(ledger)
        found = ledger.verify()
        if not found.ok:
            return found.describe()
        if ledger.check(DATASET, UNIT, EACH, new_dataset=True).spent.epsilon != len(kept) * EACH:
            return "the sum is not that of the charges that stand"
        if left := set(released(folder)) - kept:
            return f"released and not paid for: {left}"
        ledger.void(ledger.reserve(DATASET, UNIT, charge(), new_dataset=True).id, "it goes on")
    except CrowdtallyError as error:
        return f"{type(error).__name__}: {error}"
    return None


def _give_back(ledger: Ledger) -> set[tuple[str, str | None]]:
    """Void what can be voided; the entries and hashes of what is published, which cannot."""
    for made in ledger.charges():
        if made.state == "reserved":
            if made.staged is not None and made.staged.is_here:
                with contextlib.suppress(UsageError):
                    ledger.void(made.id, "killed")
                    raise AssertionError(f"{made.id} was voided while its folder exists")
            ledger.void(made.id, "killed", delete_staged=True)
    return {(made.id, made.sha256) for made in ledger.charges() if made.state == "published"}


def kill_at_random(home: Path, kills: int, seed: int, order: str) -> dict[str, object]:
    """Kill a child at random moments of a loop of releases."""
    generator = random.Random(seed)
    failures, releases, span = [], 0, 0.0
    with tempfile.TemporaryDirectory(dir=home) as name, in_order(order):
        folder = Path(name) / "ledger"

        def loop(times: int = 10**6) -> None:
            ledger = Ledger.open(folder / "ledger.sqlite", create=True)
            for _ in range(times):
                bare_publish(ledger, folder / f"out-{random.SystemRandom().getrandbits(60)}")

        for kill in range(kills):
            if kill % 20 == 0:  # a new ledger now and then: its creation counts too
                releases += len(released(folder))
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
            if kill % 10 == 0:  # how long a life is on this machine, as busy as it now is
                start = time.perf_counter()
                os.waitpid(in_child(lambda: loop(3)), 0)
                span = time.perf_counter() - start
            child = in_child(loop)
            time.sleep(generator.uniform(0, span))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            if problem := survived(folder):
                failures.append(problem)
        releases += len(released(folder))
    return {"kills": kills, "releases": releases, "failures": failures}


def scenario(folder: Path) -> None:
    """A short life with every kind of write: creation, limits, a whole run, a void."""
    ledger = Ledger.open(folder / "ledger.sqlite", create=True)
    ledger.create(DATASET, UNIT, epsilon=100)
    bare_publish(ledger, folder / "out")
    reservation = ledger.reserve(DATASET, UNIT, charge(), new_dataset=True)
    ledger.void(reservation.id, "nothing was drawn")


def kill_at_every_call(home: Path, torn: bool, order: str = "mark-first") -> dict[str, object]:
    """Kill the scenario at its first write or flush, then at its second, and so on to its end."""
    shim = ctypes.CDLL(None)
    shim.shim_log.restype = ctypes.c_char_p
    failures: list[str] = []
    kills = between = 0
    with tempfile.TemporaryDirectory(dir=home) as name, in_order(order):
        folder, log = Path(name) / "ledger", Path(name) / "log"

        def live(at: int) -> int:
            def life() -> None:
                shim.shim_arm(os.fsencode(folder), ctypes.c_long(at), int(torn))
                scenario(folder)
                log.write_bytes(shim.shim_log())

            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            return os.waitpid(in_child(life), 0)[1]

        assert live(-1) == 0  # once to its end, to know the calls
        calls = [line.split("\t")[0] for line in log.read_text().splitlines()]
        for at, call in enumerate(calls, 1):
            if torn and "write" not in call:
                continue  # nothing to tear; the other run kills here
            status = live(at)
            kills += os.WIFSIGNALED(status)
            between += _marked_not_renamed(folder)
            if problem := survived(folder):
                failures.append(f"at call {at}: {problem}")
                if order != "mark-first":
                    break  # the mutant is caught
        assert live(len(calls) + 1) == 0
    return {"kills": kills, "failures": failures, "calls": calls, "between": between}


def _marked_not_renamed(folder: Path) -> bool:
    """Whether a finished, paid release still lies under its temporary name, and says so."""
    if not (folder / "ledger.sqlite").exists():
        return False
    hints = (made.hint() for made in Ledger.open(folder / "ledger.sqlite", create=True).charges())
    return any(hint is not None and "paid for, but not in place" in hint for hint in hints)
