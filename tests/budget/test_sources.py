"""One source, one budget: a default name is refused where a source belongs to another dataset."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Select

from budget.ledger_kit import USER, alter, charge
from crowdtally.errors import UsageError
from crowdtally.ledger import DamagedLedgerError, Ledger, LedgerError, Loss, Sources
from crowdtally.ledger.database import schema
from crowdtally.ledger.events import parse, record
from crowdtally.ledger.provenance import filed, hashed, shelf

GLOB, FILES = "/data/*.csv", ["/data/a.csv", "/data/b.csv"]


@pytest.fixture
def ledger(location: str) -> Ledger:
    return Ledger.open(location, create=True)


def reserve(ledger: Ledger, name: str, sources: Sequence[str], *, chosen: bool = False) -> None:
    ledger.check(name, USER, 1, sources=sources, chosen=chosen, new_dataset=True)
    ledger.reserve(name, USER, charge(1), sources=sources, chosen=chosen, new_dataset=True)


def refused(ledger: Ledger, name: str, sources: Sequence[str], *others: str) -> None:
    """Refused by the check, and again in the transaction of the charge; nothing is changed."""
    head = ledger.head()
    for attempt in (
        lambda: ledger.check(name, USER, 1, sources=sources, chosen=False, new_dataset=True),
        lambda: ledger.reserve(
            name, USER, charge(1), sources=sources, chosen=False, new_dataset=True
        ),
    ):
        with pytest.raises(UsageError, match=r"--dataset NAME.*Nothing was charged") as caught:
            attempt()
        assert caught.value.exit_code == 2
        assert f"budget of {', '.join(map(repr, others))} already" in str(caught.value)
        assert f"charged to another one, {name!r}" in str(caught.value)
    assert ledger.head() == head


def test_a_glob_and_a_file_inside_it(ledger: Ledger) -> None:
    reserve(ledger, GLOB, FILES)
    refused(ledger, FILES[0], FILES[:1], GLOB)
    refused(ledger, "/data/?.csv", [*FILES, "/data/c.csv"], GLOB)
    reserve(ledger, GLOB, FILES)
    reserve(ledger, "/data/c.csv", ["/data/c.csv"])
    assert [balance.spent.epsilon for balance in ledger.datasets()] == [2, 1]
    assert ledger.verify().ok


def test_a_file_and_a_glob_around_it(ledger: Ledger) -> None:
    for file in FILES:
        reserve(ledger, file, [file])
    refused(ledger, GLOB, FILES, *FILES)


def test_a_chosen_name_is_allowed_and_recorded(ledger: Ledger) -> None:
    reserve(ledger, GLOB, FILES)
    reserve(ledger, "mine", FILES[:1], chosen=True)
    refused(ledger, FILES[0], FILES[:1], GLOB, "mine")
    reserve(ledger, "other", ["/data/new.csv"], chosen=True)
    refused(ledger, "/data/new.csv", ["/data/new.csv"], "other")


def test_old_ledgers_are_known_by_name(ledger: Ledger) -> None:
    """Entries without hashes: the dataset's name is all there is."""
    ledger.reserve(FILES[0], USER, charge(1), new_dataset=True)
    refused(ledger, GLOB, FILES, FILES[0])
    reserve(ledger, FILES[0], FILES[:1])


def test_a_budget_that_waits_for_its_first_charge_is_meant_too(ledger: Ledger) -> None:
    ledger.create(FILES[1], USER, epsilon=1)
    refused(ledger, GLOB, FILES, FILES[1])


def test_spellings_of_a_source_are_one(ledger: Ledger) -> None:
    reserve(ledger, "x", ["/donn\u00e9es.csv"], chosen=True)
    refused(ledger, "/d.csv", ["/donne\u0301es.csv"], "x")


def test_only_what_is_new_is_recorded(ledger: Ledger) -> None:
    reserve(ledger, GLOB, FILES)
    reserve(ledger, GLOB, [*FILES, FILES[0]])
    reserve(ledger, GLOB, [*FILES, "/data/c.csv"])
    events = [entry.event for entry in ledger.entries()]
    found = [digest for event in events if isinstance(event, Sources) for digest in event.hashes]
    expected = [hashlib.sha256(name.encode()).hexdigest()[:32] for name in [*FILES, "/data/c.csv"]]
    assert sorted(found) == sorted(expected)
    assert ledger.balance(GLOB).spent == Loss(Fraction(3))
    assert [event.kind for event in events].count("reserved") == 3
    assert ledger.verify().ok


