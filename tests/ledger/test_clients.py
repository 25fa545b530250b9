"""Many clients of one ledger, and servers that refuse, forget, wait or break."""

from __future__ import annotations

import json
import queue
import random
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Connection, event
from sqlalchemy.exc import OperationalError

from crowdtally.core.privacy import Epsilon
from crowdtally.errors import CrowdtallyError, UsageError
from crowdtally.ledger import (
    Ledger,
    LedgerError,
    MissingLedgerError,
    NotAllowedError,
    OverBudgetError,
    Reservation,
    UnknownOutcomeError,
)
from crowdtally.ledger.database.store import Page
from kit.ledgers import USER, PostgresServer, charge, drive_at_once, folder, location, server
from kit.publishing import DATASET, bare_publish, nothing_to_count, released

__all__ = ["folder", "location", "server"]


# ---- Eight processes ask at once for a budget that is enough for 41 requests of 480 --------------
#
# `make test-all` also has them ask 1600 times for 137. They go on to draw, publish and withdraw,
# give charges back, or repeat each other's requests.


SIZES = pytest.mark.parametrize(
    ("requests", "fits", "repeats"),
    [
        pytest.param(60, 41, 1, id="1"),
        pytest.param(200, 137, 20, id="20", marks=pytest.mark.long),
    ],
)
PROCESSES = 8


def crowded(location: object, deeds: str, requests: int, fits: int) -> None:
    """What comes of 8 × ``requests``; ``told`` is whether every process was told what is so."""
    found = json.loads(drive_at_once("crowd", location, PROCESSES, requests, fits, deeds))
    refused, asked = found.pop("refused"), PROCESSES * requests
    assert found == {
        "standing": fits, "asked": asked, "crashed": 0, "told": True, "exact": True, "whole": True,
    }  # fmt: skip
    if deeds == "forward":
        assert refused == asked - fits
    elif deeds == "giving-back":
        least = asked - fits - asked // 10  # one request in ten is given back if it is granted
        assert least <= refused < asked - fits, "what was given back was granted again"
    else:
        assert refused == (requests - fits) * PROCESSES


@SIZES
def test_on_sqlite(requests: int, fits: int, repeats: int) -> None:
    # On a disk, not in memory: its waits are part of it.
    with tempfile.TemporaryDirectory(dir="/var/tmp") as disk:
        for repeat in range(repeats):
            crowded(Path(disk) / f"{repeat}.sqlite", "forward", requests, fits)


@SIZES
def test_on_postgresql(server: PostgresServer, requests: int, fits: int, repeats: int) -> None:
    for _ in range(repeats):
        crowded(server.new_schema(), "forward", requests, fits)


@pytest.mark.parametrize(
    ("requests", "fits"), [(60, 41), pytest.param(200, 137, marks=pytest.mark.long)]
)
@pytest.mark.parametrize("deeds", ["giving-back", "retrying"])
def test_voids_and_retries(location: str, deeds: str, requests: int, fits: int) -> None:
    crowded(location, deeds, requests, fits)


@pytest.mark.parametrize("repeats", [1, pytest.param(3, marks=pytest.mark.long)])
def test_making_the_ledger_is_a_race_too(folder: Path, repeats: int) -> None:
    """All processes make the same new ledger; all end up in one, and none loses its charge."""
    for repeat in range(repeats):
        found = json.loads(drive_at_once("birth", folder / f"{repeat}.sqlite", 8))
        assert found == {"charged": 8, "published": 8, "crashed": 0, "whole": True, "made by": 1}
    assert {path.suffix for path in folder.iterdir()} == {".sqlite"}


def test_making_it_on_a_server_is_a_race_too(server: PostgresServer) -> None:
    found = json.loads(drive_at_once("birth", server.new_schema(), 8))
    assert found == {"charged": 8, "published": 8, "crashed": 0, "whole": True, "made by": 1}


# ---- A PostgreSQL server that refuses, forgets, waits or breaks: said in words, no password ------


@pytest.fixture
def ledger(server: PostgresServer) -> Iterator[Ledger]:
    with Ledger.open(server.new_schema(), create=True) as opened:
        yield opened


