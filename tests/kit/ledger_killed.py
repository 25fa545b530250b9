"""Processes that charge, back up and publish, and are killed at every step."""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import shutil
import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from fractions import Fraction
from pathlib import Path
from unittest import mock

from crowdtally.core.privacy import Epsilon, PrivacyUnit
from crowdtally.curator import publish as publish_killing
from crowdtally.curator.failures import marking, starting
from crowdtally.errors import CrowdtallyError, UsageError
from crowdtally.format import Staged
from crowdtally.ledger import Charge, Charged, DrawnBeforeError, Ledger, Part, Reservation
from kit.publishing import DATASET, bare_publish, nothing_to_count, released

# ---- What the driver's modes share: a charge, and children that may die --------------------------


UNIT = PrivacyUnit("user", "user_id")
EACH = Fraction(1, 7)
SHA = "5a" * 32
"""Any SHA-256."""


def charge(release: str = "r") -> Charge:
    return Charge(release, Epsilon(EACH), (Part("items", Epsilon(EACH), "discrete-laplace"),))


def publish(ledger: Ledger, reservation_id: str) -> None:
    """What a run does with its charge, to the end."""
    ledger.start_drawing(reservation_id)
    ledger.mark_published(reservation_id, SHA)


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


def moments(calls: Sequence[str], torn: bool, step: int = 1, offset: int = 0) -> list[int]:
    """At which calls to kill: one of ``step`` that write a page, from ``offset``, and each other.

    Those that write pages are most of them, one like the next. Where writes are torn, only at
    writes: elsewhere there is nothing to tear, and another run kills there.
    """
    paging = [at for at, call in enumerate(calls, 1) if call == "pwrite"]
    left_out = {*paging} - {*paging[offset % step :: step]}
    return [
        at
        for at, call in enumerate(calls, 1)
        if at not in left_out and (not torn or "write" in call)
    ]


# ---- Whole runs that are killed, at random or at every write, flush, link, rename and removal ----
#
# After each kill every request with an id is made again: it must be charged once and drawn at
# most once, and be shown or say why not. Then every charge is given back that the ledger lets go:
# what anybody can find must still be paid for.


KEY = "the scenario's request"


