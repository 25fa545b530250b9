"""Ledgers of earlier versions: they verify, keep their sums, are upgraded, and go on."""

from __future__ import annotations

import json
import platform
import shutil
import sqlite3
import threading
import time
import unicodedata
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from budget.ledger_kit import SHA, PostgresServer, alter, charge
from crowdtally.budget import DamagedLedgerError, Ledger, LedgerError, NotAllowedError
from crowdtally.budget.keeping import upgrading
from crowdtally.errors import UsageError
from crowdtally.values.unit import PrivacyUnit
from kit.command import crowdtally

CORPUS = Path(__file__).parent.parent / "corpus" / "ledgers"
NAMES = ("first", "last", "grown")
DRIVER = PrivacyUnit("user", "driver")
ZURICH = unicodedata.normalize("NFC", "Zürich café")
FORMAT_1 = (
    "CREATE TABLE crowdtally_ledger (version INTEGER NOT NULL, id TEXT NOT NULL, "
    "number BIGINT NOT NULL, hash TEXT NOT NULL)",
    "CREATE TABLE crowdtally_entries (number BIGINT NOT NULL, dataset TEXT NOT NULL, "
    "kind TEXT NOT NULL, about BIGINT, body TEXT NOT NULL, hash TEXT NOT NULL, "
    "PRIMARY KEY (number))",
    "CREATE TABLE crowdtally_datasets (name TEXT NOT NULL, last BIGINT NOT NULL, "
    "PRIMARY KEY (name))",
    "CREATE INDEX crowdtally_by_dataset ON crowdtally_entries (dataset, number)",
    "CREATE INDEX crowdtally_by_about ON crowdtally_entries (about) WHERE about IS NOT NULL",
)
"""What the last version of format 1 makes on a PostgreSQL server."""


def onto_server(file: Path, url: str) -> None:
    """The rows of a stored ledger, in tables of their format on a server."""
    import psycopg

    with psycopg.connect(url) as there, closing(sqlite3.connect(file)) as here:
        for statement in FORMAT_1:
            there.execute(statement)
        for table in ("ledger", "entries", "datasets"):
            for row in here.execute(f"SELECT * FROM crowdtally_{table}"):
                marks = ", ".join(["%s"] * len(row))
                there.execute(f"INSERT INTO crowdtally_{table} VALUES ({marks})", row)


@pytest.fixture(params=["sqlite", "postgresql"])
def old(request: pytest.FixtureRequest, folder: Path) -> Callable[[str], str]:
    """Puts a stored ledger, as it was written, where a test may change it."""

    def put(name: str) -> str:
        if request.param == "sqlite":
            return str(shutil.copy(CORPUS / f"{name}.sqlite", folder))
        url = request.getfixturevalue("server").new_schema()
        onto_server(CORPUS / f"{name}.sqlite", url)
        return str(url)

    return put


