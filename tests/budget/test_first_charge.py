"""The first charge of an opened ledger refuses whatever ``verify`` would call damaged."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from budget.ledger_kit import SHA, USER, alter, charge, publish
from budget.test_tampering import filled, rewrite
from crowdtally.errors import CrowdtallyError
from crowdtally.ledger import Asked, DamagedLedgerError, Ledger, LedgerError

E = "crowdtally_entries"
EDITS = {
    "dataset": ("'a'", "'b'", "'nobody'", "''"),
    "kind": ("'drawing'", "'reserved'", "'x'"),
    "about": ("NULL", "3", "-3", "'text'"),
    "key": ("NULL", "'week-99'"),
    "hash": ("'x'",),
    "body": ("body || ' '",),
    "number": ("number + 500",),
}


def lively(path: Path) -> Ledger:
    """A ledger with several datasets, request ids, sources, drawings, voids and withdrawals."""
    ledger = Ledger.open(path, create=True)
    for name in "abc":
        ledger.create(name, USER, epsilon=100)
    for number in range(12):
        asked = Asked("records.csv", "/out", {}, "weekly", f"week-{number}" if number % 2 else None)
        made = ledger.reserve(
            "abc"[number % 3], USER, charge("1/7", release=f"release-{number}"), asked=asked,
            sources=[f"/data/{number % 5}.parquet"],
        )  # fmt: skip
        if number % 4 == 3:
            ledger.void(made.id, "certain")
        elif number % 4:
            publish(ledger, made.id)
    ledger.withdraw("release-1", "a wrong list")
    return ledger


def whole(path: Path) -> bool:
    try:
        return Ledger.open(path).verify().ok
    except CrowdtallyError:
        return False


def charged(path: Path, dataset: str) -> bool:
    """Whether a release could be charged and published."""
    try:
        ledger = Ledger.open(path)
        publish(ledger, ledger.reserve(dataset, USER, charge("1/7"), sources=["/new"]).id)
    except CrowdtallyError:
        return False
    return True


def judged(path: Path) -> tuple[bool, bool]:
    """Whether verify finds the file whole, and whether any dataset can be charged."""
    found, copy = whole(path), path.with_suffix(".copy")
    accepted = False
    for dataset in "abc":
        copy.write_bytes(path.read_bytes())
        accepted |= charged(copy, dataset)
    return found, accepted


def test_wrong_bytes(folder: Path) -> None:
    lively(folder / "original.sqlite")
    original = (folder / "original.sqlite").read_bytes()
    generator, path = random.Random(17), folder / "damaged.sqlite"
    used = [place for place, byte in enumerate(original) if byte]
    counts: Counter[tuple[bool, bool]] = Counter()
    for number in range(120):
        content = bytearray(original)
        # The file's own header, with its free list, and anything that is written.
        place = 28 + number if number < 44 else generator.choice(used)
        content[place] ^= generator.randrange(1, 256)
        path.write_bytes(content)
        counts[judged(path)] += 1
    assert not counts[False, True], counts
    assert counts[False, False] > 50, counts
    assert counts[True, True] > 10, counts


@pytest.mark.parametrize("column", EDITS)
def test_wrong_columns(folder: Path, column: str) -> None:
    ledger = lively(folder / "original.sqlite")
    original, last = (folder / "original.sqlite").read_bytes(), ledger.head().number
    generator, path = random.Random(18), folder / "damaged.sqlite"
    for number in generator.sample(range(1, last + 1), 6):
        for value in EDITS[column]:
            path.write_bytes(original)
            try:
                alter(str(path), f"UPDATE {E} SET {column} = {value} WHERE number = {number}")
            except sqlite3.IntegrityError:
                continue
            found, accepted = judged(path)
            assert found or not accepted, (column, value, number)


def stale(path: Path, index: str, column: str, number: int, wrong: str) -> None:
    """Let an index forget an entry, and no table say anything else than before."""
    with closing(sqlite3.connect(path)) as file, file:
        query = f"SELECT {column} FROM {E} WHERE number = {number}"
        (right,) = file.execute(query).fetchone()
        file.execute(f"UPDATE {E} SET {column} = ? WHERE number = {number}", (wrong,))
    with closing(sqlite3.connect(path)) as file, file:
        kept = file.execute("SELECT * FROM sqlite_master WHERE name = ?", (index,)).fetchone()
        file.execute("PRAGMA writable_schema = ON")
        file.execute("DELETE FROM sqlite_master WHERE name = ?", (index,))
    with closing(sqlite3.connect(path)) as file, file:  # which knows of no such index
        file.execute(f"UPDATE {E} SET {column} = ? WHERE number = {number}", (right,))
        file.execute("PRAGMA writable_schema = ON")
        file.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", kept)


@pytest.mark.parametrize("largest", [2**27, 0], ids=["usual file", "very large file"])
@pytest.mark.parametrize(
    ("column", "number", "wrong"),
    [("dataset", 4, "z"), ("key", 3, "z"), ("about", 7, 5)],
)
def test_an_index_that_lost_an_entry(
    folder: Path, monkeypatch: pytest.MonkeyPatch, column: str, number: int, wrong: str,
    largest: int,
) -> None:  # fmt: skip
    monkeypatch.setattr("crowdtally.ledger.database.sqlite._LARGEST", largest)
    path = folder / "ledger.sqlite"
    filled(str(path))
    Ledger.open(path).reserve("a", USER, charge("1/7"))  # nothing is wrong yet
    stale(path, f"crowdtally_by_{column}", column, number, wrong)
    assert f"missing from index crowdtally_by_{column}" in Ledger.open(path).verify().describe()
    with pytest.raises(DamagedLedgerError, match=f"row {number} missing from index crowdtally_by"):
        Ledger.open(path).reserve("a", USER, charge("1/7"))


def test_the_free_list_of_a_very_large_file_is_left_to_verify(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As budget/ledger.md says."""
    path = folder / "ledger.sqlite"
    filled(str(path))
    content = bytearray(path.read_bytes())
    content[35] = 3  # the first page that is free, where none is
    path.write_bytes(content)
    assert not Ledger.open(path).verify().ok
    with pytest.raises(DamagedLedgerError, match="the file is damaged"):
        Ledger.open(path).reserve("a", USER, charge("1/7"))
    monkeypatch.setattr("crowdtally.ledger.database.sqlite._LARGEST", 0)
    Ledger.open(path).reserve("a", USER, charge("1/7"))
    assert not Ledger.open(path).verify().ok