class Noted:
    """Which request each draw was for, in a file that outlives the process and is not its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.request = ""

    def draw(self) -> None:
        """Noise for the request of now."""
        with self.path.open("a") as notes:
            notes.write(f"{self.request}\n")

    def draws(self) -> Counter[str]:
        """How often noise was drawn for each request."""
        return Counter(self.path.read_text().splitlines() if self.path.exists() else ())

    def run(self, ledger: Ledger, target: Path, request_id: str | None = None) -> None:
        """The real main line with nothing to count."""
        self.request = request_id or ""
        bare_publish(ledger, target, request_id=request_id)


@contextlib.contextmanager
def in_order(order: str, noted: Noted) -> Iterator[None]:
    """The main line as it is or, mutants that the tests must catch, in another order."""

    def rename_first(
        reservation: Reservation, staged: Staged, key: str | None
    ) -> AbstractContextManager[None]:
        staged.commit()
        staged.commit = lambda: None  # type: ignore[method-assign]
        return marking(reservation, staged, key)

    def draw_first(
        reservation: Reservation, staged: Staged, key: str | None
    ) -> AbstractContextManager[None]:
        noted.draw()
        return starting(reservation, staged, key)

    draws_first = order == "draw-first"
    with (
        nothing_to_count(Epsilon(EACH), (lambda: None) if draws_first else noted.draw),
        mock.patch.object(
            publish_killing, "marking", rename_first if order == "rename-first" else marking
        ),
        mock.patch.object(publish_killing, "starting", draw_first if draws_first else starting),
    ):
        yield


def survived(folder: Path, noted: Noted, seen: Counter[str]) -> str | None:
    """What is wrong after a crash; None if all holds and the ledger goes on.

    ``seen`` counts in which states requests with an id were made again.
    """
    try:
        ledger = Ledger.open(folder / "ledger.sqlite", create=True)
        if problem := _all_made_again(ledger, folder, noted, seen):
            return problem
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


def _key(made: Charged) -> str:
    return (made.asked.request_id if made.asked else None) or ""


def _all_made_again(ledger: Ledger, folder: Path, noted: Noted, seen: Counter[str]) -> str | None:
    """What is wrong once every request with an id was made again, to its end."""
    before = {_key(made): made for made in ledger.charges() if _key(made)}
    refused: dict[str, str] = {}
    for key in {KEY, *before}:
        state = before[key].state if key in before else "new"
        if state == "voided":
            continue
        seen[state] += 1
        try:
            noted.run(ledger, _folder_of(folder, key), key)
        except DrawnBeforeError as error:
            refused[key] = str(error)
    after, found, draws = ledger.charges(), set(released(folder)), noted.draws()
    made = Counter(map(_key, after))
    for paid in after:
        key = _key(paid)
        if key and (made[key] > 1 or draws[key] > 1):
            return f"{made[key]} charges and {draws[key]} draws for one request"
        if problem := _not_told(paid, refused.get(key), found):
            return problem
    return None


def _not_told(made: Charged, refused: str | None, found: set[tuple[str, str]]) -> str | None:
    """What is wrong with how a request that was made again ended: shown, or refused with words."""
    if not _key(made) or made.state == "voided":
        return None
    if refused is not None:
        said = made.id in refused and "needs a new request id" in refused
        return None if made.state == "drawing" and said else f"refused, {made.state}: {refused}"
    shown = made.state == "published" and (made.id, made.sha256) in found
    return None if shown else f"not shown: {made.state}"


def _folder_of(folder: Path, key: str) -> Path:
    return folder / ("keyed" if key == KEY else f"out-{key}")


def _give_back(ledger: Ledger) -> set[tuple[str, str | None]]:
    """Void what can be voided; the entries and hashes of what is published, which cannot."""
    for made in ledger.charges():
        if made.state in {"reserved", "drawing"}:
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
    seen: Counter[str] = Counter()
    with contextlib.ExitStack() as held:
        name = held.enter_context(tempfile.TemporaryDirectory(dir=home))
        folder, noted = Path(name) / "ledger", Noted(Path(name) / "draws")
        held.enter_context(in_order(order, noted))

        def loop(times: int = 10**6) -> None:
            ledger = Ledger.open(folder / "ledger.sqlite", create=True)
            for turn in range(times):
                key = f"{random.SystemRandom().getrandbits(60)}"
                noted.run(ledger, _folder_of(folder, key), key if turn % 3 else None)

        for kill in range(kills):
            if kill % 5 == 0:  # a new ledger now and then: its creation counts too
                releases += len(released(folder))
                shutil.rmtree(folder, ignore_errors=True)
                noted.path.unlink(missing_ok=True)
                folder.mkdir()
            if kill % 10 == 0:  # how long a life is on this machine, as busy as it now is
                start = time.perf_counter()
                os.waitpid(in_child(lambda: loop(3)), 0)
                span = time.perf_counter() - start
            child = in_child(loop)
            time.sleep(generator.uniform(0, span))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            if problem := survived(folder, noted, seen):
                failures.append(problem)
        releases += len(released(folder))
    return {"kills": kills, "releases": releases, "failures": failures, "again": seen}


def scenario(folder: Path, noted: Noted) -> None:
    """A short life with every kind of write: creation, limits, whole runs, a void."""
    ledger = Ledger.open(folder / "ledger.sqlite", create=True)
    ledger.create(DATASET, UNIT, epsilon=100)
    noted.run(ledger, folder / "out")
    noted.run(ledger, _folder_of(folder, KEY), KEY)
    reservation = ledger.reserve(DATASET, UNIT, charge(), new_dataset=True)
    ledger.void(reservation.id, "nothing was drawn")


def kill_at_every_call(
    home: Path, torn: bool, order: str = "mark-first", step: int = 1, offset: int = 0
) -> dict[str, object]:
    """Kill the scenario at its first write or flush, then at its second, and so on to its end.

    Of those that write pages, at one of ``step``. A wrong order is to be caught once: then the last
    comes first.
    """
    shim = ctypes.CDLL(None)
    shim.shim_log.restype = ctypes.c_char_p
    failures: list[str] = []
    kills = between = 0
    seen: Counter[str] = Counter()
    with contextlib.ExitStack() as held:
        name = held.enter_context(tempfile.TemporaryDirectory(dir=home))
        folder, log = Path(name) / "ledger", Path(name) / "log"
        noted = Noted(Path(name) / "draws")
        held.enter_context(in_order(order, noted))

        def live(at: int) -> int:
            def life() -> None:
                shim.shim_arm(os.fsencode(folder), ctypes.c_long(at), int(torn))
                scenario(folder, noted)
                log.write_bytes(shim.shim_log())

            shutil.rmtree(folder, ignore_errors=True)
            noted.path.unlink(missing_ok=True)
            folder.mkdir()
            return os.waitpid(in_child(life), 0)[1]

        assert live(-1) == 0  # once to its end, to know the calls
        calls = [line.split("\t")[0] for line in log.read_text().splitlines()]
        tried = moments(calls, torn, step, offset)
        if order != "mark-first":
            tried.reverse()  # what a wrong order does shows near the end
        for at in tried:
            status = live(at)
            kills += os.WIFSIGNALED(status)
            between += _marked_not_renamed(folder)
            if problem := survived(folder, noted, seen):
                failures.append(f"at call {at}: {problem}")
                if order != "mark-first":
                    break  # the mutant is caught
        assert live(len(calls) + 1) == 0
    return {
        "kills": kills, "failures": failures, "calls": calls, "between": between, "again": seen,
    }  # fmt: skip


def _marked_not_renamed(folder: Path) -> bool:
    """Whether a finished, paid release still lies under its temporary name, and says so."""
    if not (folder / "ledger.sqlite").exists():
        return False
    hints = (made.hint() for made in Ledger.open(folder / "ledger.sqlite", create=True).charges())
    return any(hint is not None and "paid for, but not in place" in hint for hint in hints)


# ---- Backups and imports that are killed at every write, flush, link and removal -----------------


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


# ---- Processes that make the same request at once ------------------------------------------------


def same_request(location: str, home: Path, processes: int, rounds: int) -> dict[str, object]:
    """In each round all make one request, with budget for it alone; one of them is to be told."""
    noted, ended, wrong = Noted(home / "draws"), Counter[str](), 0
    ledger = Ledger.open(location, create=True)
    ledger.create(DATASET, UNIT, epsilon=EACH * rounds)
    with in_order("mark-first", noted):
        for turn in range(rounds):
            ledger.set_limit(DATASET, epsilon=EACH * (turn + 1), reason="one more")
            key, target = f"request {turn}", home / f"out-{turn}"
            ended += _all_at_once(location, key, target, noted, processes)
            noted.run(ledger, target, key)  # whoever comes later is shown the release
            made = [c for c in ledger.charges() if c.asked and c.asked.request_id == key]
            wrong += len(made) != 1 or made[0].state != "published" or noted.draws()[key] != 1
    return {
        "ended": ended,
        "wrong": wrong,
        "releases": len(released(home)),
        "exact": ledger.balance(DATASET).spent.epsilon == EACH * rounds,
        "whole": ledger.verify().ok,
        "left": [path.name for path in home.iterdir() if path.name.endswith(".part")],
    }


def _all_at_once(
    location: str, key: str, target: Path, noted: Noted, processes: int
) -> Counter[str]:
    go_read, go_write = os.pipe()
    said_read, said_write = os.pipe()

    def ask() -> None:
        os.close(go_write)
        ledger = Ledger.open(location)
        os.read(go_read, 1)  # returns when the parent closes its end
        try:
            noted.run(ledger, target, key)
            said = "released or shown"
        except DrawnBeforeError as error:
            said = "stopped" if "request id" in str(error) else f"stopped: {error}"
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
        os.write(said_write, f"{said}\n".encode())

    children = [in_child(ask) for _ in range(processes)]
    for end in (go_read, go_write, said_write):
        os.close(end)
    with os.fdopen(said_read) as lines:
        said = Counter(line.strip() for line in lines)
    for child in children:
        os.waitpid(child, 0)
    return said
