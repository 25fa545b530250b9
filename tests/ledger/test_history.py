"""All entries of a ledger, read quickly, and judged before its first charge."""

from __future__ import annotations

import json
import random
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from crowdtally.core.privacy import Epsilon, Rho
from crowdtally.errors import CrowdtallyError
from crowdtally.ledger import Asked, Charge, DamagedLedgerError, Ledger, LedgerError, Part, chain
from crowdtally.ledger import charge as charges
from crowdtally.ledger.chain import Entry, Row, genesis, read
from kit.ledgers import ROW, SHA, USER, alter, charge, publish
from ledger.test_verify import filled, rewrite

# ---- Reading many entries gives what reading each by itself gives, in words as well --------------


# Keys that entries have themselves, and what JSON escapes.
AWKWARD = {
    "by": {"dataset": 1, "event": [{"number": 2, "time": None}]}, "balance": "{\"spent\":{}}",
    "delta": "1", "parts": [], "versions": {"version": "3"}, "spent": "é\u2028\x7f\\", "unit": True,
}  # fmt: skip


def rich(path: Path) -> Ledger:
    """Every kind of entry, in every way that it is written."""
    ledger = Ledger.open(path, create=True)
    ledger.create("a", USER, epsilon=100, each_epsilon=5)
    ledger.create('by "é"', epsilon=1, delta="1e-3", accountant="zcdp")
    ledger.create("rows", ROW)
    for number in range(3):
        asked = Asked("x.csv", f"/out/{number}", {"k": "v"}, "weekly", f"id-{number}")
        publish(ledger, ledger.reserve("a", USER, charge("1/7"), asked=asked, sources=["/x"]).id)
    strange = Asked('a "quoted" \\ name', None, AWKWARD, "é")
    made = ledger.reserve("a", USER, charge("1/7", release='"parts":'), asked=strange)
    ledger.start_drawing(made.id, staged=path.parent / ".gone.part")
    noise = Part("items", None, "discrete-gaussian", {"by": 1}, rho=Rho.of("1/1000"))
    rule = Part("bound", Epsilon.of("1/50"), "exponential", selects=True)
    pure = Part("edges", Epsilon.of("1/9"), "discrete-laplace")
    for parts in ([noise], [noise, rule], [pure, noise]):
        made = ledger.reserve('by "é"', USER, Charge.by_rho("release", parts), asked=Asked())
    ledger.void(made.id, "certain")
    ledger.reserve("rows", ROW, charge(1, "1e-9"))
    ledger.set_limit("rows", epsilon=9, delta="1/2", reason="agreed")
    ledger.reserve("rows", ROW, charge("2/3", "1e-9"))
    ledger.withdraw("release-1", "wrong")
    return ledger


def stored(ledger: Ledger) -> list[Row]:
    return ledger._store.read(lambda page: page.rows_after(0))


def outcome(reading: Callable[..., Entry], *given: object) -> Entry | str:
    try:
        return reading(*given)
    except CrowdtallyError as error:
        return f"{type(error).__name__}: {error}"


def test_the_same_entries(folder: Path) -> None:
    ledger = rich(folder / "ledger.sqlite")
    previous = genesis(ledger._access.read(lambda book: book.id))
    for row in stored(ledger):
        assert read(row, previous) == chain._carefully(row)
        assert chain._quickly(row) == chain._carefully(row), "from memory, too"
        assert "its hash does not follow" in str(outcome(read, row, "0" * 64))
        previous = row.hash


