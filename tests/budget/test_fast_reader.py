"""Reading many entries gives what reading each by itself gives, in words as well."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from budget.ledger_kit import ROW, USER, charge, publish
from crowdtally.core.privacy import Epsilon, Rho
from crowdtally.errors import CrowdtallyError
from crowdtally.ledger import Asked, Charge, Ledger, Part, history
from crowdtally.ledger.chain import Entry, Row, genesis, read
from crowdtally.ledger.history import Keys, Known, Reader, value_of

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


def outcome(reader: Reader | None, row: Row, previous: str | None) -> Entry | str:
    try:
        return read(row, previous) if reader is None else reader.read(row, previous)
    except CrowdtallyError as error:
        return f"{type(error).__name__}: {error}"


def test_the_same_entries(folder: Path) -> None:
    ledger = rich(folder / "ledger.sqlite")
    previous, reader = genesis(ledger._access.read(lambda book: book.id)), Reader()
    for row in stored(ledger):
        assert reader.read(row, previous) == read(row, previous)
        assert reader.read(row, previous) == read(row, previous), "from memory, too"
        wrong = outcome(reader, row, "0" * 64)
        assert isinstance(wrong, str)
        assert wrong == outcome(None, row, "0" * 64)
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
    reader, refused = Reader(), 0
    for row in rows:
        for body in _bodies(row, rows, generator):
            reader.read(row, None)
            wrong = Row(row.number, row.dataset, row.kind, row.about, body, row.hash, row.key)
            expected = outcome(None, wrong, None)
            assert outcome(reader, wrong, None) == expected, body
            refused += isinstance(expected, str)
    assert refused > 500
    for row in rows:
        for change in (
            {"dataset": "b"}, {"kind": "x"}, {"about": 77}, {"key": "x"}, {"number": 500},
        ):  # fmt: skip
            wrong = Row(**{**vars(row), **change})  # type: ignore[arg-type]
            assert isinstance(outcome(None, wrong, None), str)
            assert outcome(reader, wrong, None) == outcome(None, wrong, None)


def test_what_repeats_is_parsed_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No ordinary entry is read as a whole, and 40 charges of one kind have one list of parts."""
    ledger = Ledger.open(folder / "ledger.sqlite", create=True)
    ledger.create("a", USER, epsilon=100)
    for number in range(40):
        asked = Asked("x.csv", f"/out/{number}", {"k": "v"}, "weekly", f"id-{number}")
        ledger.reserve("a", USER, charge("1/7"), asked=asked)
    calls: list[object] = []
    part = history.part
    monkeypatch.setattr(history, "part", lambda fields: calls.append(fields) or part(fields))
    monkeypatch.setattr(history, "read", None)
    assert len(ledger.entries()) == 41
    assert len(calls) == 1
    assert ledger.verify().ok
    assert len(calls) == 2


def test_pieces() -> None:
    keys = Keys("a", "b", "c")
    assert keys.cut('{"a":{"b":1},"b":"x","c":[2]}') == ['{"b":1}', '"x"', "[2]"]
    for wrong in ('{"a":1,"c":2}', '{"b":1,"b":2,"c":3}', '{"a":1,"b":2,"c":3', "", '"a"'):
        with pytest.raises(ValueError, match=r"."):
            keys.cut(wrong)
    for text in ('"a"', '"\\u00e9"', '"\\""', "7", "null", '{"a":1}', '""', '"\\u007f"', '"\\\\"'):
        assert value_of(text) == json.loads(text)
    for text in ('"é"', ' "a"', '{"a": 1}', '{"b":1,"a":2}', "1.50", '"a"b"', '"\\"', '"', "", "01",
                 '"\\/"', '{"a":1,"a":1}', '"a\n"', "-0", '"\\u0061"', '"\x7f"'):  # fmt: skip
        with pytest.raises(ValueError, match=r"."):
            value_of(text)


def test_memory_is_bounded() -> None:
    made: list[object] = []
    known: Known[object] = Known(lambda value: made.append(value) or value)
    for number in range(10_000):
        assert known.of(str(number)) == number
    assert len(known._found) < 5000
    long = f'"{"x" * 5000}"'
    known.of(long)
    assert long not in known._found
    known.of("9999")
    assert len(made) == 10_001