def written(name: str) -> dict[str, Any]:
    """What the version that wrote it said of it."""
    found: dict[str, Any] = json.loads((CORPUS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def says(location: str | Path) -> dict[str, Any]:
    """The same of the present version."""
    ledger = Ledger.open(location)
    export: dict[str, Any] = ledger.export()
    assert ledger.verify(ledger.head()).ok
    pair = lambda loss: loss and [str(loss.epsilon), str(loss.delta)]  # noqa: E731
    return {
        "id": export["ledger"],
        "head": str(ledger.head()),
        "spent": {balance.dataset: pair(balance.spent) for balance in ledger.datasets()},
        "limits": {balance.dataset: pair(balance.limit) for balance in ledger.datasets()},
        "states": {made.id: made.state for made in ledger.charges()},
        "entries": [
            [entry["content"]["event"]["kind"], entry["content"]["event"]["version"], entry["hash"]]
            for entry in export["entries"]
        ],
    }


def test_the_corpus_has_every_kind_and_version_of_format_1() -> None:
    kinds = {(kind, version) for name in NAMES for kind, version, _ in written(name)["entries"]}
    assert kinds == {
        ("created", 1), ("limit", 1), ("sources", 1), ("reserved", 1), ("reserved", 2),
        ("published", 1), ("published", 2), ("voided", 1),
    }  # fmt: skip
    assert any(not unicodedata.is_normalized("NFC", name) for name in written("first")["spent"])


@pytest.mark.parametrize("name", NAMES)
def test_an_old_ledger_is_read_as_it_was(old: Callable[[str], str], name: str) -> None:
    location = old(name)
    assert says(location) == written(name)
    assert Ledger.open(location).closed() is None
    assert Ledger.open(location).request("any") is None
    assert {entry.by for entry in Ledger.open(location).entries()} == {None}


@pytest.mark.parametrize("name", NAMES)
def test_an_old_ledger_is_not_written(folder: Path, name: str) -> None:
    path = Path(shutil.copy(CORPUS / f"{name}.sqlite", folder))
    ledger, before = Ledger.open(path), path.read_bytes()
    (reserved, *_) = [made.id for made in ledger.charges() if made.state == "reserved"]
    attempts: list[Callable[[], object]] = [
        lambda: ledger.reserve("taxi", DRIVER, charge("0.1")),
        lambda: ledger.create("new", epsilon=1),
        lambda: ledger.set_limit("taxi", epsilon=9, reason="more"),
        lambda: ledger.start_drawing(reserved),
        lambda: ledger.mark_published(reserved, SHA),
        lambda: ledger.void(reserved, "certain"),
        lambda: ledger.withdraw("taxi-1" if name != "last" else "taxi-3", "wrong"),
    ]
    for attempt in attempts:
        with pytest.raises(
            LedgerError, match=r"has format 1.*`crowdtally ledger upgrade --ledger "
        ):
            attempt()
    with pytest.raises(LedgerError, match=r"has format 1.*First `crowdtally ledger upgrade"):
        Ledger.import_from(path, folder / "new.sqlite")
    assert path.read_bytes() == before
    assert [found.name for found in folder.iterdir()] == [path.name]


@pytest.mark.parametrize("name", NAMES)
def test_an_old_ledger_can_be_backed_up(old: Callable[[str], str], name: str, folder: Path) -> None:
    Ledger.open(old(name)).backup(folder / "copy.sqlite")
    assert says(folder / "copy.sqlite") == written(name)
    assert Ledger.open(folder / "copy.sqlite").upgrade() is False


@pytest.mark.parametrize("name", NAMES)
def test_an_upgrade_keeps_every_entry_and_the_ledger_goes_on(
    old: Callable[[str], str], name: str
) -> None:
    location = old(name)
    ledger = Ledger.open(location)
    assert ledger.upgrade() is True
    assert says(location) == written(name)
    assert ledger.upgrade() is False
    spent = ledger.balance("taxi").spent.epsilon
    made = ledger.reserve("taxi", DRIVER, charge("1/11", release="new"))
    assert made.after.spent.epsilon - spent == made.charge.epsilon.value
    ledger.start_drawing(made.id)
    ledger.mark_published(made.id, SHA)
    ledger.withdraw("new", "wrong list")
    ledger.set_limit("taxi", epsilon=9, reason="as agreed")
    assert ledger.verify(ledger.head()).ok
    assert says(location)["entries"][: len(written(name)["entries"])] == written(name)["entries"]


def test_an_upgraded_ledger_has_the_tables_of_a_new_one(folder: Path) -> None:
    path = Path(shutil.copy(CORPUS / "grown.sqlite", folder))
    Ledger.open(path).upgrade()
    Ledger.open(folder / "new.sqlite", create=True)
    assert _shape(path) == _shape(folder / "new.sqlite")


def _shape(path: Path) -> set[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as file:
        tables = [
            name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE sql <> ''")
        ]
        columns = {
            (name, *row[1:])
            for name in tables
            for row in file.execute(f"PRAGMA table_info({name})")
        }
        indexes = {
            (name, *row[1:])
            for name in tables
            for row in file.execute(f"PRAGMA index_list({name})")
        }
        return columns | {(table, *row[:2], row[3]) for table, *row in indexes}


def test_an_upgraded_server_has_what_a_new_one_has(server: PostgresServer) -> None:
    url, fresh = server.new_schema(), server.new_schema()
    onto_server(CORPUS / "grown.sqlite", url)
    Ledger.open(url).upgrade()
    Ledger.open(fresh, create=True)
    assert _server_shape(url) == _server_shape(fresh)


def _server_shape(url: str) -> list[set[tuple[Any, ...]]]:
    import psycopg

    with psycopg.connect(url) as connection:
        (schema,) = connection.execute("SELECT current_schema()").fetchone() or ("",)
        columns = connection.execute(
            "SELECT table_name, column_name, data_type, is_nullable, ordinal_position "
            "FROM information_schema.columns WHERE table_schema = current_schema()"
        ).fetchall()
        indexes = connection.execute(
            "SELECT indexname, replace(indexdef, current_schema(), '') FROM pg_indexes "
            "WHERE schemaname = current_schema()"
        ).fetchall()
        functions = connection.execute(
            "SELECT proname, prosecdef, replace(prosrc, current_schema(), ''), proacl::text "
            "FROM pg_proc WHERE pronamespace = current_schema()::regnamespace"
        ).fetchall()
    assert schema
    return [set(columns), set(indexes), set(functions)]


def test_old_charges_keep_their_rules(
    old: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No drawing entry; marked and voided from reserved, the latter once the folder is gone."""
    location = old("grown")
    ledger = Ledger.open(location)
    ledger.upgrade()
    by_release = {made.charge.release_id: made for made in ledger.charges()}
    staged = by_release["taxi-4"]
    assert staged.staged is not None
    with pytest.raises(UsageError, match="it is on the computer 'archive'"):
        ledger.void(staged.id, "certain")
    monkeypatch.setattr(platform, "node", lambda: "archive")
    folder = Path(staged.staged.path)
    folder.mkdir()
    try:
        with pytest.raises(UsageError, match="cannot be voided while its unfinished release"):
            ledger.void(staged.id, "certain")
        before = ledger.balance("taxi").spent
        after = ledger.void(staged.id, "certain", delete_staged=True).spent
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    assert before - after == staged.charge.loss
    ledger.mark_published(by_release["taxi-6"].id, SHA)
    ledger.void(by_release["visits-1"].id, "from before folders were recorded")
    with pytest.raises(LedgerError, match="one charge pays for one release"):
        ledger.mark_published(by_release["taxi-6"].id, SHA)
    with pytest.raises(LedgerError, match="one charge pays for one release"):
        ledger.mark_published(by_release["taxi-1"].id, SHA)
    ledger.withdraw("taxi-1", "wrong list")
    assert ledger.balance(ZURICH).dataset != ZURICH
    ledger.reserve(ZURICH, DRIVER, charge("1/7", release="more"))
    assert ledger.balance(ZURICH).spent.epsilon * 7 == 2
    assert ledger.verify(ledger.head()).ok


def test_old_sources_are_known(old: Callable[[str], str]) -> None:
    ledger = Ledger.open(old("last"))
    ledger.upgrade()
    with pytest.raises(UsageError, match="taxi"):
        ledger.reserve(
            "other", DRIVER, charge(1), sources=["/srv/trips.parquet"], chosen=False,
            new_dataset=True,
        )  # fmt: skip


def test_a_damaged_ledger_is_not_upgraded(old: Callable[[str], str], folder: Path) -> None:
    location = old("grown")
    alter(location, "UPDATE crowdtally_entries SET body = replace(body, '1/9', '1/8')")
    before = _bytes(folder)
    with pytest.raises(DamagedLedgerError, match=r"entry 19 (?s:.*)It was not upgraded"):
        Ledger.open(location).upgrade()
    assert _bytes(folder) == before
    alter(location, "UPDATE crowdtally_entries SET body = replace(body, '1/8', '1/9')")
    assert says(location) == written("grown")


def _bytes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("statement", range(4))
def test_an_upgrade_that_fails_half_way_changes_nothing(
    old: Callable[[str], str], folder: Path, statement: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stopped(Exception):
        pass

    location, execute, done = old("grown"), Connection.execute, []

    def failing(self: Connection, what: Any, *arguments: Any, **options: Any) -> Any:
        if str(what).startswith(("ALTER", "UPDATE")):
            if len(done) == statement:
                raise Stopped
            done.append(what)
        return execute(self, what, *arguments, **options)

    def unverified(*_: object) -> None:
        if done:
            raise Stopped

    before = _bytes(folder)
    with monkeypatch.context() as patch:
        patch.setattr(Connection, "execute", failing)
        patch.setattr(upgrading, "require_whole", unverified)
        with pytest.raises(Stopped):
            Ledger.open(location).upgrade()
    assert len(done) == min(statement, 3)
    assert _bytes(folder) == before
    assert says(location) == written("grown")
    assert Ledger.open(location).upgrade()


def test_upgrades_at_once(old: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes its time, so that the others wait for it."""
    location, standing = old("grown"), upgrading.standing

    def slowly(*arguments: Any) -> Any:
        time.sleep(0.3)
        return standing(*arguments)

    monkeypatch.setattr(upgrading, "standing", slowly)
    ledgers = [Ledger.open(location) for _ in range(4)]
    done: list[bool] = []
    threads = [
        threading.Thread(target=lambda ledger=ledger: done.append(ledger.upgrade()))
        for ledger in ledgers
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == [False, False, False, True]
    assert says(location) == written("grown")


def test_only_the_owner_upgrades_on_a_server(server: PostgresServer) -> None:
    database = server.new_database()
    onto_server(CORPUS / "grown.sqlite", server.url(database))
    name = f"ana_{database}"
    server.execute(
        f"CREATE ROLE {name} LOGIN PASSWORD 'apple'",
        f"GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO {name}",
        database=database,
    )
    analyst = Ledger.open(server.url(database, name, "apple"))
    with pytest.raises(NotAllowedError, match="only its owner can move or upgrade it"):
        analyst.upgrade()
    assert says(server.url(database)) == written("grown")


def test_on_the_command_line(folder: Path) -> None:
    path = Path(shutil.copy(CORPUS / "grown.sqlite", folder))
    before = path.read_bytes()
    ledger = ("--ledger", path)
    refused = crowdtally("ledger", "limit", "taxi", "--epsilon", 4, "--reason", "x", *ledger)
    assert (refused.code, "crowdtally ledger upgrade" in refused.err) == (1, True), refused
    assert path.read_bytes() == before
    for words in (("show",), ("verify",), ("export",), ("show", "--head")):
        assert crowdtally("ledger", *words, *ledger).code == 0
    done = crowdtally("ledger", "upgrade", *ledger)
    assert (done.code, written("grown")["head"] in done.out) == (0, True), done
    assert "was upgraded" in done.out
    again = crowdtally("ledger", "upgrade", *ledger)
    assert (again.code, "has the newest format already" in again.out) == (0, True), again
    alter(str(path), "UPDATE crowdtally_ledger SET version = 3")
    newer = crowdtally("ledger", "upgrade", *ledger)
    assert (newer.code, "knows formats up to 2" in newer.err) == (1, True), newer
