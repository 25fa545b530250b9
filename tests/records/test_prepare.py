"""What a record means depends on that record alone: types, collations, folders, keys, weights."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.core.records import Records
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.counting.bounded import count, count_rows
from crowdtally.errors import InputError, UsageError
from crowdtally.records.columns import kind_of
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.prepare import prepare
from crowdtally.records.spark.sources import duckdb_name

ITEMS = [f"item {n}" for n in range(10)]
MOST_PERSONS = 2**33


def counted(records: Records, domain: ct.Domain, limit: int = 2) -> Counter[int]:
    """The cells' exact counts, bounded under one fixed key."""
    with DuckDBEngine() as engine:
        prepared = prepare(engine, records, domain)
        if records.user is None:
            _, cells = count_rows(engine, prepared).found
        else:
            rule = SRA(limit)
            _, cells = count(engine, prepared, rule, key=7, what="records").found
    return Counter(dict(zip(cells.cells.tolist(), cells.values.tolist(), strict=True)))


def distance(one: Counter[int], other: Counter[int]) -> int:
    return sum(abs(one[cell] - other[cell]) for cell in one | other)


# ---- collations: where different texts are equal, a record matches several values ----------------


@pytest.fixture
def collated(tmp_path: Path) -> str:
    """Two rows: in a table whose columns ignore upper and lower case."""
    with duckdb.connect(str(tmp_path / "town.duckdb")) as base:
        base.execute(
            "CREATE TABLE visits (item VARCHAR COLLATE NOCASE, who VARCHAR COLLATE NOCASE)"
        )
        base.execute("INSERT INTO visits VALUES ('a', 'ana'), ('B', 'ANA')")
    return f"{tmp_path}/town.duckdb#visits"


def test_a_row_counts_once_whatever_its_collation(collated):
    domain = ct.Domain(["a", "A", "b", "B"])
    by_row = counted(ct.read(collated, user_per_row=True, item="item"), domain)
    assert by_row == Counter({0: 1, 3: 1})
    by_user = counted(ct.read(collated, user="who", item="item"), domain, limit=1)
    assert by_user == Counter({0: 1, 3: 1}), "users are told apart by their bytes"


def test_a_collated_key_finds_one_partner(collated):
    twice = pa.table({"item": ["a", "A", "B"], "kind": ["x", "y", "x"]})
    records = ct.read(
        collated, user_per_row=True, item="item", contexts=["kind"], joins=[(twice, "item")]
    )
    cells = counted(records, ct.Domain(["a", "B"], {"kind": ["x", "y"]}))
    assert cells == Counter({0: 1, 2: 1})


def test_an_expression_may_not_collate():
    table = pa.table({"item": ["a"], "kind": ["x"]})
    with pytest.raises(UsageError, match="a collation"):
        ct.read(table, user_per_row=True, item="item", contexts={"k": "kind COLLATE NOCASE"})


def test_spark_text_with_a_collation_is_not_text():
    assert kind_of(duckdb_name("string")) == "text"
    assert kind_of(duckdb_name("string collate utf8_lcase")) is None


# ---- types that other rows decide ----------------------------------------------------------------


def test_no_expression_sees_the_numbers_of_a_category():
    """A category's number is its place among the values of all rows."""
    frame = pd.DataFrame({"who": ["a", "b"], "item": ["x", "x"], "kind": ["p", "q"]})
    frame["kind"] = frame["kind"].astype("category")
    with pytest.raises(UsageError, match=r"enum_code\(\), which is not an allowed function"):
        ct.read(frame, user="who", item="item", contexts={"k": "enum_code(kind)"})
    plain = ct.read(frame, user="who", item="item", contexts=["kind"])
    assert counted(plain, ct.Domain(["x"], {"kind": ["p", "q"]})) == Counter({0: 1, 1: 1})


def _folders(root: Path, users: Sequence[str], ending: str) -> Records:
    """Each user's records in a folder that says whose they are."""
    for user in users:
        folder = root / f"who={user}"
        folder.mkdir(parents=True, exist_ok=True)
        table = pa.table({"item": ITEMS})
        if ending == "csv":
            (folder / "part.csv").write_text("\n".join(["item", *ITEMS, ""]))
        else:
            duckdb.from_arrow(table).write_parquet(str(folder / "part.parquet"))
    return ct.read(str(root / "*" / f"*.{ending}"), user="who", item="item")


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_one_user_does_not_change_the_type_of_all_users(tmp_path, ending):
    numbers = [str(n) for n in range(20)]
    domain = ct.Domain(ITEMS)
    without = counted(_folders(tmp_path, numbers, ending), domain)
    with_zoe = counted(_folders(tmp_path, ["zoe"], ending), domain)
    assert sum(with_zoe.values()) == sum(without.values()) + 2
    assert distance(without, with_zoe) <= 2


