"""Rows for which a condition does not hold are no records: every engine leaves out the same."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import crowdtally as ct
from crowdtally.core.domain import Domain
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.counting.bounded import count, count_rows, dropped_in
from crowdtally.errors import InputError, UsageError
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.engine import Dropped
from crowdtally.records.prepare import prepare
from kit.crowd import Start
from kit.histories import kept_by

ITEMS = ["bar", "café", "park"]
DOMAIN = Domain(ITEMS, item="place")
KEY = 20_240_229
LIMIT = 9
"""More than some users have of what the conditions take, and fewer than others."""
Row = dict[str, Any]


def _rows(number: int = 2000) -> list[Row]:
    rng = np.random.default_rng(7)
    return [
        {
            "who": _some(rng, [*range(40), None]),
            "place": _some(rng, [*ITEMS, "elsewhere", None]),
            "stars": _some(rng, [1, 2, 3, 4, 5, None]),
            "paid": _some(rng, ["3", "12", "free", "", None]),
            "town": _some(rng, ["a", "b", "c", None]),
        }
        for _ in range(number)
    ]


def _some(rng: np.random.Generator, values: list[Any]) -> Any:
    return values[rng.integers(0, len(values))]


ROWS = _rows()
OPEN = {"a": True, "b": False}
CONDITIONS: dict[str, tuple[str, Callable[[Row], bool | None]]] = {
    "a comparison": ("stars >= 4", lambda row: row["stars"] and row["stars"] >= 4),
    "nulls are not records": ("NOT stars >= 4", lambda row: row["stars"] and row["stars"] < 4),
    "nulls by name": ("stars IS NULL OR stars = 5", lambda row: row["stars"] in (None, 5)),
    "a cast that fails on some rows": (
        "CAST(paid AS INTEGER) < 10", lambda row: row["paid"] == "3"
    ),
    "a list in which a cast is looked up": (
        "CAST(paid AS INTEGER) IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)", lambda row: row["paid"] == "3"
    ),
    "a joined column": ("is_open", lambda row: OPEN.get(row["town"])),
    "a joined column without a partner": (
        "is_open IS NULL", lambda row: row["town"] not in OPEN
    ),
    "of several parts": (
        "stars <> 3 AND (place = 'bar' OR paid LIKE '1%')",
        lambda row: row["stars"] not in (3, None)
        and (row["place"] == "bar" or str(row["paid"]).startswith("1")),
    ),
    "never": ("stars > 5", lambda row: False),
    "always": ("1 = 1", lambda row: True),
}  # fmt: skip


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("conditions")
    kinds = {"who": pa.int64(), "stars": pa.int64()}
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in ROWS[0]])
    parquet.write_table(pa.Table.from_pylist(ROWS, schema), folder / "records.parquet")
    towns = pa.table({"town": list(OPEN), "is_open": list(OPEN.values())})
    parquet.write_table(towns, folder / "towns.parquet")
    return folder


def declared(source: Path, where: str, **roles: Any) -> ct.Records:
    joins = [(source / "towns.parquet", "town")] if "is_open" in where else []
    given = {"user": "who", "item": "place", "where": where, "joins": joins} | roles
    return ct.read(source / "records.parquet", **given)


@pytest.mark.quick_on_spark(
    "nulls by name",
    "a cast that fails on some rows",
    "a list in which a cast is looked up",
    "a joined column without a partner",
    "of several parts",
)
@pytest.mark.parametrize("name", CONDITIONS)
def test_only_what_the_condition_takes_is_counted_or_dropped(
    name: str, source: Path, start_engine: Start
) -> None:
    where, holds = CONDITIONS[name]
    with start_engine() as engine:
        prepared = prepare(engine, declared(source, where), DOMAIN)
        dropped = dropped_in(engine, prepared.rows)
        kept = kept_by(engine, prepared, SRA(2**20), KEY, "records")
    taken = [row for row in ROWS if holds(row)]
    partners = [row for row in taken if "is_open" not in where or row["town"] in OPEN]
    known = [row for row in partners if row["who"] is not None and row["place"] in ITEMS]
    nobody = sum(row["who"] is None for row in taken)
    assert dropped == Dropped(len(taken), nobody, len(taken) - nobody - len(known))
    wanted: dict[str, Counter[int]] = defaultdict(Counter)
    for row in known:
        wanted[str(row["who"])][ITEMS.index(row["place"])] += 1
    assert kept == wanted


def test_the_condition_comes_before_the_bound(source: Path, start_engine: Start) -> None:
    """Who has enough records that are taken contributes as many as are allowed."""
    where, limit = "stars >= 4", LIMIT
    with start_engine() as engine:
        prepared = prepare(engine, declared(source, where), DOMAIN)
        kept = kept_by(engine, prepared, SRA(limit), KEY, "records")
        (items, *_) = count(engine, prepared, SRA(limit), key=KEY, what="records").found
    own = _liked()
    assert {user: cells.total() for user, cells in kept.items()} == {
        user: min(cells.total(), limit) for user, cells in own.items()
    }
    assert all(cells <= own[user] for user, cells in kept.items())
    numbers = [cells.total() for cells in own.values()]
    assert items.values.sum() == sum(min(number, limit) for number in numbers)
    assert min(numbers) < limit < max(numbers)


def _liked() -> dict[str, Counter[int]]:
    """Each user's listed records of four stars or more, by cell."""
    own: dict[str, Counter[int]] = defaultdict(Counter)
    for row in ROWS:
        if row["who"] is not None and row["place"] in ITEMS and (row["stars"] or 0) >= 4:
            own[str(row["who"])][ITEMS.index(row["place"])] += 1
    return own