RECENT = {  # of eleven entries, those from 8 on
    "a column": (f"UPDATE {E} SET kind = 'drawing' WHERE number = 9", True),
    "the first of them": (f"UPDATE {E} SET body = body || ' ' WHERE number = 8", True),
    "the hash before them": (f"UPDATE {E} SET hash = '{SHA}' WHERE number = 7", True),
    "the one before them": (f"DELETE FROM {E} WHERE number = 7", True),
    "a dataset set back": ("UPDATE crowdtally_datasets SET last = 4 WHERE name = 'a'", True),
    "a dataset set ahead": ("INSERT INTO crowdtally_datasets VALUES ('c', 9)", True),
    "one past the end": (
        f"INSERT INTO {E} SELECT 12, dataset, kind, about, body, hash, NULL FROM {E}"
        " WHERE number = 11", True,
    ),
    "an older one": (f"UPDATE {E} SET kind = 'drawing' WHERE number = 4", False),
    "an older dataset": ("INSERT INTO crowdtally_datasets VALUES ('c', 3)", False),
}  # fmt: skip


@pytest.mark.parametrize("change", RECENT)
def test_the_last_entries(location: str, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    """What is older is found by verify alone, as budget/ledger.md says."""
    monkeypatch.setattr("crowdtally.ledger.verify._RECENT", 4)
    statement, noticed = RECENT[change]
    filled(location)
    Ledger.open(location).check("b", USER, "1/4")  # nothing is wrong yet
    alter(location, statement)
    assert not Ledger.open(location).verify().ok
    if not noticed:
        Ledger.open(location).reserve("b", USER, charge("1/4"))
        return
    for first in ("check", "reserve"):
        asked = "1/4" if first == "check" else charge("1/4")
        with pytest.raises(DamagedLedgerError, match="Nothing is charged to a damaged ledger"):
            getattr(Ledger.open(location), first)("b", USER, asked)


def test_no_more_than_the_last_entries_are_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "ledger.sqlite"
    filled(str(path))
    monkeypatch.setattr("crowdtally.ledger.verify._RECENT", 4)
    visited: list[int] = []
    visit = "crowdtally.ledger.verify.Audit.visit"
    monkeypatch.setattr(visit, lambda audit, row: visited.append(row.number))
    with pytest.raises(DamagedLedgerError):  # nothing was visited, as far as the audit knows
        Ledger.open(path).reserve("b", USER, charge("1/4"))
    assert visited == [8, 9, 10, 11]


def test_an_entry_of_another_version_is_no_damage(folder: Path) -> None:
    path = folder / "ledger.sqlite"
    filled(str(path))
    rewrite(path, 9, lambda c: c["event"].update(version=7))  # type: ignore[attr-defined]
    with pytest.raises(
        LedgerError, match=r"entry 9 .*'withdrawn' in version 7.*Use the version that wrote it"
    ) as e:
        Ledger.open(path).reserve("a", USER, charge("1/7"))
    assert not isinstance(e.value, DamagedLedgerError)
