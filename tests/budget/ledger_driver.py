"""A process that charges ledgers in children that are killed, crowded or deprived of rights.

Run by the tests as ``ledger_driver.py MODE …``; prints JSON. It is a program of its own so that it
may fork freely, with the fault shim preloaded or not.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import sqlalchemy  # noqa: F401 - before forking, so that each child starts in no time

import crowdtally.budget.store  # noqa: F401
from crowdtally.budget import Charge, Ledger, OverBudgetError, Part
from crowdtally.errors import CrowdtallyError
from crowdtally.values.epsilon import Epsilon
from crowdtally.values.unit import PrivacyUnit

UNIT = PrivacyUnit("user", "user_id")
EACH = Fraction(1, 7)


def charge() -> Charge:
    return Charge("r", Epsilon(EACH), (Part("items", Epsilon(EACH), "discrete-laplace"),))


def in_child(work: Callable[[], object]) -> int:
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return child


def release_once(ledger: Ledger, folder: Path, *, charge_first: bool = True) -> None:
    """Charge, then let one byte out; the wrong order is a mutant that the tests must catch."""
    reservation = None
    if charge_first:
        reservation = ledger.reserve("data", UNIT, charge())
    out = os.open(folder / "released", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(out, b"x")
    os.fsync(out)
    os.close(out)
    reservation = reservation or ledger.reserve("data", UNIT, charge())
    ledger.mark_published(reservation.id)


def released(folder: Path) -> int:
    """How many releases went out."""
    out = folder / "released"
    return out.stat().st_size if out.exists() else 0


def survived(folder: Path) -> str | None:
    """What is wrong after a crash; None if all holds and the ledger goes on."""
    try:
        ledger = Ledger.open(folder / "ledger.sqlite")
        found = ledger.verify()
        spent = ledger.check("data", UNIT, EACH).spent.epsilon
        if not found.ok:
            return found.describe()
        if spent < released(folder) * EACH:
            return f"spent {spent}, released {released(folder)} x {EACH}"
        ledger.reserve("data", UNIT, charge())
    except CrowdtallyError as error:
        return f"{type(error).__name__}: {error}"
    return None


def kill_at_random(kills: int, seed: int, charge_first: bool) -> dict[str, object]:
    """Kill a child at random moments of a loop of releases."""
    generator = random.Random(seed)
    failures, releases = [], 0
    with tempfile.TemporaryDirectory(dir=sys.argv[2]) as name:
        folder = Path(name) / "ledger"

        def loop(times: int = 10**6) -> None:
            ledger = Ledger.open(folder / "ledger.sqlite")
            for _ in range(times):
                release_once(ledger, folder, charge_first=charge_first)

        for kill in range(kills):
            if kill % 20 == 0:  # a new ledger now and then: its creation counts too
                releases += released(folder)
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
        releases += released(folder)
    return {"kills": kills, "releases": releases, "failures": failures}


def scenario(folder: Path) -> None:
    """A short life with every kind of write: creation, limits, charges, publishing, a void."""
    ledger = Ledger.open(folder / "ledger.sqlite")
    ledger.create("data", UNIT, epsilon=100)
    release_once(ledger, folder)
    reservation = ledger.reserve("data", UNIT, charge())
    ledger.void(reservation.id, "nothing was drawn")


def kill_at_every_call(torn: bool) -> dict[str, object]:
    """Kill the scenario at its first write or flush, then at its second, and so on to its end."""
    shim = ctypes.CDLL(None)
    shim.shim_log.restype = ctypes.c_char_p
    failures: list[str] = []
    kills = 0
    with tempfile.TemporaryDirectory(dir=sys.argv[2]) as name:
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
            if problem := survived(folder):
                failures.append(f"at call {at}: {problem}")
        assert live(len(calls) + 1) == 0
    return {"kills": kills, "failures": failures, "calls": calls}


def flushes(durable: bool) -> dict[str, object]:
    """What had been written but not flushed when each reservation returned."""
    if not durable:  # a mutant that the tests must catch
        import crowdtally.budget.sqlite_file as module

        module._PRAGMAS = ("synchronous=OFF",)
    shim = ctypes.CDLL(None)
    shim.shim_log.restype = ctypes.c_char_p
    unflushed: set[str] = set()
    with tempfile.TemporaryDirectory(dir=sys.argv[2]) as name:
        shim.shim_arm(os.fsencode(name), ctypes.c_long(-1), 0)
        ledger = Ledger.open(Path(name) / "new" / "ledger.sqlite")
        for _ in range(3):
            ledger.reserve("data", UNIT, charge())
            unflushed |= _unflushed(shim.shim_log().decode().splitlines(), name)
        shim.shim_arm(b"", ctypes.c_long(-1), 0)
    return {"unflushed": sorted(unflushed)}


def _unflushed(log: list[str], root: str) -> set[str]:
    dirty: set[str] = set()
    for line in log:
        what, path = line.split("\t")
        if what == "fsync":
            dirty.discard(path)
        elif what in {"unlink", "link", "rename"}:
            dirty.discard(path)
            dirty.add(os.path.dirname(path))
        else:
            dirty.add(path)
    return {os.path.relpath(path, root) for path in dirty}


def crowd(location: str, processes: int, requests: int, fits: int) -> dict[str, object]:
    """Many processes ask at once for a budget that is enough for a few."""
    Ledger.open(location).create("data", UNIT, epsilon=EACH * fits)
    go_read, go_write = os.pipe()
    result_read, result_write = os.pipe()

    def ask() -> None:
        os.close(go_write)
        ledger = Ledger.open(location)
        os.read(go_read, 1)  # returns when the parent closes its end
        granted = refused = 0
        for _ in range(requests):
            try:
                ledger.reserve("data", UNIT, charge())
                granted += 1
            except OverBudgetError:
                refused += 1
        os.write(result_write, f"{granted} {refused}\n".encode())

    children = [in_child(ask) for _ in range(processes)]
    os.close(go_read)
    os.close(go_write)
    os.close(result_write)
    with os.fdopen(result_read) as results:
        counts = [tuple(map(int, line.split())) for line in results]
    statuses = [os.waitpid(child, 0)[1] for child in children]
    ledger = Ledger.open(location)
    return {
        "granted": sum(granted for granted, _ in counts),
        "refused": sum(refused for _, refused in counts),
        "crashed": sum(status != 0 for status in statuses),
        "exact": ledger.balance("data").spent.epsilon == EACH * fits,
        "whole": ledger.verify().ok,
    }


def birth(location: str, processes: int) -> dict[str, object]:
    """All processes open the same ledger, which is not there yet, and charge once."""
    go_read, go_write = os.pipe()
    made_read, made_write = os.pipe()

    def live() -> None:
        os.close(go_write)
        os.read(go_read, 1)
        ledger = Ledger.open(location)
        ledger.reserve("data", UNIT, charge())
        os.write(made_write, b"x" if ledger.created else b"")

    children = [in_child(live) for _ in range(processes)]
    os.close(go_read)
    os.close(go_write)
    crashed = sum(os.waitpid(child, 0)[1] != 0 for child in children)
    os.close(made_write)
    ledger = Ledger.open(location)
    return {
        "charged": int(ledger.balance("data").spent.epsilon / EACH),
        "crashed": crashed,
        "whole": ledger.verify().ok,
        "made by": len(os.read(made_read, 100)),
    }


def fork(location: str) -> dict[str, object]:
    """Children use the ledger that their parent opened, and so does the parent afterwards."""
    ledger = Ledger.open(location)
    ledger.create("data", UNIT, epsilon=EACH * 2)
    children = [in_child(lambda: ledger.reserve("data", UNIT, charge())) for _ in range(2)]
    crashed = sum(os.waitpid(child, 0)[1] != 0 for child in children)
    try:
        ledger.reserve("data", UNIT, charge())
    except OverBudgetError:
        return {"crashed": crashed, "refused": True}
    return {"crashed": crashed, "refused": False}


def on_full_disk() -> dict[str, object]:
    """On a file system of 400 kB, in a mount namespace of our own: fill it, charge, free it."""
    with tempfile.TemporaryDirectory() as name:
        if os.system(f"mount -t tmpfs -o size=400k tmpfs {name}"):
            raise SystemExit("cannot mount")
        disk = Path(name)
        ledger = Ledger.open(disk / "ledger.sqlite")
        granted, said = 1, ""
        ledger.reserve("data", UNIT, charge())
        _fill(disk)
        try:
            while True:
                ledger.reserve("data", UNIT, charge())
                granted += 1
        except CrowdtallyError as error:
            said = str(error)
        try:
            Ledger.open(disk / "second.sqlite")
            created = "made on a full disk"
        except CrowdtallyError as error:
            created = str(error)
        left = sorted(path.name for path in disk.iterdir())
        (disk / "filler").unlink()
        spent = ledger.balance("data").spent.epsilon
        ledger.reserve("data", UNIT, charge())
        whole = Ledger.open(disk / "ledger.sqlite").verify().ok
        os.system(f"umount {name}")
    exact = spent == granted * EACH
    return {"said": said, "created": created, "left": left, "exact": exact, "whole": whole}


def _fill(disk: Path) -> None:
    with (disk / "filler").open("wb", buffering=0) as filler:
        for size in (4096, 1):
            try:
                while True:
                    filler.write(b"\0" * size)
            except OSError:
                pass


def without_rights(folder: Path) -> dict[str, str]:
    """What an unprivileged user is told: a file or folder that it may not write or read."""
    said: dict[str, str] = {}
    attempts = {
        "read-only folder": lambda: Ledger.open(folder / "closed" / "ledger.sqlite"),
        "no right to make a folder": lambda: Ledger.open(
            folder / "closed" / "new" / "ledger.sqlite"
        ),
        "read-only file": lambda: Ledger.open(folder / "readable.sqlite").reserve(
            "data", UNIT, charge()
        ),
        "folder lost": lambda: Ledger.open(folder / "shut" / "ledger.sqlite").reserve(
            "data", UNIT, charge()
        ),
        "file lost": lambda: Ledger.open(folder / "private.sqlite").reserve("data", UNIT, charge()),
        "no journal": lambda: Ledger.open(folder / "sealed" / "ledger.sqlite").reserve(
            "data", UNIT, charge()
        ),
    }
    for name, attempt in attempts.items():
        try:
            attempt()
            said[name] = "charged"
        except CrowdtallyError as error:
            said[name] = f"{error.exit_code} {error}"
    reading = Ledger.open(folder / "readable.sqlite").balance("data").spent.epsilon
    return {**said, "reading still works": str(reading)}


def prepare_and_drop() -> dict[str, str]:
    """Make ledgers as whoever runs this, then, as nobody if that was root, try to use them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        for sub in ("closed", "shut", "sealed"):
            (folder / sub).mkdir()
        for path in (
            "readable.sqlite",
            "private.sqlite",
            "shut/ledger.sqlite",
            "sealed/ledger.sqlite",
        ):
            Ledger.open(folder / path).reserve("data", UNIT, charge())
        modes = {
            "readable.sqlite": 0o444, "private.sqlite": 0o000, "closed": 0o555, "shut": 0o000,
            "sealed/ledger.sqlite": 0o666, "sealed": 0o555, ".": 0o555,
        }  # fmt: skip
        for path, mode in modes.items():
            (folder / path).chmod(mode)
        report = folder.parent / f"{folder.name}.json"
        report.touch()
        report.chmod(0o666)

        def attempt() -> None:
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            report.write_text(json.dumps(without_rights(folder)))

        _, status = os.waitpid(in_child(attempt), 0)
        said = report.read_text()
        report.unlink()
        for path in (".", "closed", "shut", "sealed"):
            (folder / path).chmod(0o755)
        for path in ("shut/ledger.sqlite", "sealed/ledger.sqlite", "private.sqlite"):
            (folder / path).chmod(0o600)
            assert Ledger.open(folder / path).balance("data").spent.epsilon == EACH
    assert status == 0
    return json.loads(said)  # type: ignore[no-any-return]


def main() -> object:
    mode, rest = sys.argv[1], sys.argv[3:]
    if mode == "random":
        return kill_at_random(int(rest[0]), int(rest[1]), rest[2] == "charge-first")
    if mode == "every-call":
        return kill_at_every_call(rest[0] == "torn")
    if mode == "flushes":
        return flushes(rest[0] == "durable")
    if mode == "crowd":
        return crowd(sys.argv[2], *map(int, rest))
    if mode == "birth":
        return birth(sys.argv[2], int(rest[0]))
    if mode == "fork":
        return fork(sys.argv[2])
    if mode == "full-disk":
        return on_full_disk()
    return prepare_and_drop()


if __name__ == "__main__":
    print(json.dumps(main()))
