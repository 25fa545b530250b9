"""What a charge was made on: its sources, its dataset's name, its unfinished release."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import sqlite3
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Select

from crowdtally.errors import UsageError
from crowdtally.ledger import (
    DamagedLedgerError,
    Drawing,
    Ledger,
    LedgerError,
    Loss,
    OverBudgetError,
    Sources,
    StagedFolder,
    VoidedError,
)
from crowdtally.ledger.database import schema
from crowdtally.ledger.events import parse, record
from crowdtally.ledger.provenance import filed, hashed, shelf
from kit.ledgers import SHA, USER, alter, charge

# ---- One source, one budget: a default name is refused where a source belongs to another
#      dataset


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


# ---- A dataset's name is one name, however its characters are composed ---------------------------


NFC, NFD = "donn\u00e9es", "donne\u0301es"
KELVIN = "\u212a-means"  # looks like "K-means", and NFC makes it so


@pytest.fixture
def path_of_name(folder: Path) -> Path:
    return folder / "ledger.sqlite"


@pytest.mark.parametrize(("first", "second"), [(NFC, NFD), (NFD, NFC), (KELVIN, "K-means")])
def test_two_spellings_share_one_budget(location: str, first: str, second: str) -> None:
    ledger = Ledger.open(location, create=True)
    ledger.create(first, USER, epsilon=2)
    ledger.reserve(first, USER, charge(1))
    assert ledger.check(second, USER, 1).spent.epsilon == 1
    assert ledger.reserve(second, USER, charge(1)).after.spent.epsilon == 2
    with pytest.raises(OverBudgetError):
        ledger.reserve(first, USER, charge("1e-9"))
    with pytest.raises(UsageError, match="exists already"):
        ledger.create(second, USER, epsilon=2)
    (balance,) = ledger.datasets()
    assert balance.dataset == unicodedata.normalize("NFC", first)
    assert len(ledger.charges(first)) == len(ledger.charges(second)) == 2
    assert ledger.verify().ok


# ---- A charge is not given back while its unfinished release exists, or may exist ----------------


Patch = pytest.MonkeyPatch


@pytest.fixture
def ledger_staged(folder: Path) -> Ledger:
    return Ledger.open(folder / "ledger.sqlite", create=True)


@pytest.fixture
def staged(folder: Path) -> Path:
    """A folder with something in it, in a folder of its own."""
    made = folder / "disk" / ".out.0123.part"
    made.mkdir(parents=True)
    (made / "release.json").write_text("{}")
    return made


Begin = Callable[[Path], str]


@pytest.fixture
def begin(ledger_staged: Ledger) -> Begin:
    """Charge a release whose folder the ledger knows; its id."""

    def drawing(staged: Path) -> str:
        made = ledger_staged.reserve("d", USER, charge(1), new_dataset=True)
        ledger_staged.start_drawing(made.id, staged=staged)
        return made.id

    return drawing


def refused_staged(ledger: Ledger, reservation_id: str, words: str, **options: bool) -> None:
    head, state = ledger.head(), ledger.charges()[0].state
    assert state in {"drawing", "reserved"}
    with pytest.raises(UsageError, match=words):
        ledger.void(reservation_id, "certain", **options)
    assert ledger.head() == head
    assert ledger.charges()[0].state == state


def test_the_folder_is_recorded_where_it_really_is(
    ledger_staged: Ledger, staged: Path, monkeypatch: Patch
) -> None:
    (staged.parent / "link").symlink_to(staged)
    monkeypatch.chdir(staged.parent)
    for staged_as in ("link", None):
        made = ledger_staged.reserve("d", USER, charge(1), new_dataset=True)
        ledger_staged.start_drawing(made.id, staged=staged_as)
    first, second = ledger_staged.charges()
    assert first.state == second.state == "drawing"
    assert first.staged == StagedFolder(platform.node(), str(staged))
    assert second.staged is None
    assert ledger_staged.verify().ok


def test_no_void_while_the_folder_exists(ledger_staged: Ledger, begin: Begin, staged: Path) -> None:
    made = begin(staged)
    refused_staged(ledger_staged, made, rf"exists, in {staged}.*--delete-staged")
    shutil.rmtree(staged)
    assert ledger_staged.void(made, "it failed").spent.epsilon == 0


def test_before_the_first_draw_there_is_no_folder_to_look_for(
    ledger_staged: Ledger, staged: Path
) -> None:
    """The run cannot draw any more: starting to is refused."""
    made = ledger_staged.reserve("d", USER, charge(1), new_dataset=True)
    assert ledger_staged.void(made.id, "not wanted any more").spent.epsilon == 0
    head = ledger_staged.head()
    with pytest.raises(VoidedError, match=r"was voided.*must not be published"):
        ledger_staged.start_drawing(made.id, staged=staged)
    assert ledger_staged.head() == head
    assert (staged / "release.json").exists()


def test_void_deletes_the_folder_on_demand(
    ledger_staged: Ledger, begin: Begin, staged: Path
) -> None:
    made = begin(staged)
    assert ledger_staged.void(made, "killed", delete_staged=True).spent.epsilon == 0
    assert list(staged.parent.iterdir()) == []
    gone = begin(staged)
    assert ledger_staged.void(gone, "there was none", delete_staged=True).spent.epsilon == 0


def test_only_what_looks_like_an_unfinished_release_is_deleted(
    ledger_staged: Ledger, begin: Begin, staged: Path
) -> None:
    made = begin(staged.parent)
    refused_staged(ledger_staged, made, "is not deleted.*delete it yourself", delete_staged=True)
    assert (staged / "release.json").exists()


@pytest.mark.parametrize("delete", [False, True])
@pytest.mark.parametrize("path", ["/a\0b", "/\ud800", ".out.0123.part"])
def test_no_void_where_the_record_names_what_no_run_wrote(
    ledger_staged: Ledger, monkeypatch: Patch, staged: Path, path: str, delete: bool
) -> None:
    """On a server others can record any text."""
    monkeypatch.chdir(staged.parent)
    made = ledger_staged.reserve("d", USER, charge(1), new_dataset=True)
    event = Drawing(made.id, StagedFolder(platform.node(), path))
    ledger_staged._access.write(lambda book: book.append("d", event))
    refused_staged(
        ledger_staged, made.id, "cannot be checked.*Nothing was voided", delete_staged=delete
    )
    assert staged.exists()


@pytest.mark.parametrize("delete", [False, True])
@pytest.mark.parametrize("exists", [False, True])
def test_no_void_from_another_computer(
    ledger_staged: Ledger,
    begin: Begin,
    staged: Path,
    monkeypatch: Patch,
    delete: bool,
    exists: bool,
) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(platform, "node", lambda: "elsewhere")
        made = begin(staged)
    if not exists:
        shutil.rmtree(staged)
    refused_staged(
        ledger_staged,
        made,
        "on the computer 'elsewhere'.*Run the command there",
        delete_staged=delete,
    )
    assert staged.exists() == exists
    assert ledger_staged.charges()[0].hint() is None


@pytest.mark.parametrize("lost", ["parent", "parent is a file"])
def test_no_void_while_the_disk_may_be_elsewhere(
    ledger_staged: Ledger, begin: Begin, staged: Path, lost: str
) -> None:
    made = begin(staged)
    shutil.move(staged.parent, staged.parent.with_name("unmounted"))
    if lost == "parent is a file":
        staged.parent.write_text("")
    for delete in (False, True):
        refused_staged(
            ledger_staged, made, r"disk is not there\. Mount its disk", delete_staged=delete
        )
    staged.parent.unlink(missing_ok=True)
    staged.parent.mkdir()  # as the message says
    assert ledger_staged.void(made, "deleted for good").spent.epsilon == 0


def test_no_void_where_a_link_leads_elsewhere(
    ledger_staged: Ledger, begin: Begin, staged: Path
) -> None:
    """The folder around it was moved, and its name given to a link."""
    made = begin(staged)
    disk = staged.parent
    disk.rename(disk.with_name("moved"))
    disk.with_name("another").mkdir()
    disk.symlink_to("another")
    for delete in (False, True):
        refused_staged(ledger_staged, made, "leads to another folder now", delete_staged=delete)
    assert (disk.with_name("moved") / staged.name / "release.json").exists()


def test_no_void_where_one_may_not_look(
    ledger_staged: Ledger, begin: Begin, staged: Path, monkeypatch: Patch
) -> None:
    made = begin(staged)
    look = os.lstat

    def forbidden(path: object, **more: object) -> os.stat_result:
        if str(path) == str(staged):
            raise PermissionError(13, "Permission denied")
        return look(path, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "lstat", forbidden)
    refused_staged(
        ledger_staged, made, r"cannot be checked: Permission denied\. Run the command as the user"
    )


def test_no_void_where_it_cannot_be_deleted(
    ledger_staged: Ledger, begin: Begin, staged: Path, monkeypatch: Patch
) -> None:
    made = begin(staged)
    monkeypatch.setattr(shutil, "rmtree", lambda *_, **__: None)
    refused_staged(
        ledger_staged, made, "cannot be deleted, so its charge stands", delete_staged=True
    )


def test_a_published_folder_is_never_deleted(
    ledger_staged: Ledger, begin: Begin, staged: Path
) -> None:
    """Killed between the mark and the rename: it is paid for, and may be renamed."""
    made = begin(staged)
    ledger_staged.mark_published(made, SHA)
    with pytest.raises(UsageError, match="published and cannot be voided"):
        ledger_staged.void(made, "killed", delete_staged=True)
    assert (staged / "release.json").exists()


CASES: dict[str, tuple[Callable[[Ledger, str, Path], object], str | None]] = {
    "reserved": (lambda *_: None, "unfinished: .*--delete-staged"),
    "published": (lambda ledger, made, _: ledger.mark_published(made, SHA), "paid for, but not in"),
    "voided": (lambda ledger, made, _: ledger.void(made, "x", delete_staged=True), None),
    "removed": (lambda _, __, staged: shutil.rmtree(staged), None),
}


@pytest.mark.parametrize("case", CASES)
def test_hints(ledger_staged: Ledger, begin: Begin, staged: Path, case: str) -> None:
    happen, words = CASES[case]
    made = begin(staged)
    happen(ledger_staged, made, staged)
    if case == "voided":
        staged.mkdir()  # another run's, perhaps
    hint = ledger_staged.charges()[0].hint()
    if words is None:
        assert hint is None
    else:
        assert re.search(words, hint or "")
        assert str(staged) in (hint or "")
