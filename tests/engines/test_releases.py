"""Whole releases are equal on both engines, with typed columns too."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import crowdtally as ct
from crowdtally.api import read
from crowdtally.curator.request.request import make_request
from crowdtally.errors import InputError
from crowdtally.ledger import Ledger
from crowdtally.records.columns import SourceColumn
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.locate import locate
from crowdtally.records.types import TYPES
from kit.draws import SilentDraws
from kit.publishing import publish
from kit.spark import Start, engine_beside

# ---- Whole releases: both engines give the same tables where the bound keeps everything ----------


DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
CONTEXTS = {"gender": None, "day": "dayname(to_timestamp(seconds))"}
BOTH = {"gender": ["F", "M", "é"], "day": DAYS}
METHODS: dict[str, tuple[bool, dict[str, Any]]] = {
    "sra": (True, {"method": ct.SRA(500)}),
    "hpa": (False, {"method": ct.HPA(500, popularity_records=400)}),
    "dpsense": (True, {"method": ct.DPSense(3, cap=2)}),
    "interval": (True, {"count": "users", "noise": "interval"}),
    "dpsense-s": (
        False,
        {"method": ct.DPSenseS(8, choose="dpsense"), "count": "users"},
    ),
    "pairs": (False, {"method": ct.SRA(100), "pairs": True, "count": "users"}),
    "discovery": (False, {"method": ct.Discover("item", 25), "delta": "1e-6"}),
}


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records in two files, some without a user, a partner or a listed item; and who is who."""
    folder, rng, rows = tmp_path_factory.mktemp("town"), np.random.default_rng(11), 900
    users = [None if rng.random() < 0.03 else f"u{number}" for number in rng.integers(0, 70, rows)]
    table = pa.table(
        {
            "user": users,
            "item": [f"i{number}" for number in (23 * rng.random(rows) ** 2).astype(int)],
            "seconds": rng.integers(0, 10**9, rows),
        }
    )
    parquet.write_table(table.slice(0, 500), folder / "part-0.parquet")
    parquet.write_table(table.slice(500), folder / "part-1.parquet")
    people = [f"u{number}" for number in range(65)]
    genders = rng.choice(["F", "M", "é", "e\u0301"], len(people))
    parquet.write_table(pa.table({"user": people, "gender": genders}), folder / "people.parquet")
    return folder


def tables(
    town: Path, contexts: bool, options: dict[str, Any], start: Start, target: Path
) -> dict[str, Any]:
    """Every table of a release without noise."""
    records = read(
        str(town / "part-*.parquet"), user="user", item="item",
        contexts=CONTEXTS if contexts else {},
        joins=[(str(town / "people.parquet"), "user")] if contexts else [],
    )  # fmt: skip
    options = dict(options)
    items = [f"i{number}" for number in range(20)]
    domain = ct.Domain(items, BOTH if contexts else {})
    request = make_request(
        records,
        None if isinstance(options.get("method"), ct.Discover) else domain,
        epsilon=20,
        **({} if "noise" in options else {"method": ct.SRA(10)}) | options,
    )
    ledger = Ledger.open(target.parent / "ledger.sqlite", create=True)
    made = publish(
        request, "town", target,
        ledger=ledger, draws=SilentDraws(), tell=lambda _: None, start_engine=start,
    )  # fmt: skip
    return {path.name: parquet.read_table(path) for path in sorted(made.folder.glob("*.parquet"))}


@pytest.mark.parametrize("name", METHODS)
def test_both_engines_count_the_same(name: str, town: Path, cluster: Any, tmp_path: Path) -> None:
    contexts, options = METHODS[name]
    here = tables(town, contexts, options, DuckDBEngine, tmp_path / "duckdb")
    there = tables(town, contexts, options, lambda: engine_beside(cluster), tmp_path / "spark")
    assert here.keys() == there.keys()
    for table, rows in here.items():
        assert rows.num_rows > 0
        assert sum(rows.column("count").to_pylist()) > 0
        assert rows.equals(there[table]), table


def test_each_row_as_many_persons_as_its_weight(start_engine: Start, tmp_path: Path) -> None:
    weights = [1, 5, 0, -2, None, 2**33]
    table = pa.table({"item": ["a", "b", "a", "b", "a", "a"], "weight": weights})
    records = read(table, item="item", user_per_row=True, weight="weight")
    made = publish(
        make_request(records, ct.Domain(["a", "b", "c"]), epsilon=1), "town", tmp_path / "made",
        ledger=Ledger.open(tmp_path / "ledger.sqlite", create=True),
        draws=SilentDraws(), tell=lambda _: None,
        start_engine=start_engine,
    )  # fmt: skip
    counts = parquet.read_table(made.folder / "items.parquet").column("count")
    assert counts.to_pylist() == [2**33 + 1, 5, 0]


