"""Records are prepared alike on both engines, and dropped rows are counted."""

from __future__ import annotations

import csv
import datetime
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import crowdtally as ct
from crowdtally.core.domain import Domain
from crowdtally.core.records import Join, Records
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.bounding.scaling import DPSense
from crowdtally.curator.counting import users as row_reads
from crowdtally.curator.counting.bounded import Read, count, count_rows, count_scaled, dropped_in
from crowdtally.curator.counting.users import kept_cells
from crowdtally.records.engine import Dropped, countable
from crowdtally.records.prepare import prepare
from kit import reference
from kit.databases import RowRandom, Shape
from kit.spark import (
    BARE,
    CONTEXTS,
    EVERYONE,
    LISTED,
    RULES,
    STORED,
    Crowd,
    Start,
    farthest,
    tally,
    together,
)

# ---- Each first read says which rows fell out, from the same rows that it counts: on every
#      engine


Crowds = Callable[[Shape], Crowd]
KEY = 9
_LISTED = frozenset(LISTED)


def fallen_out(rows: list[RowRandom]) -> Dropped:
    """By plain Python, from the rows themselves."""
    nobody = [row for row in rows if row[0] is None]
    outside = [
        row for row in rows
        if row[0] is not None and not (row[1] in _LISTED and row[2] in range(CONTEXTS))
    ]  # fmt: skip
    return Dropped(len(rows), len(nobody), len(outside))


EXPECTED = fallen_out(together(EVERYONE))

READS: dict[str, Callable[[Crowd], Read[Any]]] = {
    "records": lambda c: count(c.engine, c.everyone, SRA(2), key=KEY, what="records"),
    "users": lambda c: count(c.engine, c.everyone, SRA(2), key=KEY, what="users"),
    "more than a heap holds": lambda c: count(
        c.engine, c.everyone, SRA(200_000), key=KEY, what="records"
    ),
    "pairs": lambda c: count(
        c.engine, c.everyone, SRA(3), key=KEY, what="users", pairs=True
    ),
    "by hand": lambda c: count(c.engine, c.everyone, RULES["hpa"](2), key=KEY, what="records"),
    "scaled items": lambda c: count_scaled(
        c.engine, c.everyone, DPSense(2), len(LISTED), width=CONTEXTS
    ),
    "record sums": lambda c: row_reads.record_sums(c.engine, c.everyone, "records"),
    "cell sums": lambda c: row_reads.record_sums(c.engine, c.everyone, "users"),
    "scaled sums": lambda c: row_reads.scaled_sums(c.engine, c.everyone, 2, width=CONTEXTS),
    "row totals": lambda c: row_reads.row_totals(c.engine, c.everyone, 2, width=1),
}  # fmt: skip
CASES = [
    *((name, BARE) for name in READS),
    *((name, STORED) for name in ("records", "users", "record sums")),
]


@pytest.mark.quick_on_spark("records", "pairs", "scaled items", "cell sums", "row totals")
@pytest.mark.parametrize(
    ("name", "shape"), CASES, ids=[f"{name}{', ids' if shape.id else ''}" for name, shape in CASES]
)
def test_what_falls_out_of_each_read(name: str, shape: Shape, crowds: Crowds) -> None:
    assert EXPECTED.without_user
    assert EXPECTED.outside
    assert READS[name](crowds(shape)).dropped == EXPECTED


def test_everybody_has_a_row_sum_but_those_without_a_record(crowds: Crowds) -> None:
    """A user whose records all fell out has no row: one of sum 0 would be nobody's."""
    own = reference.histories(together(EVERYONE))
    for name in ("record sums", "cell sums", "scaled sums"):
        sums = READS[name](crowds(BARE)).found
        assert int(sums.users.sum()) == len(own)
        assert sums.sums.min() == 1


def test_parts_have_one_census_together(crowds: Crowds, monkeypatch: pytest.MonkeyPatch) -> None:
    crowd = crowds(BARE)
    whole = READS["records"](crowd)
    monkeypatch.setattr(crowd.engine, "parts", lambda: 3)
    parts = READS["records"](crowd)
    assert parts.dropped == whole.dropped == EXPECTED
    for one, other, layout in zip(
        whole.found, parts.found, (crowd.items, crowd.cells), strict=True
    ):
        assert farthest(tally(one, layout), tally(other, layout)) == 0


def test_rows_that_stand_for_nobody(start_engine: Start) -> None:
    weights, items = [3, 0, -1, None, 2, 5], ["a", "a", "a", "a", "x", None]
    source = pa.table({"item": items, "weight": pa.array(weights, pa.int64())})
    with start_engine() as engine:
        records = Records(source, None, "item", weight="weight")
        read = count_rows(engine, prepare(engine, records, Domain(["a", "b"], item="item")))
    assert read.found[0].dense().tolist() == [3, 0]
    assert read.dropped == Dropped(6, 0, 5)


