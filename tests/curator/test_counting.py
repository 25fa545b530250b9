"""Exact counts: read once, in parts that fit the memory; rows that are scaled by their own sum."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import crowdtally as ct
from crowdtally.core.counts import Counts
from crowdtally.core.domain import Domain
from crowdtally.core.records import Records
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.bounding.scaling import GRID
from crowdtally.curator.counting import rows as scaled_rows
from crowdtally.curator.counting.bounded import count
from crowdtally.curator.counting.rows import (
    LARGEST_AMOUNT,
    Visits,
    all_members,
    all_members_by_context,
    members,
    scaled_groups,
    scaled_inside,
    scaled_totals,
)
from crowdtally.ledger import Ledger
from crowdtally.records import open
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.engine import Kept, MemoryFullError, Rows
from crowdtally.records.locate import locate
from crowdtally.records.prepare import Prepared, prepare
from kit import blocks
from kit.blocks import CROWD, DATABASES, GROUPS, SIZE, ZOOM, amounts, spread, visits_in
from kit.blocks import ITEMS as ITEMS_SCALED

# ---- Reading once: before the charge, in parts that fit the memory, and the same however often


ROWS, USERS, ITEMS = 4000, 300, 50
DOMAIN = Domain(range(ITEMS), item="item")


def visits(rows: int = ROWS, users: int = USERS) -> pa.Table:
    """Some of nobody, some of items that are not listed."""
    rng = np.random.default_rng(4)
    of = rng.integers(0, users, rows)
    return pa.table(
        {
            "user": pa.array(of, mask=rng.random(rows) < 0.05),
            "item": rng.integers(0, ITEMS + 5, rows),
            "id": np.arange(rows),
        }
    )


@pytest.fixture
def engine() -> Iterator[DuckDBEngine]:
    with DuckDBEngine() as opened:
        yield opened


def prepared_in(engine: DuckDBEngine, source: object, record_id: str | None = "id") -> Prepared:
    return prepare(engine, Records(source, "user", "item", record_id=record_id), DOMAIN)


class Forgetful(SRA):
    """The memory holds the work on so many parts, not on fewer."""

    enough = 1
    tried: list[int]

    def keep(self, engine: Any, rows: Rows, **given: Any) -> Kept:
        number = int(engine.arrays(rows.aggregate(rows=rows.count()))["rows"][0])
        self.tried.append(number)
        if number > ROWS / self.enough * 1.5:
            raise MemoryFullError("no room")
        return SRA(self.limit).keep(engine, rows, **given)


def forgetful(enough: int) -> Forgetful:
    rule = Forgetful(3)
    object.__setattr__(rule, "enough", enough)
    object.__setattr__(rule, "tried", [])
    return rule


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("record_id", ["id", None])
def test_more_parts_count_the_same(pairs: bool, record_id: str | None, engine: Any) -> None:
    prepared = prepared_in(engine, visits(), record_id)
    whole = count(engine, prepared, SRA(3), key=77, what="records", pairs=pairs)
    rule = forgetful(4)
    again = count(engine, prepared, rule, key=77, what="records", pairs=pairs)
    assert sum(number > ROWS / 4 * 1.5 for number in rule.tried) == 2, "all rows, then halves"
    assert again.dropped == whole.dropped
    for one, other in zip(whole.found, again.found, strict=True):
        assert one.dense().tolist() == other.dense().tolist()


def test_it_is_not_tried_for_ever(engine: DuckDBEngine) -> None:
    rule = forgetful(10**9)
    with pytest.raises(MemoryFullError, match="no room"):
        count(engine, prepared_in(engine, visits()), rule, key=1, what="records")
    assert len(rule.tried) <= 20


def test_a_memory_that_is_too_small(tmp_path: Path) -> None:
    """For real: what is kept of each user cannot be put on the disk."""
    path = tmp_path / "visits.parquet"
    parquet.write_table(visits(600_000, 60_000), path)
    with DuckDBEngine() as engine:
        whole = count(engine, prepared_in(engine, path), SRA(1000), key=5, what="records")
    with DuckDBEngine() as engine:
        engine._connection.execute("SET threads = 1; SET memory_limit = '40MB'")
        prepared = prepared_in(engine, path)
        engine._rows["source"] = 0  # as where nothing is known
        tried = []
        materialise = engine.materialise

        def noted(*given: Any) -> Any:
            tried.append(given)
            return materialise(*given)

        engine.materialise = noted  # type: ignore[method-assign]
        again = count(engine, prepared, SRA(1000), key=5, what="records")
    assert len(tried) > 3, "the first try did not fit"
    assert again.dropped == whole.dropped
    for one, other in zip(whole.found, again.found, strict=True):
        assert one.dense().tolist() == other.dense().tolist()


# ---- sizes that are known without reading --------------------------------------------------------


def size_of(engine: DuckDBEngine, source: object) -> int:
    engine.open(locate(source), "source")
    return engine._rows["source"]


def test_footers_and_catalogues_tell_how_many_rows_there_are(
    engine: DuckDBEngine, tmp_path: Path
) -> None:
    table = visits()
    parquet.write_table(table, tmp_path / "visits.parquet")
    with duckdb.connect(str(tmp_path / "town.duckdb")) as base:
        base.register("held", table)
        base.execute("CREATE TABLE visits AS FROM held")
    assert size_of(engine, str(tmp_path / "visits.parquet")) == ROWS
    assert size_of(engine, f"{tmp_path}/town.duckdb#visits") == ROWS
    assert size_of(engine, table) == size_of(engine, table.to_pandas()) == ROWS


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_bytes_tell_of_at_least_as_many_rows(
    ending: str, engine: DuckDBEngine, tmp_path: Path
) -> None:
    table = visits(20_000)
    duckdb.from_arrow(table).write_csv(
        str(tmp_path / f"visits.{ending}"), compression="gzip" if ending == "csv.gz" else None
    )
    assert 10_000 <= size_of(engine, str(tmp_path / f"visits.{ending}")) <= 200_000


def test_a_view_is_not_run_to_know_its_size(engine: DuckDBEngine, tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "town.duckdb")) as base:
        base.execute("CREATE VIEW endless AS SELECT range AS user FROM range(1000000000000)")
    assert size_of(engine, f"{tmp_path}/town.duckdb#endless") == 0


def test_the_memory_that_is_set_decides_how_many_parts(
    engine: DuckDBEngine, tmp_path: Path
) -> None:
    parquet.write_table(visits(200_000), tmp_path / "visits.parquet")
    engine.open(locate(str(tmp_path / "visits.parquet")), "source")
    assert engine.parts() == 1
    engine._connection.execute("SET memory_limit = '4MB'")
    assert engine.parts() == open.parts(200_000, 4_000_000) == 5


# ---- damage shows before the charge --------------------------------------------------------------


def with_damage(path: Path, column: int) -> None:
    """Overwrite the pages of one column; the footer stays whole."""
    parquet.write_table(visits(), path, compression="none", use_dictionary=False)
    chunk = parquet.ParquetFile(path).metadata.row_group(0).column(column)
    content = bytearray(path.read_bytes())
    start = chunk.data_page_offset
    content[start : start + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    path.write_bytes(content)


FIRST_READS: dict[str, dict[str, Any]] = {
    "counts": {},
    "a choice of l": {"choose": "rank"},
    "a choice of l for users": {"choose": "rank", "count": "users"},
    "popularity": {"bounding": "hpa", "popularity_records": 2},
    "scaled rows": {"bounding": "dpsense", "count": "users"},
    "a choice of theta": {"bounding": "dpsense", "choose": "dpsense", "count": "users"},
    "a choice of theta and s": {"bounding": "dpsense-s", "choose": "dpsense", "count": "users"},
}


@pytest.mark.parametrize("options", FIRST_READS.values(), ids=list(FIRST_READS))
@pytest.mark.parametrize("column", [0, 1, 2], ids=["user", "item", "id"])
def test_damage_is_never_found_after_the_charge(
    column: int, options: dict[str, Any], tmp_path: Path
) -> None:
    """Where a column is not read at all, its damage does no harm either."""
    with_damage(tmp_path / "visits.parquet", column)
    scaled = "dpsense" in str(options.get("bounding"))
    records = ct.read(
        tmp_path / "visits.parquet", user="user", item="item", record_id=None if scaled else "id"
    )
    where = {"output": tmp_path / "out", "ledger": tmp_path / "ledger.sqlite", "dataset": "town"}
    given = {"epsilon": 1, "max_records": 3} | options | where
    if column == 2 and options.get("count") == "users":
        assert ct.release(records, DOMAIN, **given, new_dataset=True).metadata
        return
    with pytest.raises(ct.InputError, match="damaged") as caught:
        ct.release(records, DOMAIN, **given, new_dataset=True)
    assert "charge stands" not in str(caught.value)
    with Ledger.open(tmp_path / "ledger.sqlite", create=True) as ledger:
        assert list(ledger.charges()) == []


# ---- Rows that are scaled by their own sum, and distinct users: by definition, and on
#      neighbours


THETA, INSIDE, CAP = 4, 1, 11


def by_database(values: np.ndarray, width: int) -> np.ndarray:
    return np.asarray(values).reshape(len(DATABASES), width)


def changed(values: np.ndarray) -> np.ndarray:
    """What the first user of each database changes."""
    return values[0::2] - values[1::2]


def scaled(items: tuple[int, ...], bound: int, *, repeats: bool) -> np.ndarray:
    """By definition: R over exactly these items, floors by whole numbers, sums over users."""
    found = np.zeros((len(DATABASES), ITEMS_SCALED), dtype=np.int64)
    for block, users in enumerate(DATABASES):
        for history in users:
            row = amounts(history, repeats=repeats)
            total = sum(row[item] for item in items)
            for item in items:
                whole, cut = GRID * row[item], GRID * bound * row[item] // max(total, 1)
                found[block, item] += whole if total <= bound else cut
    return found


OUTSIDE = tuple(item for item in range(ITEMS_SCALED) if item not in CROWD)
MODES = {
    "repeats": {"repeats": True, "per_user": False},
    "once": {"repeats": False, "per_user": False},
    "once, in one context": {"repeats": False, "per_user": True},
}


@pytest.fixture(scope="module", params=list(MODES))
def held(start_engine: Any, request: pytest.FixtureRequest) -> Iterator[tuple[Visits, bool, bool]]:
    """The rows, whether repeats count, and whether a user has one context."""
    mode = MODES[request.param]
    if start_engine is not DuckDBEngine and request.param == "once":
        pytest.skip("the other two have all of Spark's expressions")
    with visits_in(start_engine, **mode) as visits:
        yield visits, mode["repeats"], mode["per_user"]


def spare(visits: Visits, *, expression_seen: bool) -> None:
    """Spark takes seconds a job: each of its expressions is tried once."""
    if expression_seen and not isinstance(visits.engine, DuckDBEngine):
        pytest.skip("the same expression as in another test")


def test_the_table_is_scaled_by_what_is_outside_the_crowd(held: Any) -> None:
    visits, repeats, _ = held
    spare(visits, expression_seen=not repeats)
    counts = scaled_totals(visits, THETA, SIZE, without=spread(CROWD))
    found = by_database(counts.dense(), ITEMS_SCALED)
    assert (found == scaled(OUTSIDE, THETA, repeats=repeats)).all()
    assert not found[:, CROWD].any()
    norms = np.abs(changed(found)).sum(axis=1)
    assert norms.max() <= counts.l1_bound == GRID * THETA
    assert (norms == counts.l1_bound).any(), "nobody reaches the bound: it is not tested"


def test_the_zoom_is_scaled_by_what_is_inside(held: Any) -> None:
    visits, repeats, _ = held
    spare(visits, expression_seen=not repeats)
    counts = scaled_inside(visits, INSIDE, spread(ZOOM))
    found = by_database(counts.dense(), len(ZOOM))
    assert (found == scaled(ZOOM, INSIDE, repeats=repeats)[:, ZOOM]).all()
    norms = np.abs(changed(found)).sum(axis=1)
    assert norms.max() <= counts.l1_bound == GRID * INSIDE
    assert (norms == counts.l1_bound).any()


def test_bins_add_up_scaled_rows(held: Any) -> None:
    visits, repeats, _ = held
    spare(visits, expression_seen=True)
    every = np.concatenate(
        [np.where(GROUPS < 0, -1, GROUPS + 4 * block) for block in range(len(DATABASES))]
    )
    crowd = spread(CROWD)
    counts = scaled_groups(visits, CAP, every, 4 * len(DATABASES), without=crowd)
    found = by_database(counts.dense(), 4)
    rows = scaled(OUTSIDE, CAP, repeats=repeats)
    assert all((found[:, g] == rows[:, g == GROUPS].sum(axis=1)).all() for g in range(4))
    norms = np.abs(changed(found)).sum(axis=1)
    assert norms.max() <= counts.l1_bound == GRID * CAP
    assert not repeats or (norms > GRID * CAP * 0.99).any()


def test_a_user_is_one_member_whatever_she_has(held: Any) -> None:
    visits, _, one_context = held
    spare(visits, expression_seen=not one_context)
    chosen = spread((1, 3, 4))
    found = by_database(members(visits, chosen).values, 3)
    wanted = [
        [sum(any(i == item for i, _ in history) for history in users) for item in (1, 3, 4)]
        for users in DATABASES
    ]
    assert (found == wanted).all()
    assert set(np.unique(changed(found))) == {0, 1}
    every = all_members(visits, SIZE).values
    assert (by_database(every, ITEMS_SCALED)[:, (1, 3, 4)] == found).all()
    if one_context:
        split = all_members_by_context(visits, SIZE, blocks.CONTEXTS).values
        split = split.reshape(len(DATABASES), ITEMS_SCALED, blocks.CONTEXTS)
        assert (split.sum(axis=2) == by_database(every, ITEMS_SCALED)).all()
        own = changed(split)
        assert set(np.unique(own)) == {0, 1}
        assert (own.any(axis=1).sum(axis=1) == 1).all(), "a user is in cells of several contexts"


def test_an_item_in_no_group_is_a_fault(duckdb_rows: Visits) -> None:
    with pytest.raises(ValueError, match="in no group"):
        scaled_groups(duckdb_rows, 2, np.array([0, -1, 1]), 2, without=np.array([], dtype=np.int64))


@pytest.fixture
def duckdb_rows() -> Iterator[Visits]:
    """One user with the most records that count, at three items."""
    from crowdtally.core.domain import Domain
    from crowdtally.records.engine import Dropped

    with DuckDBEngine() as engine:
        columns = {"user": [1, 1, 1], "item": [0, 1, 2], "amount": [LARGEST_AMOUNT] * 3}
        rows = engine.load("rows", {name: np.array(values) for name, values in columns.items()})
        yield Visits(engine, rows, rows, Dropped(3, 0, 0), 1, Domain(range(3)))


def test_the_largest_numbers_stay_within_64_bits(duckdb_rows: Visits) -> None:
    counts = scaled_totals(duckdb_rows, 2**13, 3)
    assert counts.dense().tolist() == [GRID * 2**13 // 3] * 3
    assert scaled_totals(duckdb_rows, 2**13, 3, without=np.array([1, 2])).dense().tolist() == [
        GRID * 2**13, 0, 0,
    ]  # fmt: skip


def test_totals_of_groups_never_wrap_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of items at the limit of what an engine adds up, five are beyond 64 bits."""
    totals = Counts(6, np.arange(6), np.array([2**61] * 5 + [7]), GRID)
    monkeypatch.setattr(scaled_rows, "scaled_totals", lambda *_, **__: totals)
    groups = np.array([0, 0, 0, 0, 0, 1])
    found = scaled_groups(None, 1, groups, 2, without=np.empty(0))  # type: ignore[arg-type]
    assert found.values.tolist() == [2**62, 7]
    assert found.values.dtype == np.int64