# ---- Declared types: what a text is read as, on both engines and from every type of column -------


_EXACT = 2**53
READ: dict[str, dict[str, Any]] = {
    "int64": {
        "7": 7, "+7": 7, "-7": -7, "07": 7, " 7 ": 7, "7.": 7, "7.0": 7, "7.000": 7, "-0": 0,
        "7.5": None, "7.0000000000000000000001": None, "7e0": None, "1e3": None, "7d": None,
        "0x7": None, "1_000": None, "": None, " ": None, "x": None, "7\n": None, "7 7": None,
        str(2**63 - 1): 2**63 - 1, str(2**63): None, str(-(2**63)): -(2**63), "٧": None,
        "9007199254740991.0": _EXACT - 1, "9007199254740992.0": None, "true": None, "NaN": None,
    },
    "float64": {
        "7": 7.0, "7.5": 7.5, ".5": 0.5, "5.": 5.0, "-1.5e-3": -0.0015, "1E2": 100.0, " 7 ": 7.0,
        "-0.0": 0.0, "1e-05": 1e-5, "1.0E-5": 1e-5, "0.1": 0.1, "7d": None, "7f": None,
        "nan": None, "NaN": None, "inf": None, "Infinity": None, "1e999": None, "1_0": None,
        "": None, "x": None, "7\n": None, "9007199254740991": float(_EXACT - 1),
        "9007199254740992": None, "-1e17": None, "true": None,
    },
    "text": {"7": "7", "7.0": "7.0", " 7 ": " 7 ", "": "", "é": "é"},
    "bool": {
        "true": True, "True": True, "t": True, "1": True, "FALSE": False, "f": False, "0": False,
        "yes": None, "y": None, "no": None, "2": None, "1.0": None, "": None, "on": None,
    },
    "date": {
        "2024-02-29": "2024-02-29", "2024-02-29 00:00:00": "2024-02-29", "0001-01-01": "0001-01-01",
        "2024-02-29T00:00": "2024-02-29", "2024-02-29 00:00:00.000000000": "2024-02-29",
        "2024-02-30": None, "2024-02-29 10:00:00": None, "2024-2-29": None, "29.02.2024": None,
        "0000-01-01": None, "10000-01-01": None, "2024": None, "epoch": None, "": None,
        "2024-02-29 00:00:00+00": None, "today": None, "infinity": None,
    },
    "timestamp": {
        "2024-02-29 10:00:00": "2024-02-29 10:00:00", "2024-02-29": "2024-02-29 00:00:00",
        "2024-02-29T10:00": "2024-02-29 10:00:00",
        "2024-02-29 10:00:00.5": "2024-02-29 10:00:00.500000",
        "2024-02-29 10:00:00.123456999": "2024-02-29 10:00:00.123456",
        "2024-02-29 24:00:00": None, "2024-02-29 10:60:00": None, "2024-02-30 10:00:00": None,
        "2024-02-29 10:00:00+00": None, "2024-02-29 10:00:00Z": None, "10:00:00": None,
        "1700000000": None, "now": None, "": None,
    },
    "timestamptz": {
        "2024-02-29 10:00:00+00": "2024-02-29 10:00:00+00:00",
        "2024-02-29T10:00:00Z": "2024-02-29 10:00:00+00:00",
        "2024-02-29 10:00:00.25+05:30": "2024-02-29 04:30:00.250000+00:00",
        "2024-02-29 10:00:00-03": "2024-02-29 13:00:00+00:00",
        "2024-02-29 10:00-03": None,
        "2024-02-29 10:00:00": None, "2024-02-29": None, "2024-02-29 10:00:00 UTC": None,
        "2024-02-29 10:00:00+0530": None, "2024-02-29 10:00:00+15": None, "": None,
        "2024-02-29 10:00:00 Europe/Vienna": None,
    },
}  # fmt: skip


def read_as(engine: Any, source: Any, kind: str, zone: str = "UTC") -> list[Any]:
    """The column ``x`` as this type, in the order of the column ``row``."""
    engine.in_zone(zone)
    offered = engine.open(locate(source), "source", (), {"x": kind})
    assert offered["x"] == SourceColumn(TYPES[kind])
    engine.in_zone("UTC")
    query = "SELECT row, x FROM source"
    if isinstance(engine, DuckDBEngine):
        found = engine.arrow(query)
    else:
        found = engine._fetched(engine.table("source").select("row", "x"))
    rows = sorted(zip(map(int, found["row"].to_pylist()), found["x"].to_pylist(), strict=True))
    return [_plain(value) for _, value in rows]


