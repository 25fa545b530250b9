"""One table through every kind of source, and what the embedded engine is told before it reads."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import crowdtally as ct
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.engine import Dropped
from crowdtally.records.locate import locate
from kit.every_source import (
    DAYS,
    PLACES,
    Tables,
    _csv,
    _parquet,
    counted,
    expected,
    rows,
    some_source,
    source,
    table,
)
from kit.ledgers import server

__all__ = ["server", "some_source", "source"]

pytestmark = [
    pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The 'future.infer_string' option"),
]


# ---- One small table through every kind of source: the same counts, and the same samples ---------


# Ibis's own calls to DuckDB and pandas, not ours.
pytestmark = [
    pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The 'future.infer_string' option"),
]


def test_every_source_gives_the_same_counts(source: Any) -> None:
    items, edges, dropped = counted(source)
    assert (items, edges) == expected()
    assert items[PLACES.index("007")] != items[PLACES.index("7")], "leading zeros are kept"
    assert dropped == Dropped(rows=len(rows()), without_user=2, outside=6)


def test_every_source_gives_the_same_sample(source: Any) -> None:
    """Users are text in all of them, so one key must keep the same records of everyone."""
    assert counted(source, limit=2) == _sample(None)
    assert counted(source, limit=2, record_id="who") == _sample("who")


@functools.cache
def _sample(record_id: str | None) -> Tables:
    return counted(table(), limit=2, record_id=record_id)


def test_two_keys_keep_different_records() -> None:
    """Else the test above would show nothing."""
    assert counted(table(), limit=2, key=1) != counted(table(), limit=2, key=2)


def test_distinct_users(some_source: Any) -> None:
    items, _, _ = counted(some_source, what="users")
    kept = [row for row in rows() if row[0] is not None and row[1] in PLACES and row[2] in DAYS]
    distinct = Counter(place for _, place in {(who, place) for who, place, _ in kept})
    assert items == [distinct[place] for place in PLACES]


# ---- joins and derived contexts -----------------------------------------------------------------


def _areas() -> pa.Table:
    """The key of one place is missing, one key is null."""
    return pa.table({"place": ["park", "007", "7", None], "area": ["green", "spy", "spy", "none"]})


def _joined() -> list[int]:
    area = {"park": "green", "007": "spy", "7": "spy"}
    kept = [row[1] for row in rows() if row[0] is not None and row[1] in area]
    cells = Counter((place, area[place]) for place in kept)
    return [cells[place, value] for place in PLACES for value in ("green", "spy")]


@pytest.mark.parametrize("kind", ["parquet", "csv", "pandas", "duckdb"])
def test_join(some_source: Any, kind: str, tmp_path: Path) -> None:
    other: Any = _areas().to_pandas()
    if kind == "parquet":
        other = _parquet(tmp_path, "areas.parquet", _areas())
    elif kind == "csv":
        other = _csv(tmp_path, "areas.csv", part=_areas())
    elif kind == "duckdb":
        with duckdb.connect(str(tmp_path / "areas.duckdb")) as base:
            base.register("incoming", _areas())
            base.execute("CREATE TABLE areas AS FROM incoming")
        other = f"{tmp_path / 'areas.duckdb'}#areas"
    domain = ct.Domain(PLACES, {"area": ["green", "spy"]})
    _, edges, dropped = counted(
        some_source, domain=domain, contexts=["area"], joins=[(other, "place")]
    )
    assert edges == _joined()
    assert sum(edges) + dropped.without_user + dropped.outside == dropped.rows == len(rows())


def test_several_joins() -> None:
    zones = pa.table({"area": ["green", "spy"], "zone": [1, 2]})
    domain = ct.Domain(PLACES, {"zone": [1, 2]})
    joins = [(_areas(), "place"), (zones, "area")]
    with pytest.raises(ct.InputError, match="no column 'area'"):
        counted(table(), domain=domain, contexts=["zone"], joins=joins)
    days = pa.table({"day": ["Mon", "Tue"], "early": [1, 2]})
    both = ct.Domain(PLACES, {"area": ["green", "spy"], "early": [1, 2]})
    _, edges, _ = counted(
        table(), domain=both, contexts=["area", "early"], joins=[(_areas(), "place"), (days, "day")]
    )
    area = {"park": "green", "007": "spy", "7": "spy"}
    cells = Counter(
        (place, area[place], DAYS.index(day) + 1)
        for who, place, day in rows()
        if who is not None and place in area and day in DAYS
    )
    wanted = [(p, a, e) for p in PLACES for a in ("green", "spy") for e in (1, 2)]
    assert edges == [cells[cell] for cell in wanted]


def _monday(yes: str, no: str) -> Callable[[str | None], str]:
    return lambda day: yes if day == "Mon" else no


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("upper(day)", lambda day: day and day.upper()),
        ("upper(\"day\") || ''", lambda day: day and day.upper()),
        ("CASE WHEN day = 'Mon' THEN 'MON' ELSE 'TUE' END", _monday("MON", "TUE")),
        (
            "dayname(CAST(if(day = 'Mon', '2024-01-01', '2024-01-02') AS DATE))",
            _monday("Monday", "Tuesday"),
        ),
    ],
)
def test_derived_context(some_source: Any, expression: str, value: Callable[[Any], str]) -> None:
    names = [value("Mon"), value("Tue")]
    domain = ct.Domain(PLACES, {"name": names})
    _, edges, _ = counted(some_source, domain=domain, contexts={"name": expression})
    cells = Counter((row[1], value(row[2])) for row in rows() if row[0] is not None)
    assert edges == [cells[place, name] for place in PLACES for name in names]


def test_times_are_read_as_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """1970-01-01 was a Thursday in Greenwich, whatever the clock on the wall says."""
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    frame = pa.table({"who": ["a", "a"], "place": ["x", "x"], "t": [0, 86_399]})
    domain = ct.Domain(["x"], {"day": ["Thursday"]})
    contexts = {"day": "dayname(to_timestamp(t))"}
    types = {"t": "int64"}
    assert counted(frame, domain=domain, contexts=contexts, types=types)[1] == [2]


def test_a_column_named_like_a_keyword() -> None:
    frame = pa.table({"who": ["a"], "place": ["x"], "user": ["u"], "order": ["o"]})
    for expression, value in (("lower(user)", "u"), ('lower("order")', "o"), ("user", "u")):
        domain = ct.Domain(["x"], {"c": [value]})
        contexts = {"c": expression}
        assert counted(frame, domain=domain, contexts=contexts)[1] == [1], expression


def test_a_value_that_an_expression_cannot_take_drops_its_record_alone() -> None:
    frame = pa.table({"who": ["a"] * 4, "place": ["x"] * 4, "age": ["7", "old", "8", None]})
    domain = ct.Domain(["x"], {"age_now": [7, 8]})
    contexts = {"age_now": "CAST(age AS INTEGER)"}
    _, edges, dropped = counted(frame, domain=domain, contexts=contexts)
    assert (edges, dropped.outside) == ([1, 1], 2)


# ---- what is not a source -----------------------------------------------------------------------


def test_not_a_source() -> None:
    with pytest.raises(ct.UsageError, match=r"cannot be read from a builtins\.list: pass a path"):
        counted([1, 2])
    with pytest.raises(ct.UsageError, match="have no name to charge under: pass dataset="):
        ct.release(
            ct.read(table(), user="who", item="place"),
            ct.Domain(PLACES),
            epsilon=1,
            new_dataset=True,
            method=ct.SRA(10),
        )


def test_files_with_different_headers(tmp_path: Path) -> None:
    _csv(tmp_path, "a-1.csv")
    _csv(tmp_path, "a-2.csv", part=table().select(["place", "who", "day", "n"]))
    with pytest.raises(ct.InputError, match="another header"):
        counted(str(tmp_path / "a-*.csv"))


# ---- What the embedded engine is told before it reads: no type is guessed ------------------------


@pytest.fixture
def engine() -> Iterator[DuckDBEngine]:
    with DuckDBEngine() as opened:
        yield opened


def test_objects_are_read_one_by_one(engine: DuckDBEngine) -> None:
    """As they are read in a column of their own type, whatever stands beside them."""
    mixed = pd.Series([7, 7.0, True, Decimal("7.00"), "07"], dtype=object)
    engine.open(locate(pd.DataFrame({"user": mixed})), "records")
    users = engine.columns(engine.table("records"))["user"].tolist()
    assert users == ["7", "7", "true", "7", "07"]


@pytest.mark.parametrize("last", [7, "guest", 2**40, None])
def test_a_frame_of_objects_has_one_type_whatever_it_holds(
    last: object, engine: DuckDBEngine
) -> None:
    """A type guessed from a sample of the values would be decided by one user among them."""
    numbers = [*range(200), last]
    frame = pd.DataFrame({"user": pd.Series(numbers, dtype=object)})
    assert engine.open(locate(frame), "records")["user"].type == "VARCHAR"
    users = engine.columns(engine.table("records"))["user"].tolist()
    assert users[:200] == [str(number) for number in range(200)]
