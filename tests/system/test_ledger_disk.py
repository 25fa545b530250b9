"""A full disk, missing rights, a locked file: no charge is reported, and the message helps."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from budget.ledger_kit import SHA, USER, charge, drive, folder, skip
from crowdtally.ledger import Ledger, LedgerError

__all__ = ["folder"]
ELSEWHERE = "--ledger or $CROWDTALLY_LEDGER"


def test_full_disk() -> None:
    found = json.loads(drive("full-disk", "-", prefix=_mount_namespace()))
    assert "the disk is full" in found["said"]
    assert "Free some space" in found["said"]
    assert ELSEWHERE in found["said"]
    assert "no entry was added" in found["said"]
    assert "the disk is full" in found["created"]
    assert found["left"] == ["filler", "ledger.sqlite"], "half-made files must not stay"
    assert found["exact"], "only what was reported as charged is spent"
    assert found["whole"]


def _mount_namespace() -> tuple[str, ...]:
    """How to run a program that may mount: as root, as root of a user namespace, or by sudo."""
    ways = [("unshare", "-m")] if os.getuid() == 0 else [("unshare", "-Urm")]
    ways.append(("sudo", "-n", "unshare", "-m"))
    possible = [
        way
        for way in ways
        if shutil.which(way[0]) and not subprocess.run([*way, "true"], check=False).returncode
    ]
    return possible[0] if possible else skip("no mount namespaces")


def test_without_rights() -> None:
    found = json.loads(drive("rights", "-"))
    assert found.pop("reading still works") == "1/7"
    assert len(found) == 6
    for case, said in found.items():
        assert said.startswith("1 the ledger "), (case, said)
        assert "writable for this user" in said, (case, said)
        assert ELSEWHERE in said, (case, said)
        assert "no entry was added" in said, (case, said)


@pytest.mark.parametrize("lock", ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
def test_locked(folder: Path, monkeypatch: pytest.MonkeyPatch, lock: str) -> None:
    ledger = Ledger.open(folder / "ledger.sqlite", create=True)
    made = ledger.reserve("data", USER, charge("1/3"), new_dataset=True)
    monkeypatch.setattr("crowdtally.ledger.database.sqlite.BUSY_SECONDS", 0.1)
    with closing(sqlite3.connect(folder / "ledger.sqlite", isolation_level=None)) as other:
        other.execute(lock)
        with pytest.raises(LedgerError, match=r"is locked.*let it finish, and try again"):
            ledger.reserve("data", USER, charge("1/3"), new_dataset=True)
        with pytest.raises(LedgerError, match="is locked"):
            ledger.mark_published(made.id, SHA)
    assert ledger.balance("data") == made.after
    assert ledger.charges()[0].state == "reserved"


def test_a_reader_that_stays_delays_the_commit_and_nothing_is_charged(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger.open(folder / "ledger.sqlite", create=True)
    before = ledger.reserve("data", USER, charge("1/3"), new_dataset=True).after
    monkeypatch.setattr("crowdtally.ledger.database.sqlite.BUSY_SECONDS", 0.1)
    with closing(sqlite3.connect(folder / "ledger.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT * FROM crowdtally_ledger").fetchall()
        with pytest.raises(LedgerError, match="is locked"):
            ledger.reserve("data", USER, charge("1/3"), new_dataset=True)
    assert ledger.balance("data") == before


def test_the_file_went_away(folder: Path) -> None:
    ledger = Ledger.open(folder / "ledger.sqlite", create=True)
    ledger.reserve("data", USER, charge("1/3"), new_dataset=True)
    (folder / "ledger.sqlite").rename(folder / "moved.sqlite")
    with pytest.raises(LedgerError, match=r"no ledger at .*find out who moved it"):
        ledger.reserve("data", USER, charge("1/3"), new_dataset=True)
    assert not (folder / "ledger.sqlite").exists()


def test_no_hard_links(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(LedgerError, match="Keep the ledger on a local disk"):
        Ledger.open(folder / "ledger.sqlite", create=True)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 100, b"user,item\n1,2\n" * 100, b"SQLite format 3\0"]
)
def test_not_a_ledger_file(folder: Path, content: bytes) -> None:
    path = folder / "records.csv"
    path.write_bytes(content)
    with pytest.raises(LedgerError, match=r"not a Crowdtally ledger|written by something else"):
        Ledger.open(path, create=True)
    assert path.read_bytes() == content


def test_another_programs_database(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "app.db")) as file, file:
        file.execute("CREATE TABLE users (id)")
    with pytest.raises(LedgerError, match="is not a Crowdtally ledger, and is left as it is"):
        Ledger.open(folder / "app.db", create=True)
    with pytest.raises(LedgerError, match=r"is a folder; give the path of a file"):
        Ledger.open(folder, create=True)