def test_thousands_of_files(folder: Path) -> None:
    ledger = Ledger.open(folder / "ledger.sqlite", create=True)
    files = [f"/data/{number}.csv" for number in range(3000)]
    reserve(ledger, GLOB, files)
    assert ledger.head().number < 2 + 2200, "those with equal beginnings share an entry"
    head = ledger.head()
    reserve(ledger, GLOB, files)
    assert ledger.head().number == head.number + 1
    refused(ledger, files[-1], files[-1:], GLOB)


@pytest.mark.parametrize(
    ("statement", "index"),
    [
        (schema.ABOUT, "crowdtally_by_about"),
        (schema.NUMBERED, "INTEGER PRIMARY KEY (rowid=?)"),
        (schema.FOLLOWING, "INTEGER PRIMARY KEY (rowid>?)"),
        (schema.ROW_OF_KEY, "crowdtally_by_key"),
        (schema.LAST_OF, "crowdtally_by_dataset"),
    ],
)
def test_a_lookup_uses_the_index(folder: Path, statement: Select[Any], index: str) -> None:
    """The cost must not grow with the ledger."""
    Ledger.open(folder / "ledger.sqlite", create=True)
    query = re.sub(r"\(__\[POSTCOMPILE_\w+\]\)", "(-7, -9)", str(statement.compile()))
    names = set(re.findall(r":(\w+)", query))
    with closing(sqlite3.connect(folder / "ledger.sqlite")) as file:
        plan = str(file.execute(f"EXPLAIN QUERY PLAN {query}", dict.fromkeys(names, 7)).fetchall())
    assert index in plan
    assert "SCAN crowdtally_entries" not in plan


@pytest.mark.parametrize("sources", ["/data/a.csv", [1], [None]])
def test_sources_are_a_list_of_names(folder: Path, sources: object) -> None:
    ledger = Ledger.open(folder / "ledger.sqlite", create=True)
    for attempt in (
        lambda: ledger.check("d", USER, 1, sources=sources, new_dataset=True),  # type: ignore[arg-type]
        lambda: ledger.reserve("d", USER, charge(1), sources=sources, new_dataset=True),  # type: ignore[arg-type]
    ):
        with pytest.raises(UsageError, match="a list of names"):
            attempt()


def test_names_that_are_no_text(ledger: Ledger) -> None:
    """File names may hold bytes that are no character, and line ends."""
    odd = ["/data/\udce9.csv", "/data/a\nb.csv"]
    reserve(ledger, "x", odd, chosen=True)
    refused(ledger, "/data/*", odd[1:], "x")
    refused(ledger, "/data/*", odd[:1], "x")


def test_recorded_and_read_back() -> None:
    events = list(filed(map(hashed, ["a", "b", "c", "a"])))
    assert sorted(digest for event in events for digest in event.hashes) == sorted(
        map(hashed, "abc")
    )
    for event in events:
        assert parse(record(event)) == event
        assert -4096 <= event.shelf <= -1
    first = events[0].hashes[0]
    near = first[:-1] + ("0" if first[-1] != "0" else "1")
    elsewhere = ("0" if first[0] != "0" else "1") + first[1:]
    assert shelf(near) == shelf(first) != shelf(elsewhere)
    unordered = sorted([first, near], reverse=True)
    apart = sorted([first, elsewhere])
    for wrong in ([], [first, first], unordered, [first[:31]], apart, first, [7], None):
        with pytest.raises(DamagedLedgerError, match="without the fields"):
            parse({"kind": "sources", "version": 1, "hashes": wrong})
    with pytest.raises(LedgerError, match="unknown event"):
        parse({**record(events[0]), "version": 2})


@pytest.mark.parametrize("column", ["about = 0", "about = NULL", "kind = 'limit'"])
def test_verify_knows_the_entry_and_its_column(location: str, column: str) -> None:
    ledger = Ledger.open(location, create=True)
    reserve(ledger, GLOB, FILES[:1])
    assert ledger.verify().ok
    alter(location, f"UPDATE crowdtally_entries SET {column} WHERE kind = 'sources'")
    assert [problem.entry for problem in ledger.verify().problems] == [2]
