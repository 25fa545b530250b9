"""Exact counts: read once, before the charge, in parts that fit the memory."""

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
from crowdtally.core.domain import Domain
from crowdtally.core.records import Records
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.counting.bounded import count
from crowdtally.ledger import Ledger
from crowdtally.records import open
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.engine import Kept, MemoryFullError, Rows
from crowdtally.records.locate import locate
from crowdtally.records.prepare import Prepared, prepare

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
    "a choice of l": {"method": ct.SRA(3, choose="rank")},
    "a choice of l for users": {"method": ct.SRA(3, choose="rank"), "count": "users"},
    "popularity": {"method": ct.HPA(3, popularity_records=2)},
    "scaled rows": {"method": ct.DPSense(3), "count": "users"},
    "a choice of theta": {"method": ct.DPSense(3, choose="dpsense"), "count": "users"},
    "a choice of theta and s": {"method": ct.DPSenseS(3, choose="dpsense"), "count": "users"},
}


@pytest.mark.parametrize("options", FIRST_READS.values(), ids=list(FIRST_READS))
@pytest.mark.parametrize("column", [0, 1, 2], ids=["user", "item", "id"])
def test_damage_is_never_found_after_the_charge(
    column: int, options: dict[str, Any], tmp_path: Path
) -> None:
    """Where a column is not read at all, its damage does no harm either."""
    with_damage(tmp_path / "visits.parquet", column)
    scaled = isinstance(options.get("method"), ct.DPSense)
    records = ct.read(
        tmp_path / "visits.parquet", user="user", item="item", record_id=None if scaled else "id"
    )
    where = {"output": tmp_path / "out", "ledger": tmp_path / "ledger.sqlite", "dataset": "town"}
    given = {"epsilon": 1, "method": ct.SRA(3)} | options | where
    if column == 2 and options.get("count") == "users":
        assert ct.release(records, DOMAIN, **given, new_dataset=True).metadata
        return
    with pytest.raises(ct.InputError, match="damaged") as caught:
        ct.release(records, DOMAIN, **given, new_dataset=True)
    assert "charge stands" not in str(caught.value)
    with Ledger.open(tmp_path / "ledger.sqlite", create=True) as ledger:
        assert list(ledger.charges()) == []