def test_after_the_bound_fewer_would_be_left(source: Path) -> None:
    """The wrong order shows in such records: what is cut first is not filled up again."""
    stars = [1, 2, 3, 4, 5]
    records = ct.read(source / "records.parquet", user="who", item="place", contexts=["stars"])
    with DuckDBEngine() as engine:
        prepared = prepare(engine, records, Domain(ITEMS, {"stars": stars}, item="place"))
        kept = kept_by(engine, prepared, SRA(LIMIT), KEY, "records")
    after = {
        user: sum(number for cell, number in cells.items() if stars[cell % 5] >= 4)
        for user, cells in kept.items()
    }
    before = {user: min(cells.total(), LIMIT) for user, cells in _liked().items()}
    assert all(after[user] <= before[user] for user in before)
    assert sum(after.values()) < 0.7 * sum(before.values())


def test_a_row_is_taken_for_what_it_holds_alone(source: Path, start_engine: Start) -> None:
    """Equal rows are taken together or not at all, whichever rows stand beside them."""
    alike: dict[tuple[Any, ...], int] = {}
    rows = [
        {"kind": alike.setdefault((row["stars"], row["paid"]), len(alike)), **row, "place": "bar"}
        for row in ROWS
    ]
    records = ct.read(
        source / "alike.parquet", user="kind", item="place",
        where="stars = 5 OR 12 // (stars - 2) > 5 OR CAST(paid AS INTEGER) > 5",
    )  # fmt: skip
    taken: dict[str, set[bool]] = defaultdict(set)
    with start_engine() as engine:
        for part in (rows, rows[:97], rows[97:104]):
            parquet.write_table(pa.Table.from_pylist(part), source / "alike.parquet")
            kept = kept_by(engine, prepare(engine, records, DOMAIN), SRA(2**20), KEY, "records")
            for kind, number in Counter(str(row["kind"]) for row in part).items():
                assert kept.get(kind, Counter()).total() in (0, number)
                taken[kind].add(kind in kept)
    assert all(len(outcomes) == 1 for outcomes in taken.values())
    assert {True, False} == set.union(*taken.values())


def test_the_largest_of_all_values_decides_about_no_row(
    tmp_path: Path, start_engine: Start
) -> None:
    """Where all rows have few stars, one row's cast must fail as it does beside a row with many."""
    own = [
        {"who": 1, "place": "bar", "stars": n, "paid": paid} for n, paid in ((1, "free"), (2, "3"))
    ]
    newcomer = {"who": 2, "place": "bar", "stars": 5000, "paid": "3"}
    contexts = {"cheap": "CAST(paid AS INTEGER) < 1 AND stars > 10"}
    domain = Domain(ITEMS, {"cheap": ["true", "false"]}, item="place")
    found: list[dict[str, Any]] = []
    with start_engine() as engine:
        for part in (own, [*own, newcomer]):
            parquet.write_table(pa.Table.from_pylist(part), tmp_path / "few.parquet")
            for roles, lists in (
                ({"where": "CAST(paid AS INTEGER) > 3 OR stars < 1000"}, DOMAIN),
                ({"contexts": contexts}, domain),
            ):
                records = ct.read(tmp_path / "few.parquet", user="who", item="place", **roles)
                kept = kept_by(engine, prepare(engine, records, lists), SRA(9), KEY, "records")
                found.append(kept["1"])
    assert found[:2] == found[2:]


def test_rows_that_are_persons_and_weights(source: Path, start_engine: Start) -> None:
    records = ct.read(
        source / "records.parquet", user_per_row=True, weight="stars", item="place",
        where="paid IN ('3', '12')",
    )  # fmt: skip
    with start_engine() as engine:
        prepared = prepare(engine, records, DOMAIN)
        (items, *_) = count_rows(engine, prepared).found
        dropped = dropped_in(engine, prepared.rows)
    taken = [row for row in ROWS if row["paid"] in ("3", "12")]
    persons: Counter[Any] = Counter()
    for row in taken:
        persons[row["place"]] += row["stars"] or 0
    assert items.dense().tolist() == [persons[item] for item in ITEMS]
    assert dropped.rows == len(taken)


def test_a_condition_is_true_or_false(source: Path, start_engine: Start) -> None:
    for where in ("stars", "stars + 1", "place", "NULL"):
        with start_engine() as engine, pytest.raises(InputError, match="compare it with something"):
            prepare(engine, declared(source, where), DOMAIN)


def test_a_condition_that_fits_no_column_is_refused(source: Path, start_engine: Start) -> None:
    with start_engine() as engine:
        with pytest.raises(InputError, match=r"the condition --where reads column 'star', which"):
            prepare(engine, declared(source, "star >= 4"), DOMAIN)
        with pytest.raises(InputError, match=r"the condition --where needs .*--type paid=int64\."):
            prepare(engine, declared(source, "paid >= 4"), DOMAIN)
        with pytest.raises(InputError, match=r"--type paid=int64\."):
            prepare(engine, declared(source, "paid BETWEEN 3 AND 4"), DOMAIN)
        with pytest.raises(UsageError, match=r"contains histogram\(\), which is not"):
            prepare(engine, declared(source, "histogram(stars) IS NULL"), DOMAIN)
