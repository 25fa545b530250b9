"""The order of a release: what comes before the charge, and what cannot fail after it."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crowdtally as ct
from crowdtally.core.numbers import show
from crowdtally.curator import failures, publish
from crowdtally.curator import publish as main_line
from crowdtally.curator.methods.tables import TablesMethod
from crowdtally.curator.questions import SampledCounts
from crowdtally.curator.request.request import make_request
from crowdtally.errors import CrowdtallyError, InputError, UsageError
from crowdtally.ledger import Charge, Ledger, Part, Reservation
from crowdtally.noise.draws import SystemDraws
from crowdtally.records.locate import locate

# ---- The order of a release: counted once, then charged, and only then drawn ---------------------


ROWS = pa.table({"who": list("aabbc"), "item": list("xyxyx")})


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What happens, in order: the ledger's entries, every count and every draw."""
    found: list[str] = []

    def watch(owner: Any, name: str, words: str) -> None:
        original: Callable[..., Any] = getattr(owner, name)

        def noted(*given: Any, **named: Any) -> Any:
            found.append(words)
            return original(*given, **named)

        monkeypatch.setattr(owner, name, noted)

    for name in ("check", "reserve", "start_drawing", "mark_published"):
        watch(Ledger, name, name)
    watch(main_line, "count", "count")
    for draw in ("geometric", "gaussian", "choose", "bernoulli", "hits"):
        watch(SystemDraws, draw, "draw")
    return found


def once(events: list[str]) -> list[str]:
    """The events, repetitions of one in a row left out."""
    return [event for place, event in enumerate(events) if events[place - 1 : place] != [event]]


def release(folder: Path, source: Any = ROWS, **options: Any) -> ct.Release:
    roles = options.pop("roles", {"user": "who", "item": "item"})
    options = ({"method": ct.SRA(10)} if "user" in roles else {}) | options
    discovers = isinstance(options.get("method"), ct.Discover)
    domain = None if discovers else ct.Domain(["x", "y", "z"])
    return ct.release(
        ct.read(source, **roles), domain, epsilon=1, output=folder / "out",
        ledger=folder / "ledger.sqlite", dataset="town", new_dataset=True,
        **options,
    )  # fmt: skip


@pytest.mark.parametrize(
    "options",
    [
        {}, {"method": ct.DPSense(2), "count": "users"}, {"pairs": True},
        {"roles": {"user_per_row": True, "item": "item"}},
        {"method": ct.Discover("item"), "delta": "1e-3"}, {"summary": ct.Filter(cut=1)},
    ],
    ids=["sample", "scaled rows", "pairs", "rows", "discovery", "summary"],
)  # fmt: skip
def test_one_step(options: dict[str, Any], tmp_path: Path, events: list[str]) -> None:
    release(tmp_path, **options)
    assert once(events) == ["check", "count", "reserve", "start_drawing", "draw", "mark_published"]


def test_later_steps_count_after_the_charge(tmp_path: Path, events: list[str]) -> None:
    """Popularity, choice and tables: what steers a later count is released, so it was paid for."""
    release(tmp_path, method=ct.HPA(choose="rank"))
    later = ["count", "draw", "count", "draw"]
    first = ["check", "count", "reserve", "start_drawing", "draw"]
    assert once(events) == [*first, *later, "mark_published"]


def test_damage_shows_before_anything_is_charged(tmp_path: Path, events: list[str]) -> None:
    path = tmp_path / "rows.parquet"
    many = pa.table({"who": list(range(50_000)), "item": ["x", "y"] * 25_000})
    pq.write_table(many, path, compression="gzip", use_dictionary=False)
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 3 : len(raw) // 3 + 400] = bytes(400)
    path.write_bytes(raw)
    with pytest.raises(InputError):
        release(tmp_path, path)
    assert "reserve" not in events
    assert "draw" not in events
    with Ledger.open(tmp_path / "ledger.sqlite", create=True) as ledger:
        assert ledger.charges() == []


def test_strict_stops_before_the_charge(tmp_path: Path, events: list[str]) -> None:
    with pytest.raises(InputError, match="would be dropped"):
        release(tmp_path, ROWS.append_column("day", [[1] * 5]).replace_schema_metadata(None),
                roles={"user": "who", "item": "day"}, strict=True)  # fmt: skip
    assert once(events) == ["check", "count"]


def test_a_failure_after_the_charge_stays_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise InputError("the disk is gone.")

    monkeypatch.setattr(SampledCounts, "draw", fail)
    with pytest.raises(InputError, match="The charge stands"):
        release(tmp_path)
    with Ledger.open(tmp_path / "ledger.sqlite", create=True) as ledger:
        assert ledger.balance("town").spent.epsilon == 1


