"""The fast cut equals its definition, in any width of domain and in any number of parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import ibis
import pyarrow as pa
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from crowdtally.core.counts import What
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.records import engine as window
from crowdtally.records import open
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.engine import Kept
from kit.histories import Counting, Row, Shape, databases, keys, rules, whats

Countings = Callable[..., Counting]
STORED, BARE = Shape(id="int64"), Shape()
Priorities = list[tuple[int, int]]
"""User and priority of each record."""


def loaded(engine: DuckDBEngine, columns: dict[str, Any]) -> ibis.Table:
    engine._connection.register("held", pa.table(columns))
    return engine.table("held")


def rows_of(engine: DuckDBEngine, table: ibis.Table, *names: str) -> Counter[tuple[Any, ...]]:
    columns = engine.columns(table)
    return Counter(zip(*(columns[name].tolist() for name in names), strict=True))


def differs(engine: DuckDBEngine, records: Priorities, limit: int, cut: Any) -> bool:
    users, priorities = zip(*records, strict=True) if records else ((), ())
    columns = {"user": pa.array(users, "int64"), "priority": pa.array(priorities, "int64")}
    table = loaded(engine, columns)
    fast = rows_of(engine, cut(engine, table, limit).rows, "user", "priority")
    return fast != rows_of(engine, window.least(table, limit), "user", "priority")


# Few different priorities, so that they tie; and the ends of their range.
_PRIORITIES = st.lists(
    st.tuples(
        st.integers(-2, 2),
        st.one_of(st.integers(0, 5), st.sampled_from([0, 2**31, 2**62, 2**63 - 1])),
    ),
    max_size=30,
)


@settings(max_examples=60, deadline=None)
@given(records=_PRIORITIES, limit=st.integers(1, 5))
def test_the_fast_cut_is_the_window(engine: DuckDBEngine, records: Priorities, limit: int) -> None:
    assert not differs(engine, records, limit, DuckDBEngine.least)


def test_rank_in_place_of_row_number_is_caught(engine: DuckDBEngine) -> None:
    def ranked(_: DuckDBEngine, table: ibis.Table, limit: int) -> Kept:
        place = ibis.rank().over(group_by=table.user, order_by=table.priority)
        return Kept(table.mutate(place=place).filter(lambda t: t.place < limit).drop("place"))

    quick = settings(max_examples=400, deadline=None, derandomize=True, phases=[Phase.generate])
    assert find(_PRIORITIES, lambda records: differs(engine, records, 2, ranked), settings=quick)


WIDTHS = [12, 2**31, 2**31 + 1, 2**33, 2**61]


@pytest.mark.parametrize("cells", WIDTHS)
@settings(max_examples=20, deadline=None)
@given(data=st.data(), key=keys, what=whats)
def test_wide_domains(
    cells: int, engine: DuckDBEngine, data: st.DataObject, key: int, what: What
) -> None:
    """Cells up to the last one come back whole, and each user keeps as many as there are."""
    some = st.sampled_from([0, 1, cells // 2, cells - 2, cells - 1])
    records = data.draw(st.lists(st.tuples(st.integers(0, 3), some), min_size=1, max_size=20))
    users, numbers = zip(*records, strict=True)
    table = loaded(engine, {"user": pa.array(users, "int64"), "cell": pa.array(numbers, "int64")})
    rule = SRA(2)
    kept = rows_of(
        engine, rule.keep(engine, table, cells=cells, key=key, what=what).rows, "user", "cell"
    )
    available = Counter(records) if what == "records" else Counter(set(records))
    assert kept <= available
    for user in set(users):
        own = sum(times for (owner, _), times in available.items() if owner == user)
        assert sum(times for (owner, _), times in kept.items() if owner == user) == min(2, own)


@pytest.mark.parametrize("what", ["records", "users"])
def test_domains_beyond_64_bits_number_their_cells_in_text(
    what: What, engine: DuckDBEngine
) -> None:
    users, cells = [1, 1, 1, 2], ["5.1", "5.1", "0.77", "9.9"]
    table = loaded(engine, {"user": users, "cell": cells})
    kept = rows_of(
        engine, SRA(2).keep(engine, table, cells=2**70, key=3, what=what).rows, "user", "cell"
    )
    assert kept[2, "9.9"] == 1
    assert sum(times for (user, _), times in kept.items() if user == 1) == 2
    assert set(kept) <= set(zip(users, cells, strict=True))


@settings(max_examples=15, deadline=None)
@given(rows=databases(STORED), rule=rules(), key=keys, what=whats, parts=st.integers(2, 5))
def test_parts_by_user_change_no_count(
    countings: Countings, rows: list[Row], rule: Any, key: int, what: What, parts: int
) -> None:
    counting = countings(STORED)
    whole = counting.counts(rows, rule, key, what)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting.engine, "parts", lambda: parts)
        in_parts = counting.counts(rows, rule, key, what)
    for one, other in zip(whole, in_parts, strict=True):
        assert one.dense().tolist() == other.dense().tolist()


@settings(max_examples=6, deadline=None)
@given(rows=databases(BARE), key=keys, what=whats, parts=st.integers(2, 3))
def test_parts_by_user_change_no_pair(
    countings: Countings, rows: list[Row], key: int, what: What, parts: int
) -> None:
    counting = countings(BARE)
    whole = counting.counts(rows, SRA(3), key, what, pairs=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting.engine, "parts", lambda: parts)
        in_parts = counting.counts(rows, SRA(3), key, what, pairs=True)
    for one, other in zip(whole, in_parts, strict=True):
        assert one.dense().tolist() == other.dense().tolist()


@pytest.mark.parametrize("rows", [0, 10**6, 10**12])
def test_more_rows_never_mean_fewer_parts(rows: int) -> None:
    assert 1 <= open.parts(rows, 2**33) <= open.parts(2 * rows, 2**33)
