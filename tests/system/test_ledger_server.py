"""A PostgreSQL server that refuses, forgets, waits or breaks: said in words, no password."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from fractions import Fraction

import psycopg
import pytest
from sqlalchemy import Connection, event
from sqlalchemy.exc import OperationalError

from budget.ledger_kit import USER, PostgresServer, charge, drive_at_once, server
from crowdtally.ledger import (
    Ledger,
    LedgerError,
    MissingLedgerError,
    NotAllowedError,
    OverBudgetError,
    UnknownOutcomeError,
)
from crowdtally.ledger.database.store import Page

__all__ = ["server"]


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