def test_the_records_are_counted_once(tmp_path: Path, events: list[str]) -> None:
    release(tmp_path)
    assert events.count("count") == 1


def test_each_source_is_located_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[object] = []

    def noted(source: object) -> Any:
        found.append(source)
        return locate(source)

    monkeypatch.setattr("crowdtally.records.locate.locate", noted)
    people = pa.table({"who": list("abc"), "age": [1, 2, 3]})
    records = ct.read(ROWS, user="who", item="item", joins=[(people, "who")], contexts=["age"])
    domain = ct.Domain(["x", "y"], {"age": [1, 2, 3]})
    ct.release(
        records,
        domain,
        epsilon=1,
        ledger=tmp_path / "ledger.sqlite",
        dataset="town",
        new_dataset=True,
        method=ct.SRA(10),
    )
    assert len(found) == 2


def test_a_step_that_hides_a_part_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, events: list[str]
) -> None:
    """The charge is what the steps say they cost: less than ε is a fault of the program."""
    parts = TablesMethod.parts.fget
    monkeypatch.setattr(TablesMethod, "parts", property(lambda method: parts(method)[1:]))
    with pytest.raises(CrowdtallyError, match="do not add up to its epsilon"):
        release(tmp_path, method=ct.HPA())
    assert events == []


# ---- What public parameters rule out is refused before anything is charged; what they allow
#      works


VISITS = pa.table({"who": ["a", "b"], "item": ["x", "y"], "age": [1, 2], "persons": [1, 3]})
PAIR = ct.Domain(["x", "y"])
AGES = list(range(1000))


def released(folder: Path, records: Any, domain: Any, **options: Any) -> ct.Release:
    return ct.release(
        records, domain, output=folder / "release", ledger=folder / "ledger.sqlite",
        dataset="town", **options, new_dataset=True,
    )  # fmt: skip


def visits() -> Any:
    return ct.read(VISITS, user="who", item="item")


@pytest.mark.skipif(sys.platform != "linux", reason="names of folders are any bytes there")
@pytest.mark.parametrize("name", ["out\udcff", "in\udcff/out"])
def test_a_folder_whose_name_is_no_text(tmp_path: Path, name: str) -> None:
    """The tables could not be written there, after the charge."""
    (tmp_path / "in\udcff").mkdir()
    ledger = Ledger.open(tmp_path / "ledger.sqlite", create=True)
    with pytest.raises(UsageError, match="not text in UTF-8"):
        ct.release(
            visits(), PAIR, epsilon=1, method=ct.SRA(1), output=tmp_path / name, ledger=ledger,
            dataset="town", new_dataset=True,
        )  # fmt: skip
    assert not ledger.charges()


def attributes(number: int) -> tuple[Any, ct.Domain]:
    """Records and domain of a table of 1000^number cells."""
    names = [f"a{n}" for n in range(number)]
    table = pa.table({"who": ["a", "b"]} | {name: [1, 2] for name in names})
    domain = ct.Domain(attributes=dict.fromkeys(names, AGES))
    return ct.read(table, user="who", attributes=names), domain