def _bodies(row: Row, others: list[Row], generator: random.Random) -> Iterator[str]:
    """Slips of a letter or a disk, and what a forger would try."""
    body, some = row.body, others[generator.randrange(len(others))].body
    for _ in range(12):
        place, length = generator.randrange(len(body)), generator.choice((0, 1, 1, 2, 9))
        piece = generator.choice(
            ("", " ", "0", "1", '"', "\\", "}", "{", ",", "null", "true", "\\u0061", "é", "-", "/2")
        )
        yield body[:place] + piece + body[place + length :]
    for old, new in (
        ('"version":', '"version":0'), ('"version":4', '"version":5'), ("1/7", "2/14"),
        ('"version":4', '"version":3'), ('"version":4', '"version":true'), ("1/7", "0"),
        ('"delta":"0"', '"delta":0'), ('"number":', '"number":1'), ('"by":', '"by" :'),
        ('"spent":{', '"spent":{"a":"0",'), ('"limit":', '"limit":null,"limit":'),
        ('"role":null', '"role":7'), ('"l1_bound":4', '"l1_bound":4.0'),
        ('"parameters":{', '"parameters":{"zz":1,'), ('"column":', '"colum":'),
        ('"time":', '"times":'), ('"epsilon":"', '"epsilon":"0'), ('"kind":"res', '"kind":"Res'),
        ('"request_id":null', '"request_id":""'), ('"sequential"', '"sequentiel"'),
        ('"spent":{"delta":"0",', '"spent":{"delta":"-1",'), ('"parts":[', '"parts":[{},'),
        ('"selects":true', '"selects":1'),
        ('"kind":"user"}', '"kind":"user","more":1}'),
        ('"versions":{', '"versions":{"a":9007199254740993,'), ('"unit":{', '"unit":{"a":1,'),
        ('"mechanism":"', '"a":1,"mechanism":"'), ('"name":"items",', '"name":"items","o":1,'),
        ('"rho":"', '"rho":"-'), ('"epsilon":"', '"epsilon":"-'),
    ):  # fmt: skip
        if old in body:
            yield body.replace(old, new)
            yield body.replace(old, new, 1)
            yield new.join(body.rsplit(old, 1))
    for key in (',"by":', ',"event":', ',"number":', ',"spent":'):
        if key in body and key in some:
            yield body[: body.index(key)] + some[some.index(key) :]


def test_the_same_refusals_in_the_same_words(folder: Path) -> None:
    """With a memory of all that was right, nothing that is wrong passes for it."""
    rows, generator = stored(rich(folder / "ledger.sqlite")), random.Random(19)
    refused = 0
    for row in rows:
        for body in _bodies(row, rows, generator):
            read(row, None)
            wrong = Row(row.number, row.dataset, row.kind, row.about, body, row.hash, row.key)
            expected = outcome(chain._carefully, wrong)
            assert outcome(read, wrong, None) == expected, body
            refused += isinstance(expected, str)
    assert refused > 500
    for row in rows:
        for change in (
            {"dataset": "b"}, {"kind": "x"}, {"about": 77}, {"key": "x"}, {"number": 500},
        ):  # fmt: skip
            wrong = Row(**{**vars(row), **change})  # type: ignore[arg-type]
            assert isinstance(outcome(chain._carefully, wrong), str)
            assert outcome(read, wrong, None) == outcome(chain._carefully, wrong)


def test_what_repeats_is_parsed_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No ordinary entry is read as a whole, and 40 charges of one kind have one list of parts."""
    ledger = Ledger.open(folder / "ledger.sqlite", create=True)
    ledger.create("a", USER, epsilon=100)
    for number in range(40):
        asked = Asked("x.csv", f"/out/{number}", {"k": "v"}, "weekly", f"id-{number}")
        ledger.reserve("a", USER, charge("1/7"), asked=asked)
    parts: list[Part] = []
    part = Part.read
    monkeypatch.setattr(Part, "read", lambda fields: parts.append(part(fields)) or parts[-1])
    monkeypatch.setattr(chain, "_carefully", None)
    charges._parts.cache_clear()
    assert len(ledger.entries()) == 41
    assert ledger.verify().ok
    assert len(parts) == 1


def test_pieces() -> None:
    for text in ('"a"', '"\\u00e9"', '"\\""', "7", "null", '{"a":1}', '""', '"\\u007f"', '"\\\\"'):
        assert chain._value(text) == json.loads(text)
    for text in ('"é"', ' "a"', '{"a": 1}', '{"b":1,"a":2}', "1.50", '"a"b"', '"\\"', '"', "", "01",
                 '"\\/"', '{"a":1,"a":1}', '"a\n"', "-0", '"\\u0061"', '"\x7f"'):  # fmt: skip
        with pytest.raises(ValueError, match=r"."):
            chain._value(text)


def test_a_long_entry_that_does_not_fit_is_refused_at_once() -> None:
    keys = '{"a":{},"by":{},"dataset":"d","event":{},"number":1,"time":""}'
    body = f'{{"balance":{keys},"by":{keys},"event":[{",".join([keys] * 3000)}],"z":1}}'
    assert chain._quickly(Row(1, "d", "drawing", None, body, "")) is None


def test_memory_is_bounded() -> None:
    for remembered in (chain._author, chain._balance, chain._time, charges._parts):
        assert remembered.cache_info().maxsize


# ---- The first charge of an opened ledger refuses whatever ``verify`` would call damaged ---------


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
