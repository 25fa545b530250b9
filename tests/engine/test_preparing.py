"""Joined, derived and matched: every engine makes the same records of a source, row by row."""

from __future__ import annotations

import csv
import datetime
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
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
from crowdtally.curator.counting.bounded import dropped_in
from crowdtally.records.engine import Dropped, countable
from crowdtally.records.prepare import prepare
from kit.crowd import Start

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
