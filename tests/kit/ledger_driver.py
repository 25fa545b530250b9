"""A process that charges ledgers in children that are killed, crowded or deprived of rights.

Run by the tests as ``ledger_driver.py MODE …``; prints JSON. It is a program of its own so that it
may fork freely, with the fault shim preloaded or not.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

import sqlalchemy  # noqa: F401 - before forking, so that each child starts in no time

import crowdtally.ledger.database.store  # noqa: F401
from crowdtally.errors import CrowdtallyError
from crowdtally.ledger import Asked, DrawnBeforeError, Ledger, OverBudgetError
from kit.ledger_killed import (
    EACH,
    SHA,
    UNIT,
    charge,
    in_child,
    kill_at_every_call,
    kill_at_random,
    kill_keeping,
    publish,
    same_request,
)


def flushes(durable: bool) -> dict[str, object]:
    """What had been written but not flushed when each kind of entry was said to be recorded."""
    if not durable:  # a mutant that the tests must catch
        import crowdtally.ledger.database.sqlite as module

        module._PRAGMAS = ("synchronous=OFF",)
    shim = ctypes.CDLL(None)
    shim.shim_log.restype = ctypes.c_char_p
    unflushed: set[str] = set()
    with tempfile.TemporaryDirectory(dir=sys.argv[2]) as name:
        shim.shim_arm(os.fsencode(name), ctypes.c_long(-1), 0)
        ledger = Ledger.open(Path(name) / "new" / "ledger.sqlite", create=True)
        ledger.create("data", UNIT, epsilon=1)
        for number in range(3):
            made = ledger.reserve("data", UNIT, charge(str(number)))
            for then in (
                lambda made=made: ledger.start_drawing(made.id),
                lambda made=made: ledger.mark_published(made.id, SHA),
                lambda number=number: ledger.withdraw(str(number), "a wrong list"),
                lambda: ledger.set_limit("data", epsilon=2, reason="decided"),
                lambda: ledger.void(ledger.reserve("data", UNIT, charge()).id, "certain"),
            ):
                unflushed |= _unflushed(shim.shim_log().decode().splitlines(), name)
                then()
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


def crowd(location: str, processes: int, requests: int, fits: int, deeds: str) -> dict[str, object]:
    """Many processes ask at once for a budget that is enough for a few."""
    do = {"forward": forward, "giving-back": giving_back, "retrying": retrying}[deeds]
    Ledger.open(location, create=True).create("data", UNIT, epsilon=EACH * fits, each_epsilon=EACH)
    go_read, go_write = os.pipe()
    result_read, result_write = os.pipe()

    def ask() -> None:
        os.close(go_write)
        ledger, done = Ledger.open(location), Counter[str]()
        os.read(go_read, 1)  # returns when the parent closes its end
        for number in range(requests):
            done[do(ledger, number)] += 1
        os.write(result_write, f"{json.dumps(done)}\n".encode())

    children = [in_child(ask) for _ in range(processes)]
    os.close(go_read)
    os.close(go_write)
    os.close(result_write)
    with os.fdopen(result_read) as results:
        done = sum((Counter(json.loads(line)) for line in results), Counter[str]())
    statuses = [os.waitpid(child, 0)[1] for child in children]
    ledger = Ledger.open(location)
    charges = ledger.charges()
    found = Counter("withdrawn" if made.withdrawn else made.state for made in charges)
    return {
        "standing": sum(made.state != "voided" for made in charges),
        "refused": done["refused"],
        "asked": done.total(),
        "crashed": sum(status != 0 for status in statuses),
        "told": all(done[state] == found[state] for state in found),
        "exact": ledger.balance("data").spent.epsilon == EACH * fits,
        "whole": ledger.verify().ok,
    }


def forward(ledger: Ledger, number: int) -> str:
    """Charge, and go on as far as the number says; what became of it."""
    release = f"{os.getpid()}-{number}"
    try:
        made = ledger.reserve("data", UNIT, charge(release))
    except OverBudgetError:
        return "refused"
    if number % 4:
        ledger.start_drawing(made.id)
    if number % 4 > 1:
        ledger.mark_published(made.id, SHA)
    if number % 4 > 2:
        ledger.withdraw(release, "a wrong list")
    return ("reserved", "drawing", "published", "withdrawn")[number % 4]


def giving_back(ledger: Ledger, number: int) -> str:
    """Charge; of what was granted, give some back, so that others get it."""
    try:
        made = ledger.reserve("data", UNIT, charge())
    except OverBudgetError:
        return "refused"
    if number % 2:
        ledger.start_drawing(made.id)
    if number % 20 > 1:
        return "drawing" if number % 2 else "reserved"
    ledger.void(made.id, "certain")
    return "voided"


def retrying(ledger: Ledger, number: int) -> str:
    """All processes make the same requests: each is charged once, and drawn once."""
    try:
        made = ledger.reserve("data", UNIT, charge(), asked=Asked(request_id=f"request-{number}"))
        ledger.start_drawing(made.id)
    except OverBudgetError:
        return "refused"
    except DrawnBeforeError:
        return "drawn by another"
    return "drawing"


def birth(location: str, processes: int) -> dict[str, object]:
    """All processes open the same ledger, which is not there yet, and charge once."""
    go_read, go_write = os.pipe()
    made_read, made_write = os.pipe()

    def live() -> None:
        os.close(go_write)
        os.read(go_read, 1)
        ledger = Ledger.open(location, create=True)
        publish(ledger, ledger.reserve("data", UNIT, charge(), new_dataset=True).id)
        os.write(made_write, b"x" if ledger.created else b"")

    children = [in_child(live) for _ in range(processes)]
    os.close(go_read)
    os.close(go_write)
    crashed = sum(os.waitpid(child, 0)[1] != 0 for child in children)
    os.close(made_write)
    ledger = Ledger.open(location)
    return {
        "published": sum(made.state == "published" for made in ledger.charges()),
        "charged": int(ledger.balance("data").spent.epsilon / EACH),
        "crashed": crashed,
        "whole": ledger.verify().ok,
        "made by": len(os.read(made_read, 100)),
    }


def fork(location: str) -> dict[str, object]:
    """Children use the ledger that their parent opened, and so does the parent afterwards."""
    ledger = Ledger.open(location, create=True)
    ledger.create("data", UNIT, epsilon=EACH * 2)
    children = [
        in_child(lambda: publish(ledger, ledger.reserve("data", UNIT, charge()).id))
        for _ in range(2)
    ]
    crashed = sum(os.waitpid(child, 0)[1] != 0 for child in children)
    assert [made.state for made in ledger.charges()] == ["published"] * 2
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
        ledger = Ledger.open(disk / "ledger.sqlite", create=True)
        granted, said = 1, ""
        ledger.reserve("data", UNIT, charge(), new_dataset=True)
        _fill(disk)
        try:
            while True:
                ledger.reserve("data", UNIT, charge())
                granted += 1
        except CrowdtallyError as error:
            said = str(error)
        try:
            Ledger.open(disk / "second.sqlite", create=True)
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
        "read-only folder": lambda: Ledger.open(folder / "closed" / "ledger.sqlite", create=True),
        "no right to make a folder": lambda: Ledger.open(
            folder / "closed" / "new" / "ledger.sqlite", create=True
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
            Ledger.open(folder / path, create=True).reserve(
                "data", UNIT, charge(), new_dataset=True
            )
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


def race(location: str, requests: int) -> dict[str, int]:
    """Charge a shared ledger as one of several: how many requests were granted and refused.

    Waits for the end of its standard input, so that all begin together.
    """
    counts = {"granted": 0, "refused": 0}
    with Ledger.open(location) as ledger:
        sys.stdin.read()
        for number in range(requests):
            try:
                made = ledger.reserve("data", UNIT, charge(f"release-{number}"))
                ledger.start_drawing(made.id)
                counts["granted"] += 1
            except OverBudgetError:
                counts["refused"] += 1
    return counts


def main() -> object:
    mode, rest = sys.argv[1], sys.argv[3:]
    if mode == "random":
        return kill_at_random(Path(sys.argv[2]), int(rest[0]), int(rest[1]), rest[2])
    if mode == "every-call":
        return kill_at_every_call(
            Path(sys.argv[2]), rest[0] == "torn", rest[1], *map(int, rest[2:])
        )
    if mode == "keeping":
        return kill_keeping(Path(sys.argv[2]), rest[0] == "torn", rest[1], *map(int, rest[2:]))
    if mode == "flushes":
        return flushes(rest[0] == "durable")
    if mode == "crowd":
        return crowd(sys.argv[2], *map(int, rest[:3]), rest[3])
    if mode == "race":
        return race(sys.argv[2], int(rest[0]))
    if mode == "birth":
        return birth(sys.argv[2], int(rest[0]))
    if mode == "same-request":
        return same_request(sys.argv[2], Path(rest[0]), *map(int, rest[1:]))
    if mode == "fork":
        return fork(sys.argv[2])
    if mode == "full-disk":
        return on_full_disk()
    return prepare_and_drop()


if __name__ == "__main__":
    print(json.dumps(main()))