def said(error: pytest.ExceptionInfo[LedgerError], server: PostgresServer) -> str:
    text = str(error.value)
    assert server.password not in text
    assert "psycopg" not in text
    assert "[SQL" not in text
    assert error.value.exit_code == 1
    return text


def test_wrong_password(server: PostgresServer) -> None:
    with pytest.raises(LedgerError) as caught:
        Ledger.open(server.url("postgres", password="not-the-secret"), create=True)
    text = said(caught, server)
    assert "not-the-secret" not in text
    assert "did not accept the password. Check the user and the password" in text


def test_unreachable(server: PostgresServer) -> None:
    for host in ("127.0.0.1:1", "no-such-host.invalid"):
        with pytest.raises(LedgerError) as caught:
            Ledger.open(f"postgresql://ana:{server.password}@{host}/db", create=True)
        assert "cannot be reached. Check that the server runs" in said(caught, server)


def test_no_such_database(server: PostgresServer) -> None:
    with pytest.raises(LedgerError) as caught:
        Ledger.open(server.url("nowhere"), create=True)
    assert "no such user or database" in said(caught, server)


def test_lost_permission(server: PostgresServer) -> None:
    database = server.new_database()
    Ledger.open(server.url(database), create=True).create("data", USER)
    server.execute("DROP ROLE IF EXISTS ana", "CREATE ROLE ana LOGIN PASSWORD 'x'")
    server.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO ana", database=database)
    ana = Ledger.open(server.url(database, "ana", "x"), create=True)
    assert ana.balance("data").spent.epsilon == 0
    with pytest.raises(NotAllowedError) as caught:
        ana.reserve("data", USER, charge(1), new_dataset=True)
    assert "does not let this role use it. Nothing was changed." in said(caught, server)
    assert "crowdtally ledger grant ROLE --run" in said(caught, server)
    with pytest.raises(LedgerError) as caught:
        Ledger.open(server.url("template1", "ana", "x"), create=True)
    assert "CREATE on the schema" in said(caught, server)


def test_read_only_server(ledger: Ledger, server: PostgresServer) -> None:
    standby = Ledger.open(
        ledger._store.place.url + "%20-cdefault_transaction_read_only%3Don", create=True
    )  # type: ignore[union-attr]
    with pytest.raises(LedgerError) as caught:
        standby.reserve("data", USER, charge(1), new_dataset=True)
    assert "read-only" in said(caught, server)


def test_a_server_that_never_flushes_is_refused(server: PostgresServer) -> None:
    try:
        server.execute("ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()")
        _wait_until(server, "SHOW fsync", "off")
        with pytest.raises(LedgerError) as caught:
            Ledger.open(server.new_schema(), create=True)
        assert "fsync = off" in said(caught, server)
    finally:
        server.execute("ALTER SYSTEM RESET fsync", "SELECT pg_reload_conf()")
        _wait_until(server, "SHOW fsync", "on")


def _wait_until(server: PostgresServer, query: str, value: str) -> None:
    for _ in range(6000):
        if server.execute(query) == [(value,)]:
            return
        time.sleep(0.05)
    raise AssertionError(f"{query} did not become {value}")


def test_a_charge_waits_for_the_disk_even_if_the_server_would_not(ledger: Ledger) -> None:
    url = ledger._store.place.url + "%20-csynchronous_commit%3Doff"  # type: ignore[union-attr]
    hasty = Ledger.open(url, create=True)
    seen = []

    def look(page: Page) -> None:
        query = "SELECT current_setting('synchronous_commit')"
        seen.append(page._connection.exec_driver_sql(query).scalar())

    hasty._store.read(look)
    hasty._store.write(look)
    assert seen == ["off", "on"]