REFUSED = {
    "candidates of DPSense-S": (
        visits(),
        ct.Domain([str(n) for n in range(10_000)]),
        {"method": ct.DPSenseS(10_000, choose="dpsense"), "count": "users"},
        "1010000 candidates",
    ),
    "the whole filter of a tree": (
        *attributes(3),
        {"summary": ct.FilterPriority(10, cut=1), "transform": ct.Dyadic("a0")},
        "empty ones would be published",
    ),
    "pairs of one item": (visits(), ct.Domain(["x"]), {"pairs": True}, "two items or more"),
    "an epsilon beyond all odds": (
        visits(), PAIR, {"epsilon": 20_000, "summary": ct.Filter(cut=0, sides="one")},
        "at most 10000",
    ),
    "popularity in noise": (
        visits(), PAIR, {"epsilon": "1e-9", "method": ct.HPA(popularity_records=2**31)},
        "popularity would be beyond any count",
    ),
    "a reserved name in capitals": (
        ct.read(pa.table({"who": ["a"], "Count": ["x"]}), user="who", item="Count"),
        ct.Domain(["x"], item="Count"), {}, "'count'",
    ),
    "two names but for the case": (
        ct.read(VISITS, user="who", item="item", contexts={"Age": "age", "AGE": "age"}),
        ct.Domain(["x"], {"Age": [1], "AGE": [1]}), {}, "'AGE'",
    ),
    "a name that the tree needs": (
        ct.read(VISITS, user="who", item="item", contexts={"age": None, "age_level": "age"}),
        ct.Domain(["x"], {"age": [1, 2], "age_level": [1]}),
        {"transform": ct.Dyadic("age")}, "'age_level'",
    ),
    "a reserved name of discovered items": (
        ct.read(pa.table({"who": ["a"], "low": ["x"]}), user="who", item="low"),
        None, {"method": ct.Discover("item"), "delta": "1e-9"}, "'low'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_nothing_is_charged(tmp_path, case):
    records, domain, options, words = REFUSED[case]
    with pytest.raises(UsageError, match=words):
        released(tmp_path, records, domain, **{"epsilon": 1} | options)
    assert list(tmp_path.iterdir()) == []


ALLOWED = {
    "the rank rule beyond 2^62 cells": (7, {"method": ct.SRA(choose="rank")}),
    "DPSense-S over 10^12 cells": (
        4, {"method": ct.DPSenseS(5, choose="dpsense"), "count": "users"}
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ALLOWED)
def test_wide_tables_have_their_bounds_chosen(tmp_path, case):
    number, options = ALLOWED[case]
    records, domain = attributes(number)
    made = released(tmp_path, records, domain, epsilon=1, summary=ct.Filter(size=10), **options)
    assert made.metadata["method"]["bounds"]["cells"]["bound"] >= 1


def test_rows_and_persons_are_different_units(tmp_path):
    """ε for a row says nothing of a row that stands for many."""
    by_row = ct.read(VISITS, user_per_row=True, item="item")
    released(tmp_path, by_row, PAIR, epsilon=1)
    by_person = ct.read(VISITS, user_per_row=True, item="item", weight="persons")
    (tmp_path / "release").rename(tmp_path / "first")
    with pytest.raises(UsageError, match="'row', and this request is for 'person:persons'"):
        released(tmp_path, by_person, PAIR, epsilon=1)
    with Ledger.open(tmp_path / "ledger.sqlite", create=True) as ledger:
        assert ledger.balance("town").spent.epsilon == 1


def test_the_release_does_not_say_how_long_the_records_took(tmp_path, monkeypatch):
    began_reading = []
    read_all = publish.count

    def slowly(*given: Any, **named: Any) -> Any:
        began_reading.append(datetime.now(UTC))
        time.sleep(1.1)
        return read_all(*given, **named)

    monkeypatch.setattr(publish, "count", slowly)
    made = released(tmp_path, visits(), PAIR, epsilon=1, method=ct.SRA(10))
    assert datetime.fromisoformat(made.metadata["created"]) <= began_reading[0]


def test_what_is_expected_before_the_charge_is_what_is_drawn(tmp_path):
    """DPSense-S counts in units of s/g: a cut of 10 is half as many of them at s = 2."""
    records, domain = attributes(4)

    def options(scaling: str, cut: int) -> dict[str, object]:
        method = ct.DPSenseS(scalings=scaling)
        return {"method": method, "summary": ct.Filter(cut=cut), "count": "users"}

    with pytest.raises(UsageError, match="empty ones would be published"):
        released(tmp_path, records, domain, epsilon=1, **options("2", 10))
    assert list(tmp_path.iterdir()) == []
    request = make_request(records, domain, epsilon=1, **options("1", 300))
    (table,) = request.tables
    twice = make_request(records, domain, epsilon=1, **options("2", 600))
    assert twice.tables[0].expected_empty == table.expected_empty
    assert twice.tables[0].law.std() == 2 * table.law.std()


# ---- Whatever fails between the charge and the mark, what is said of it is true ------------------
#
# Every function of Crowdtally that a release calls in between is made to fail, one run each, by
# an error that nobody foresaw. A charge is then told, nothing is released, and the ledger stays
# whole.


ROOT = str(Path(ct.__file__).parent)
ROWS_AFTER_CHARGE = "who,item,day\na,x,1\na,y,2\nb,x,1\nc,z,2\n"
# What tells of a failure joins texts that are there already: an id, a path, the ledger's name.
TELLERS = {failures.__file__}
TELLING = {Reservation.void.fget.__code__}  # type: ignore[attr-defined]
REQUESTS: dict[str, dict[str, Any]] = {
    "a named bound": {"method": ct.SRA(2)},
    "auto": {},
    "a sample": {"method": ct.SRA(2), "summary": ct.Threshold(2)},
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text(ROWS_AFTER_CHARGE)
    return tmp_path


def release_after_charge(
    place: Path, name: str, options: dict[str, Any], epsilon: object = 1
) -> ct.Release:
    return ct.release(
        ct.read(place / "rows.csv", user="who", item="item", contexts=["day"]),
        ct.Domain(["x", "y", "z"], contexts={"day": ["1", "2"]}),
        epsilon=epsilon, output=place / name, ledger=place / "ledger.sqlite", dataset="town",
        new_dataset=True, **options,
    )  # fmt: skip


class Between:
    """Watches the calls between the charge and the mark, and lets one of them fail."""

    def __init__(self, fail: CodeType | None = None) -> None:
        self.met: list[CodeType] = []
        self._fail = fail
        self._watching = False

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "return" and code is Ledger.reserve.__code__:
            self._watching = True
        if event != "call" or not code.co_filename.startswith(ROOT):
            return
        if code is Ledger.mark_published.__code__:
            self._watching = False
        if not self._watching or code.co_filename in TELLERS or code in TELLING:
            return
        if code not in self.met:
            self.met.append(code)
        if code is self._fail:
            self._watching = False
            raise ValueError("what nobody foresaw")


@contextmanager
def profiled(watch: Callable[..., None]) -> Iterator[None]:
    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(None)


def calls(place: Path, options: dict[str, Any]) -> list[CodeType]:
    """Every function that is called in between, by a run in which nothing fails."""
    watch = Between()
    with profiled(watch):
        release_after_charge(place, "whole", options)
    return watch.met


def fails_truthfully(place: Path, code: CodeType, options: dict[str, Any]) -> bool:
    """Whether this function was called again; if so, what was said of its failure was true."""
    watch = Between(code)
    try:
        with profiled(watch):
            release_after_charge(place, "out", options)
    except CrowdtallyError as error:
        said = str(error)
    else:  # what it made for the first run is still known, or the quick reader of entries failed
        assert code not in watch.met or "/ledger/" in code.co_filename
        assert ct.load(place / "out").sum().cells == 3
        shutil.rmtree(place / "out")
        return False
    assert "The charge stands (entry " in said, said
    assert "Nothing was released" in said, said
    assert [path.name for path in place.iterdir() if path.is_dir()] == ["whole"], said
    return True


@pytest.mark.parametrize(
    ("name", "every"),
    [("a named bound", 8), *(pytest.param(name, 1, marks=pytest.mark.long) for name in REQUESTS)],
)
def test_a_failure_in_between_is_told_truthfully(place: Path, name: str, every: int) -> None:
    met = calls(place, REQUESTS[name])
    assert len(met) > 150
    met = met[::every]
    failed = sum(fails_truthfully(place, code, REQUESTS[name]) for code in met)
    assert failed > len(met) / 2
    with Ledger.open(place / "ledger.sqlite") as books:
        states = [charge.state for charge in books.charges()]
        assert len(states) == len(met) + 1
        assert set(states) == {"published", "reserved", "drawing"}
        assert states.count("published") == 1 + len(met) - failed
        assert books.balance("town").spent.epsilon == len(states)
        for charge in books.charges():
            if charge.state != "published":
                books.void(charge.id, "nothing left the machine")
        assert books.balance("town").spent.epsilon == states.count("published")
        assert books.verify().ok


def spend(place: Path, *amounts: Fraction) -> None:
    """Charges of somebody else to the same dataset."""
    with Ledger.open(place / "ledger.sqlite") as books:
        unit = books.charges()[0].unit
        assert unit is not None
        for number, amount in enumerate(amounts):
            part = Part("items", ct.Epsilon(amount), "discrete-laplace")
            books.reserve("town", unit, Charge(f"long-{number}", ct.Epsilon(amount), (part,)))


def test_sums_of_many_digits_cost_nobody_a_release(place: Path) -> None:
    """Ten charges of coprime ratios, then an honest release: it is made, shown and read."""
    release_after_charge(place, "first", {})
    spend(place, *(Fraction(3**899, 3**900 + 2**step) for step in range(10)))
    made = release_after_charge(place, "second", {})
    assert len((place / "second" / "release.json").read_text()) < 50_000
    assert str(ct.load(place / "second").describe()) == str(made.describe())


def test_a_sum_that_becomes_too_long_with_this_charge_is_read(place: Path) -> None:
    """A reader adds as the ledger did: rounded up, it is no contradiction."""
    release_after_charge(place, "first", {})
    spend(place, *(Fraction(1, 7 * (10**349 + step)) for step in (1, 3)))
    release_after_charge(place, "second", {}, epsilon="1/97")
    with Ledger.open(place / "ledger.sqlite") as books:
        before, after = [
            entry.balance.spent.epsilon
            for entry in books.entries("town")
            if entry.event.kind == "reserved"
        ][-2:]
    assert len(str(before.denominator)) > 690
    assert after > before + Fraction(1, 97)
    assert ct.load(place / "second").metadata["charged"]["spent_after"] == show(after)
