"""Entries that were changed, removed, reordered or added: found, and named."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from budget.ledger_kit import SHA, USER, alter, charge
from crowdtally.budget import DamagedLedgerError, Ledger, LedgerError
from crowdtally.budget.canonical import canonical
from crowdtally.budget.chain import Row, link

SWAP = (  # entries 4 and 5 exchange places
    "UPDATE crowdtally_entries SET number = 99 WHERE number = 4",
    "UPDATE crowdtally_entries SET number = 4 WHERE number = 5",
    "UPDATE crowdtally_entries SET number = 5 WHERE number = 99",
)
SWAP_BODIES = (
    "UPDATE crowdtally_entries SET body = (SELECT body FROM crowdtally_entries e WHERE e.number ="
    " 9 - crowdtally_entries.number), hash = (SELECT hash FROM crowdtally_entries e WHERE"
    " e.number = 9 - crowdtally_entries.number) WHERE number IN (4, 5)",
)
SPENT_LESS = (
    """UPDATE crowdtally_entries SET body = replace(body, '"spent":{"delta":"0","epsilon":"4/7"',"""
    """ '"spent":{"delta":"0","epsilon":"1/7"') WHERE number = 7""",
)
E = "crowdtally_entries"
REPEAT = (f"INSERT INTO {E} SELECT 9, dataset, kind, about, body, hash FROM {E} WHERE number = 8",)
# Who notices besides verify: any charge, or the first charge of a ledger that was opened since.
CHARGE, FIRST, VERIFY = "any charge", "a first charge", "verify only"
# What is done: the statements, the entry that verify names, who notices.
CHANGES: dict[str, tuple[tuple[str, ...], int | None, str]] = {
    "changed": ((f"UPDATE {E} SET body = replace(body, '1/7', '1/9') WHERE number = 3",), 3, FIRST),
    "running sum": (SPENT_LESS, 7, CHARGE),
    "removed": ((f"DELETE FROM {E} WHERE number = 3",), 3, FIRST),
    "last removed": ((f"DELETE FROM {E} WHERE number = 8",), 8, CHARGE),
    "tail removed": ((f"DELETE FROM {E} WHERE number > 5",), 6, CHARGE),
    "first removed": ((f"DELETE FROM {E} WHERE number = 1",), 1, FIRST),
    "all removed": ((f"DELETE FROM {E}",), 1, CHARGE),
    "swapped": (SWAP, 4, FIRST),
    "swapped bodies": (SWAP_BODIES, 4, FIRST),
    "repeated": (REPEAT, 9, CHARGE),
    "hash changed": ((f"UPDATE {E} SET hash = '{'0' * 64}' WHERE number = 4",), 4, FIRST),
    "dataset column": ((f"UPDATE {E} SET dataset = 'b' WHERE number = 7",), 7, CHARGE),
    "kind column": ((f"UPDATE {E} SET kind = 'published' WHERE number = 3",), 3, VERIFY),
    "about column": ((f"UPDATE {E} SET about = 6 WHERE number = 8",), 8, CHARGE),
    "head moved back": (("UPDATE crowdtally_ledger SET number = 7",), 8, CHARGE),
    "head hash": ((f"UPDATE crowdtally_ledger SET hash = '{'0' * 64}'",), 8, CHARGE),
    "another ledger": (("UPDATE crowdtally_ledger SET id = 'other'",), 1, FIRST),
    "dataset set back": (("UPDATE crowdtally_datasets SET last = 3 WHERE name = 'a'",), 7, CHARGE),
    "dataset forgotten": (("DELETE FROM crowdtally_datasets WHERE name = 'a'",), 7, CHARGE),
    "dataset invented": (("INSERT INTO crowdtally_datasets VALUES ('c', 3)",), None, VERIFY),
}  # fmt: skip


def filled(location: str) -> Ledger:
    """Eight entries: a is created and charged four times, one of them published; b is limited."""
    ledger = Ledger.open(location, create=True)
    ledger.create("a", USER)  # 1
    ledger.create("b", USER, epsilon=1)  # 2
    made = [ledger.reserve("a", USER, charge("1/7"), new_dataset=True) for _ in range(4)]  # 3 to 6
    ledger.mark_published(made[0].id, SHA)  # 7
    ledger.reserve("b", USER, charge("1/2"), new_dataset=True)  # 8
    return ledger


@pytest.mark.parametrize("change", CHANGES)
def test_verify_names_the_entry(location: str, change: str) -> None:
    statements, entry, noticed = CHANGES[change]
    ledger = filled(location)
    made = ledger.charges("b")[0]
    assert ledger.verify().ok
    alter(location, *statements)

    found = ledger.verify()
    assert not found.ok, change
    assert found.problems[0].entry == entry, found.describe()
    assert "The ledger is damaged" in found.describe()

    noticing = {
        CHARGE: [ledger, Ledger.open(location, create=True)],
        FIRST: [Ledger.open(location, create=True)],
        VERIFY: [],
    }
    before = rows(ledger)
    for other in noticing[noticed]:
        with pytest.raises(DamagedLedgerError, match="Nothing is charged to a damaged ledger"):
            other.reserve("a", USER, charge("1/7"), new_dataset=True)
    assert rows(ledger) == before
    if noticed != CHARGE:
        ledger.reserve("a", USER, charge("1/7"), new_dataset=True)
        assert not ledger.verify().ok, "a charge must not heal what was wrong"
    with pytest.raises(DamagedLedgerError, match="The ledger is damaged"):
        ledger.void(made.id, "certain")


def rows(ledger: Ledger) -> list[Row]:
    return ledger._store.read(lambda page: page.rows_after(0))


def rewrite(
    path: Path, number: int, edit: Callable[[dict[str, object]], None], *, rehash: bool = True
) -> None:
    """Edit an entry and, as a careful forger would, give it the hash that follows."""
    with closing(sqlite3.connect(path)) as file, file:
        query = "SELECT number, body, hash FROM crowdtally_entries WHERE number IN (?, ?)"
        rows = {n: (body, digest) for n, body, digest in file.execute(query, (number - 1, number))}
        content = json.loads(rows[number][0])
        edit(content)
        body = canonical(content)
        digest = link(rows[number - 1][1], body) if rehash else rows[number][1]
        file.execute(
            "UPDATE crowdtally_entries SET body = ?, hash = ? WHERE number = ?",
            (body, digest, number),
        )


def test_a_rehashed_entry_does_not_fit_the_next(folder: Path) -> None:
    path = folder / "ledger.sqlite"
    ledger = filled(str(path))
    rewrite(path, 7, lambda content: content.update(time="2001-01-01T00:00:00+00:00"))
    assert ledger.verify().problems[0].entry == 8
    with pytest.raises(DamagedLedgerError, match="entry 8"):
        ledger.reserve("a", USER, charge(1), new_dataset=True)


def test_a_forged_sum_with_a_forged_hash_at_the_end(folder: Path) -> None:
    """Even where the hash of the very last entry is forged, the head does not agree."""
    path = folder / "ledger.sqlite"
    ledger = filled(str(path))
    rewrite(path, 8, lambda c: c["balance"]["spent"].update(epsilon="0"))  # type: ignore[index]
    with pytest.raises(DamagedLedgerError, match="entry 8 is not the one"):
        ledger.reserve("b", USER, charge("1/2"), new_dataset=True)
    with closing(sqlite3.connect(path)) as file, file:
        file.execute(
            "UPDATE crowdtally_ledger SET hash ="
            " (SELECT hash FROM crowdtally_entries WHERE number = 8)"
        )
    # Now only the replay, or a head kept elsewhere, can tell; and the replay does.
    assert "running sum" in ledger.verify().describe()


def test_events_of_a_newer_version_are_refused_not_guessed(folder: Path) -> None:
    path = folder / "ledger.sqlite"
    ledger = filled(str(path))
    rewrite(path, 8, lambda c: c["event"].update(version=3))  # type: ignore[attr-defined]
    with pytest.raises(LedgerError, match=r"entry 8 .*unknown event, 'reserved' in version 3.*new"):
        ledger.reserve("b", USER, charge("1/4"), new_dataset=True)
    with pytest.raises(LedgerError, match="entry 8"):
        ledger.entries()
    assert "entry 8 is unknown" in ledger.verify().describe()


def test_an_accountant_of_a_newer_version_is_refused(folder: Path) -> None:
    path = folder / "ledger.sqlite"
    ledger = filled(str(path))
    rewrite(path, 8, lambda c: c["balance"].update(accountant="zcdp"))  # type: ignore[attr-defined]
    with pytest.raises(LedgerError, match=r"entry 8 .*unknown kind of accountant, 'zcdp'"):
        ledger.reserve("b", USER, charge("1/4"), new_dataset=True)


@pytest.mark.parametrize(
    ("event", "what"),
    [
        ({"given_back": {"epsilon": "2/7", "delta": "0"}}, "does not fit what happened"),
        ({"reservation": "4-00000000"}, "does not fit what happened"),
    ],
)
def test_a_void_must_fit_its_reservation(folder: Path, event: dict[str, object], what: str) -> None:
    path = folder / "ledger.sqlite"
    ledger = filled(str(path))
    ledger.void(ledger.charges("a")[1].id, "certain")
    rewrite(path, 9, lambda c: c["event"].update(event))  # type: ignore[attr-defined]
    assert what in ledger.verify().describe()


def test_reading_one_dataset_checks_the_others_too(folder: Path) -> None:
    path = folder / "ledger.sqlite"
    ledger = filled(str(path))
    alter(str(path), "DELETE FROM crowdtally_entries WHERE number = 3")
    for dataset in (None, "a", "b"):
        with pytest.raises(DamagedLedgerError, match="entry 4"):
            ledger.charges(dataset)


def test_many_problems_are_listed_up_to_twenty(folder: Path) -> None:
    path = folder / "ledger.sqlite"
    ledger = Ledger.open(path, create=True)
    for _ in range(40):
        ledger.reserve("a", USER, charge(1), new_dataset=True)
    alter(str(path), "UPDATE crowdtally_entries SET hash = 'x'")
    assert len(ledger.verify().problems) == 20


def test_verification_reads_in_portions(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crowdtally.budget.audit._PORTION", 3)
    path = folder / "ledger.sqlite"
    ledger = filled(str(path))
    assert ledger.verify().ok
    alter(str(path), *SWAP)
    assert ledger.verify().problems[0].entry == 4