def test_locked(ledger: Ledger, server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger.create("data", USER)
    monkeypatch.setattr("crowdtally.ledger.database.postgres.LOCK_SECONDS", 1)
    url = ledger._store.place.url.replace("+psycopg", "")  # type: ignore[union-attr]
    with psycopg.connect(url) as other:
        other.execute("SELECT * FROM crowdtally_ledger FOR UPDATE")
        with pytest.raises(LedgerError) as caught:
            ledger.reserve("data", USER, charge(1), new_dataset=True)
    assert "locked by another session" in said(caught, server)
    assert ledger.balance("data").spent.epsilon == 0


def test_a_broken_connection_while_committing(ledger: Ledger, server: PostgresServer) -> None:
    """Neither repeated nor assumed: the message says that the outcome is not known."""
    ledger.create("data", USER, epsilon=1)

    def cut(connection: Connection) -> None:
        pid = connection.connection.dbapi_connection.info.backend_pid  # type: ignore[union-attr]
        server.execute(f"SELECT pg_terminate_backend({pid}, 5000)")

    event.listen(ledger._store.engine, "commit", cut)
    with pytest.raises(LedgerError) as caught:
        ledger.reserve("data", USER, charge("1/3"), new_dataset=True)
    event.remove(ledger._store.engine, "commit", cut)
    assert isinstance(caught.value, UnknownOutcomeError)
    text = said(caught, server)
    assert "whether it was is not known" in text
    assert "released" not in text, "the ledger cannot know"
    assert ledger.balance("data").spent.epsilon in (0, Fraction(1, 3))
    ledger.reserve("data", USER, charge("1/3"), new_dataset=True)
    assert ledger.verify().ok


def test_a_connection_cut_between_two_charges_is_made_again(
    ledger: Ledger, server: PostgresServer
) -> None:
    ledger.create("data", USER)
    server.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
    )
    assert ledger.reserve("data", USER, charge(1), new_dataset=True).after.spent.epsilon == 1


class Conflict(Exception):
    sqlstate = "40001"