def test_items_that_nobody_or_no_value_has(start_engine: Start) -> None:
    users = [1, 1, 1, 2, 2, None, 3, None]
    items = ["a", "a", "b", "b", None, "c", None, None]
    source = pa.table({"user": pa.array(users, pa.int64()), "item": items})
    with start_engine() as engine:
        prepared = prepare(engine, Records(source, "user", "item"), None)
        read = kept_cells(engine, prepared, 5, [1], key=KEY)
    (found,) = read.found
    (items,) = found.values
    assert dict(zip(items.tolist(), found.users.tolist(), strict=True)) == {"a": 1, "b": 2}
    assert read.dropped == Dropped(8, 2, 2)


def test_a_source_without_rows(start_engine: Start) -> None:
    source = pa.table({"user": pa.array([], pa.int64()), "item": pa.array([], pa.string())})
    with start_engine() as engine:
        records = Records(source, "user", "item")
        prepared = prepare(engine, records, Domain(["a"], item="item"))
        read = count(engine, prepared, SRA(2), key=KEY, what="records")
    assert read.dropped == Dropped(0, 0, 0)
    assert read.found[0].dense().tolist() == [0]


def test_rows_of_nobody_are_not_kept(start_engine: Start) -> None:
    """By the fast cut and by the window that defines it, wide cells and narrow ones."""
    users, cells = [1, None, None, 2, None], [0, 1, 2, None, 2]
    source = pa.table(
        {"user": pa.array(users, pa.int64()), "a": pa.array(cells, pa.int64()), "b": [0] * 5}
    )
    records = Records(source, "user", None, attributes=("a", "b"))
    for width in (1, 2**31):
        with start_engine() as engine:
            domain = Domain(attributes={"a": range(3), "b": [0]})
            prepared = prepare(engine, records, domain)
            for what in ("records", "users"):
                kept = SRA(9).keep(engine, prepared.rows, cells=3 * width, key=KEY, what=what)
                found = engine.columns(kept.rows)
                assert [str(user) for user in found["user"].tolist()] == ["1"]
                assert found["cell"].tolist() == [0]


@pytest.mark.parametrize("what", ["records", "users"])
def test_rows_that_fall_out_change_no_sample(what: Any, crowds: Crowds) -> None:
    """What a user has outside the domain decides nothing about what is kept inside."""
    crowd = crowds(BARE)
    inside = replace(crowd, everyone=replace(crowd.everyone, rows=countable(crowd.everyone.rows)))
    kept, _ = crowd.kept(SRA(2), KEY, what)
    assert kept == inside.kept(SRA(2), KEY, what)[0]


# ---- Joined, derived and matched: every engine makes the same records of a source, row by row ----


ITEMS = ["bar", "café", "Bar", "it's", " bar", "8"]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]  # no Sunday
BANDS, REGIONS, DECADES = ["young", "old"], ["nord", "süd", ""], [-1, 0, 1, 2]
DOMAIN = Domain(
    ITEMS, {"day": DAYS, "band": BANDS, "region": REGIONS, "decade": DECADES}, item="place"
)
EXPRESSIONS = {
    "day": "dayname(to_timestamp(seconds))",
    "band": "CASE WHEN age < 30 THEN 'young' WHEN age < 99 THEN 'old' END",
    "region": None,
    "decade": "CAST(code AS INTEGER) // 10",
}
_CODES = ["7", "12", "-3", "25", "99", "-13", "x", "", " 4 ", None]


@dataclass(frozen=True)
class Town:
    """Records in two files, people by a whole number in memory, regions by a text in a CSV."""

    folder: Path
    rows: list[dict[str, Any]]
    people: dict[int, int | None]
    """The age of each known person."""
    regions: dict[str, str]
    """The region of each known town."""

    def records(self) -> Records:
        people = pa.table({"person": list(self.people), "age": list(self.people.values())})
        joins = (
            Join(people, "person", "person"), Join(self.folder / "regions.csv", "town", "town"),
        )  # fmt: skip
        return Records(str(self.folder / "part-*.parquet"), "person", "place", EXPRESSIONS,
                       "visit", joins, types={"age": "int64"})  # fmt: skip


def _some(rng: np.random.Generator, values: Sequence[Any]) -> Any:
    return values[rng.integers(0, len(values))]