def _plain(value: Any) -> Any:
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        value = value.astimezone(datetime.UTC)
    return str(value) if isinstance(value, datetime.date) else value


def numbered(values: list[Any]) -> dict[str, list[Any]]:
    return {"row": list(range(len(values))), "x": values}


@pytest.mark.parametrize("kind", READ)
def test_what_a_text_is_read_as(kind: str) -> None:
    with DuckDBEngine() as engine:
        found = read_as(engine, pa.table(numbered([*READ[kind], None])), kind)
    assert dict(zip(READ[kind], found[:-1], strict=True)) == READ[kind]
    assert found[-1] is None


def test_both_engines_read_the_same(cluster: Any) -> None:
    """Spark by its own SQL, in a zone that is not UTC: what is opened is read in UTC."""
    for kind, texts in READ.items():
        frame = cluster.createDataFrame(pa.table(numbered([*texts, None])))
        with engine_beside(cluster) as engine:
            found = read_as(engine, frame, kind, "Asia/Kolkata")
        assert dict(zip(texts, found[:-1], strict=True)) == texts, kind
        assert found[-1] is None


_DAY = datetime.datetime(2024, 2, 29, 10)
_INSTANT = datetime.datetime(2024, 2, 29, 10, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
SAME = {
    "int64": ([7, -3], ["guest", None, 7.5, float("nan"), "7.5", True]),
    "float64": ([0.5, 1e-5, 3.0, 2.0**52 + 0.5], ["guest", None, float("inf"), "x"]),
    "text": ([7, -3], ["guest", None, 7.5]),
    "bool": ([True, False], ["guest", None, 2]),
    "date": ([datetime.date(2024, 2, 29)], ["guest", None]),
    "timestamp": ([_DAY], ["guest", None, 1.5]),
    "timestamptz": ([_INSTANT], ["guest", None, 1.5]),
}


def frames(values: list[Any]) -> list[Any]:
    """The values in frames of different makers, each with the type that it gives the column."""
    made: list[Any] = [pd.DataFrame(numbered(values))]
    made.append(pd.DataFrame(numbered(values)).astype({"x": object}))
    for make in (
        lambda: pl.DataFrame(numbered(values), strict=False),
        lambda: pd.DataFrame(numbered(values)).convert_dtypes(),
        lambda: pa.table(numbered(values)),
    ):
        try:
            made.append(make())
        except (pa.ArrowException, pl.exceptions.PolarsError, TypeError, OverflowError):
            continue  # a maker that refuses such a mixture changes nobody's values
    return made


@pytest.mark.parametrize("kind", SAME)
def test_one_more_value_changes_no_other(kind: str) -> None:
    values, newcomers = SAME[kind]
    with DuckDBEngine() as engine:
        wanted = read_as(engine, pd.DataFrame(numbered(values)), kind)
        assert None not in wanted
        for newcomer in newcomers:
            for frame in frames([*values, newcomer]):
                assert read_as(engine, frame, kind)[: len(values)] == wanted, (newcomer, frame)


@pytest.mark.parametrize(
    "column",
    [[7], [7.0], ["7"], ["7.0"], [Decimal("7.00")], [np.float32(7)], [7, None], [7, "x"], [7, 7.5]],
)
def test_seven_is_one_number_in_every_type_of_column(column: list[Any]) -> None:
    with DuckDBEngine() as engine:
        found = read_as(engine, pd.DataFrame(numbered(column)), "int64")
    assert found == [7, None][: len(column)]


def test_a_stored_type_is_left_as_it_is(tmp_path: Path) -> None:
    """A whole number of 2^53 and more is no float64, unless a schema says that it is one."""
    path = tmp_path / "t.parquet"
    pl.DataFrame(numbered([2.0**60])).write_parquet(path)
    with DuckDBEngine() as engine:
        assert read_as(engine, path, "float64") == [2.0**60]
        assert read_as(engine, path, "int64") == [None]
        assert read_as(engine, pl.read_parquet(path), "float64") == [None]


def test_csv(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("row,x\n0,7\n1,7.5\n2,\n3,seven\n")
    with DuckDBEngine() as engine:
        assert read_as(engine, path, "int64") == [7, None, None, None]
        assert read_as(engine, path, "float64") == [7.0, 7.5, None, None]


def test_lists_have_no_declared_type() -> None:
    with (
        DuckDBEngine() as engine,
        pytest.raises(InputError, match=r"without a text.*--type x=int64"),
    ):
        engine.open(locate(pa.table({"x": [[1, 2]]})), "source", (), {"x": "int64"})