@pytest.mark.parametrize(("conflicts", "charged"), [(1, True), (4, True), (5, False)])
def test_conflicts_are_repeated_before_the_commit(
    ledger: Ledger, conflicts: int, charged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.create("data", USER, epsilon=1)
    ledger.check("data", USER, 1, new_dataset=True)
    original, raised = Page.append, []

    def append(self: Page, *arguments: object, **more: object) -> None:
        original(self, *arguments, **more)  # type: ignore[arg-type]
        if len(raised) < conflicts:
            raised.append(1)
            raise OperationalError("INSERT", {}, Conflict())

    monkeypatch.setattr(Page, "append", append)
    if charged:
        ledger.reserve("data", USER, charge(1), new_dataset=True)
    else:
        with pytest.raises(LedgerError):
            ledger.reserve("data", USER, charge(1), new_dataset=True)
    monkeypatch.undo()
    assert ledger.balance("data").spent.epsilon == int(charged)
    assert ledger.verify().ok


def test_a_fork_makes_its_own_connection(server: PostgresServer) -> None:
    assert json.loads(drive_at_once("fork", server.new_schema())) == {"crashed": 0, "refused": True}


def test_threads_share_a_ledger(ledger: Ledger) -> None:
    ledger.create("data", USER, epsilon=5)
    refused: list[OverBudgetError] = []

    def ask() -> None:
        for _ in range(3):
            try:
                ledger.reserve("data", USER, charge(1), new_dataset=True)
            except OverBudgetError as error:
                refused.append(error)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 7
    assert ledger.balance("data").remaining.epsilon == 0  # type: ignore[union-attr]


def test_missing_and_driverless(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MissingLedgerError):
        Ledger.open(server.new_schema(), create=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(LedgerError, match=r"pip install 'crowdtally\[postgres\]'"):
        Ledger.open(server.url("postgres"), create=True)


# ---- ``void``, with and without deleting, against a run: what can be found is paid for, always
#
# The run is the real main line with nothing to count, and fails by itself now and then. The void
# comes at a random moment of it.


EACH = Epsilon.of("1/7")
BATCH = 20
"""Races in one ledger: a void verifies all of it, which must stay quick."""


class Watched(Ledger):
    """A ledger that tells of each reservation, as a person who watches the run would see it.

    The drawing and the mark come after pauses, so that a void often falls before either.
    """

    made: queue.SimpleQueue[str]
    pauses: tuple[float, float]

    def reserve(self, *given: object, **named: object) -> Reservation:
        made = super().reserve(*given, **named)  # type: ignore[arg-type]
        self.made.put(made.id)
        return made

    def start_drawing(self, *given: str, **named: object) -> None:
        time.sleep(self.pauses[0])
        super().start_drawing(*given, **named)  # type: ignore[arg-type]

    def mark_published(self, *given: str) -> None:
        time.sleep(self.pauses[1])
        super().mark_published(*given)


class Race:
    """One run and one void."""

    def __init__(self, location: str, out: Path, chance: random.Random) -> None:
        self._voiding = Ledger.open(location, create=True)
        self._running = Watched.open(location, create=True)
        self._running.made = queue.SimpleQueue()
        self._running.pauses = (chance.uniform(0, 0.02), chance.uniform(0, 0.02))
        self._out = out
        self._wait, self._delete = chance.uniform(0, 0.04), chance.random() < 0.5
        self.outcome: list[str] = []

    def run(self) -> None:
        try:
            bare_publish(self._running, self._out)
            self.outcome.append("released")
        except CrowdtallyError as error:
            self.outcome.append(f"run: {type(error).__name__}")

    def void(self) -> None:
        reservation = self._running.made.get(timeout=60)
        time.sleep(self._wait)
        how = "deleting" if self._delete else "looking"
        try:
            self._voiding.void(reservation, "raced", delete_staged=self._delete)
            self.outcome.append(f"voided, {how}")
        except UsageError:
            self.outcome.append(f"refused, {how}")

    def start(self) -> None:
        threads = [threading.Thread(target=work) for work in (self.run, self.void)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._running.close()
        self._voiding.close()


def races(number: int, home: Path, new_ledger: Callable[[], str], seed: int) -> Counter[str]:
    """How often what happened; each batch is checked as a whole."""
    chance, seen = random.Random(seed), Counter[str]()

    def sometimes_fail() -> None:
        time.sleep(chance.uniform(0, 0.01))
        if chance.random() < 0.25:
            raise ValueError

    with nothing_to_count(EACH, sometimes_fail):
        for start in range(0, number, BATCH):
            place, location = home / f"batch-{start}", new_ledger()
            place.mkdir()
            for turn in range(min(BATCH, number - start)):
                race = Race(location, place / f"out-{turn}", chance)
                race.start()
                seen.update(race.outcome)
                assert len(race.outcome) == 2, "neither may end in anything unforeseen"
            seen.update(check(location, place))
            shutil.rmtree(place)
    return seen


def check(location: str, place: Path) -> list[str]:
    """Nothing to be found without a standing charge, and nothing left of what was given back.

    Says of each void whether it came before the first draw.
    """
    with Ledger.open(location, create=True) as ledger:
        charges = ledger.charges()
        standing = [made for made in charges if made.state != "voided"]
        paid = {(made.id, made.sha256) for made in charges if made.state == "published"}
        assert set(released(place)) <= paid
        assert ledger.balance(DATASET).spent.epsilon == len(standing) * EACH.value
        assert [path for path in place.iterdir() if path.name.startswith(".")] == []
        assert ledger.verify().ok
        voided = [made for made in charges if made.state == "voided"]
        return [f"voided {'undrawn' if made.drawing_at is None else 'drawn'}" for made in voided]


def everything_happened(seen: Counter[str]) -> None:
    """Races that all end alike would show nothing."""
    for outcome in (
        "released", "run: VoidedError", "run: CrowdtallyError", "voided, deleting",
        "voided, looking", "refused, deleting", "refused, looking", "voided undrawn",
        "voided drawn",
    ):  # fmt: skip
        assert seen[outcome], seen


def on_sqlite(folder: Path, number: int, seed: int) -> Counter[str]:
    names = (str(folder / f"{n}.sqlite") for n in range(number))
    return races(number, folder, lambda: next(names), seed)


def test_a_hundred_races(folder: Path) -> None:
    everything_happened(on_sqlite(folder, 100, seed=1))


@pytest.mark.long
def test_a_thousand_races(folder: Path) -> None:
    everything_happened(on_sqlite(folder, 1000, seed=2))


def test_races_on_postgresql(server: PostgresServer, folder: Path) -> None:
    seen = races(50, folder, server.new_schema, seed=3)
    assert seen["released"], seen
    assert seen["voided, deleting"], seen