@pytest.fixture(scope="session")
def town(tmp_path_factory: pytest.TempPathFactory) -> Town:
    rng, folder = np.random.default_rng(21), tmp_path_factory.mktemp("preparing")
    places, towns = [*ITEMS, "BAR", "cafe\u0301", "8.0", None], ["a", "A", "b ", "ö", "z", None]
    rows = [
        {
            "person": _some(rng, [*range(-9, 60), 2**62, None]),
            "place": _some(rng, places),
            "seconds": _some(rng, [int(rng.integers(-(10**9), 2 * 10**9)), 0, None]),
            "town": _some(rng, towns),
            "code": _some(rng, _CODES),
            "visit": _some(rng, [number, 5, None]),
        }
        for number in range(3000)
    ]
    kinds = {"person": pa.int64(), "seconds": pa.int64(), "visit": pa.int64()}
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in rows[0]])
    for number, part in enumerate((rows[:1200], rows[1200:])):
        parquet.write_table(pa.Table.from_pylist(part, schema), folder / f"part-{number}.parquet")
    people = {person: _some(rng, [17, 29, 30, 98, 99, None]) for person in range(-9, 55)}
    regions = {"a": "nord", "A": "süd", "b ": "nord", "ö": "West"}
    with (folder / "regions.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("town", "region"), *regions.items()])
    return Town(folder, rows, people, regions)


def expected_cell(town: Town, row: dict[str, Any]) -> int | None:
    """The cell of a record, None where it is outside the lists or lacks a partner."""
    if row["person"] not in town.people or row["town"] not in town.regions:
        return None
    values = (row["place"], _day(row["seconds"]), _band(town.people[row["person"]]),
              town.regions[row["town"]], _decade(row["code"]))  # fmt: skip
    cell = 0
    for value, axis in zip(values, (ITEMS, DAYS, BANDS, REGIONS, DECADES), strict=True):
        if value not in axis:
            return None
        cell = cell * len(axis) + axis.index(value)  # type: ignore[arg-type]
    return cell


def _day(seconds: int | None) -> str | None:
    if seconds is None:
        return None
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    return (epoch + datetime.timedelta(seconds=seconds)).strftime("%A")


def _band(age: int | None) -> str | None:
    return None if age is None or age >= 99 else "young" if age < 30 else "old"


def _decade(code: str | None) -> int | None:
    """Cut towards zero, which is what ``//`` of an expression means."""
    whole = code is not None and re.fullmatch(r" *-?\d+ *", code)
    return int(Fraction(int(code), 10)) if whole else None


def expected(town: Town) -> Counter[tuple[Any, ...]]:
    """How often which user, cell and id, as text, occur."""
    cells = ((row, expected_cell(town, row)) for row in town.rows)
    return Counter(
        (row["person"], cell, None if row["visit"] is None else str(row["visit"]))
        for row, cell in cells
        if cell is not None
    )


def test_every_record_is_what_its_row_says(town: Town, start_engine: Start) -> None:
    with start_engine() as engine:
        prepared = prepare(engine, town.records(), DOMAIN)
        # As text, a null among the ids makes no floats of the others.
        inside = countable(prepared.rows)
        found = engine.columns(inside.mutate(id=inside.id.cast("string")))
        dropped = dropped_in(engine, prepared.rows)
    rows = expected(town)
    columns = (found[name].tolist() for name in ("user", "cell", "id"))
    assert Counter(zip(*columns, strict=True)) == rows
    nobody = sum(row["person"] is None for row in town.rows)
    assert dropped == Dropped(len(town.rows), nobody, len(town.rows) - nobody - rows.total())
    assert 100 < rows.total() < len(town.rows) / 2


@pytest.mark.quick_on_spark
@pytest.mark.parametrize("again", [[], [(2, 31)], [(2, 30)], [(2, 31), (2, 30)], [(None, 7)]])
def test_a_key_that_repeats_has_no_partner(
    again: list[tuple[int | None, int]], start_engine: Start
) -> None:
    """One person's entry more in a joined table: no refusal, and others' records as before."""
    visits = pa.table({"who": [1, 2, 2, 3], "item": ["a", "a", "b", "b"]})
    rows = [(1, 20), (2, 30), (3, 20), *again]
    ages = pa.table(
        {"who": pa.array([who for who, _ in rows], pa.int64()), "age": [age for _, age in rows]}
    )
    records = ct.read(visits, user="who", item="item", contexts=["age"], joins=[(ages, "who")])
    with start_engine() as engine:
        prepared = prepare(engine, records, ct.Domain(["a", "b"], {"age": [20, 30, 31, 7]}))
        found = engine.columns(countable(prepared.rows))
        dropped = dropped_in(engine, prepared.rows)
    of_two = {(2, 1), (2, 5)} if not again or again[0][0] is None else set()
    seen = list(zip(map(int, found["user"]), found["cell"].tolist(), strict=True))
    assert sorted(seen) == sorted({(1, 0), (3, 4)} | of_two)
    assert dropped == Dropped(4, 0, 2 - len(of_two))