def test_files_that_differ_in_a_type_are_refused(tmp_path):
    for name, kind in (("a", "BIGINT"), ("b", "VARCHAR")):
        query = f"SELECT CAST(7 AS {kind}) AS who, 'item 1' AS item"
        duckdb.sql(query).write_parquet(str(tmp_path / f"{name}.parquet"))
    records = ct.read(str(tmp_path / "*.parquet"), user="who", item="item")
    with pytest.raises(InputError, match=r"'who' is VARCHAR in .* and BIGINT"):
        counted(records, ct.Domain(ITEMS))
    (tmp_path / "a.parquet").unlink()
    assert counted(records, ct.Domain(ITEMS)) == Counter({1: 1})


@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize("name", ["day[1]", "day?", "day*"])
def test_a_name_that_looks_like_a_pattern_is_a_name(tmp_path, name, ending):
    """Another file's records would be released, and charged to this one's budget."""
    for number, stem in enumerate(("day1", name)):
        table = duckdb.sql(f"SELECT 'ana' AS who, 'item {number}' AS item")
        file = str(tmp_path / f"{stem}.{ending}")
        table.write_parquet(file) if ending == "parquet" else table.write_csv(file)
    records = ct.read(tmp_path / f"{name}.{ending}", user="who", item="item")
    assert counted(records, ct.Domain(ITEMS)) == Counter({1: 1})


# ---- keys: one record, one partner ---------------------------------------------------------------

FAN_OUTS: Mapping[str, tuple[Any, Any]] = {
    "a date in several spellings": ([datetime.date(2020, 1, 1)], ["2020-01-01", "2020-1-1"]),
    "a truth in several spellings": ([True], ["true", "t", "1"]),
    "decimals that are one float": (
        [0.1],
        pa.array([Decimal("0.1" + "0" * 18), Decimal("0.1" + "0" * 17 + "1")]),
    ),
}


def _two_tables(case: str) -> tuple[pa.Table, pa.Table]:
    mine, theirs = FAN_OUTS[case]
    others = pa.table({"key": theirs, "place": list("abc")[: len(theirs)]})
    return pa.table({"item": ["x"], "key": mine}), others


def _looked_up(records: object, others: object) -> Counter[int]:
    declared = ct.read(
        records, user_per_row=True, item="item", contexts=["place"], joins=[(others, "key")]
    )
    return counted(declared, ct.Domain(["x"], {"place": ["a", "b", "c"]}))


@pytest.mark.parametrize("case", FAN_OUTS)
def test_keys_of_two_declared_types_are_refused(case, tmp_path):
    for name, table in zip(("mine", "theirs"), _two_tables(case), strict=True):
        duckdb.from_arrow(table).write_parquet(str(tmp_path / f"{name}.parquet"))
    with pytest.raises(InputError, match=r"the join key 'key' is .* store both in one type"):
        _looked_up(tmp_path / "mine.parquet", tmp_path / "theirs.parquet")


@pytest.mark.parametrize("case", FAN_OUTS)
def test_keys_of_two_inferred_types_find_one_partner_by_their_text(case):
    """A frame's type comes from its rows: to refuse it would let one row decide."""
    assert _looked_up(*_two_tables(case)).total() <= 1


def test_integers_of_two_widths_are_one_type():
    lookup = pa.table({"key": pa.array([1, 2], pa.int64()), "place": ["a", "b"]})
    records = ct.read(
        pa.table({"item": ["x"], "key": pa.array([2], pa.int8())}),
        user_per_row=True,
        item="item",
        contexts=["place"],
        joins=[(lookup, "key")],
    )
    assert counted(records, ct.Domain(["x"], {"place": ["a", "b"]})) == Counter({1: 1})


# ---- weights -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "persons"),
    [
        (kind, persons)
        for kind, most in (("BIGINT", 63), ("VARCHAR", 63), ("UBIGINT", 64), ("HUGEINT", 127))
        for persons in (1, 2, MOST_PERSONS, MOST_PERSONS + 1, 2**63 - 1, 2**63, 2**64, 2**127 - 1)
        if persons < 2**most
    ],
)
def test_one_person_more_changes_a_count_by_at_most_one(tmp_path, kind, persons):
    with duckdb.connect(str(tmp_path / "town.duckdb")) as base:
        for name, weight in (("fewer", persons - 1), ("more", persons)):
            columns = f"'item 0' AS item, CAST('{weight}' AS {kind}) AS persons"
            base.execute(f"CREATE TABLE {name} AS SELECT {columns}")
    fewer, more = (
        counted(
            ct.read(
                f"{tmp_path}/town.duckdb#{name}", user_per_row=True, item="item", weight="persons"
            ),
            ct.Domain(ITEMS),
        )
        for name in ("fewer", "more")
    )
    assert distance(fewer, more) <= 1
    assert more[0] == min(persons, MOST_PERSONS)
