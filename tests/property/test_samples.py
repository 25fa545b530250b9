"""A user's sample is a function of the key and that user's own records, whatever else changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow.csv as csv
import pyarrow.parquet as parquet
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from crowdtally.core.counts import What
from crowdtally.curator.bounding.sampling import SRA
from kit.histories import (
    TRIED,
    Counting,
    Kept,
    Row,
    Shape,
    databases,
    in_domain,
    kept_of,
    keys,
    rules,
    whats,
)
from kit.mutants import DistinctIds, HashedUser, HashOfAllRows, OneQuota, PositionalIds

Countings = Callable[..., Counting]
STORED, BARE = Shape(id="int64"), Shape()
_FILES = settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
_NO_SHRINKING = (Phase.explicit, Phase.generate)
STRANGERS: list[Row] = [
    (user, item, context, number)
    for number, (user, item, context) in enumerate(
        [(555, 0, 0), (555, 1, 1), (-4, 2, 2), (2**62, 3, 1), (555, 3, 2)]
    )
]


def of_those_in(rows: Sequence[Row], kept: Kept) -> Kept:
    known = {str(row[0]) for row in rows}
    return {user: cells for user, cells in kept.items() if user in known}


@pytest.mark.parametrize("shape", TRIED, ids=str)
@settings(max_examples=30, deadline=None)
@given(data=st.data(), rule=rules(), key=keys, what=whats)
def test_as_many_records_as_the_rule_allows_all_of_them_the_users_own(
    shape: Shape, countings: Countings, data: st.DataObject, rule: Any, key: int, what: What
) -> None:
    rows = data.draw(databases(shape))
    kept = countings(shape).kept(rows, rule, key, what)
    own = in_domain(rows)
    assert kept.keys() == own.keys()
    for user, cells in own.items():
        available = cells if what == "records" else dict.fromkeys(cells, 1)
        assert kept[user].total() == min(rule.limit, sum(available.values()))
        assert all(times <= available.get(cell, 0) for cell, times in kept[user].items())


@pytest.mark.parametrize("shape", TRIED, ids=str)
@settings(max_examples=30, deadline=None)
@given(data=st.data(), rule=rules(), key=keys, what=whats)
def test_row_order_changes_nothing(
    shape: Shape, countings: Countings, data: st.DataObject, rule: Any, key: int, what: What
) -> None:
    rows = data.draw(databases(shape))
    shuffled = data.draw(st.permutations(rows))
    kept = countings(shape).kept(rows, rule, key, what)
    assert countings(shape).kept(shuffled, rule, key, what) == kept


@pytest.mark.parametrize("shape", [BARE, STORED], ids=str)
@settings(max_examples=30, deadline=None)
@given(data=st.data(), rule=rules(), key=keys, what=whats)
def test_other_users_change_nothing(
    shape: Shape, countings: Countings, data: st.DataObject, rule: Any, key: int, what: What
) -> None:
    rows = data.draw(databases(shape))
    alone = countings(shape).kept(rows, rule, key, what)
    crowded = countings(shape).kept([*STRANGERS[:2], *rows, *STRANGERS[2:]], rule, key, what)
    assert of_those_in(rows, crowded) == alone


@pytest.mark.parametrize("shape", [BARE, STORED], ids=str)
@pytest.mark.parametrize("limit", [1, 2, 5])
def test_other_users_change_nothing_of_long_histories(
    shape: Shape, limit: int, countings: Countings
) -> None:
    """Those of which most records are cut, which the drawn ones seldom are."""
    rows = [(user, n % 4, n % 3, n) for user in (1, 7, -7) for n in range(10 + user)]
    alone = countings(shape).kept(rows, SRA(limit), 1, "records")
    crowded = countings(shape).kept([*STRANGERS, *rows], SRA(limit), 1, "records")
    assert of_those_in(rows, crowded) == alone


@pytest.mark.parametrize(
    "kind", ["int8", *(pytest.param(kind, marks=pytest.mark.long) for kind in ("int16", "int32"))]
)
@settings(max_examples=15, deadline=None)
@given(data=st.data(), rule=rules(), key=keys, what=whats)
def test_the_width_of_integer_ids_changes_nothing(
    kind: str, countings: Countings, data: st.DataObject, rule: Any, key: int, what: What
) -> None:
    small = st.tuples(st.integers(-3, 3), st.integers(0, 3), st.integers(0, 2), st.integers(-9, 9))
    rows = data.draw(st.lists(small, max_size=16))
    narrow = countings(Shape(kind, id=kind)).kept(rows, rule, key, what)
    assert countings(STORED).kept(rows, rule, key, what) == narrow


@_FILES
@given(rows=databases(STORED), key=keys, what=whats, cut=st.integers(0, 20))
def test_the_number_of_files_changes_nothing(
    rows: list[Row], key: int, what: What, cut: int, tmp_path: Path
) -> None:
    for old in tmp_path.iterdir():
        old.unlink()
    parquet.write_table(STORED.table(rows), tmp_path / "whole.pq")
    whole = kept_of(tmp_path / "whole.pq", STORED, SRA(2), key, what)
    parquet.write_table(STORED.table(rows[cut:]), tmp_path / "a.parquet", row_group_size=3)
    parquet.write_table(STORED.table(rows[:cut]), tmp_path / "b.parquet", row_group_size=2)
    assert kept_of(str(tmp_path / "*.parquet"), STORED, SRA(2), key, what) == whole


@_FILES
@given(rows=databases(STORED), key=keys)
def test_the_kind_of_frame_changes_nothing(rows: list[Row], key: int) -> None:
    table = STORED.table(rows)
    frames = [
        pl.from_arrow(table),
        table.to_pandas(types_mapper=pd.ArrowDtype),
        table.combine_chunks(),
    ]
    found = [kept_of(frame, STORED, SRA(2), key, "records") for frame in frames]
    assert found[0] == found[1] == found[2]


@_FILES
@given(rows=databases(Shape("string", id="string")), key=keys, cut=st.integers(0, 20))
def test_the_number_of_csv_files_changes_nothing(
    rows: list[Row], key: int, cut: int, tmp_path: Path
) -> None:
    shape = Shape("string", id="string")
    rows = [row for row in rows if row[0] != ""]  # CSV cannot tell an empty text from a null
    for name, part in (("whole", rows), ("part_1", rows[cut:]), ("part_2", rows[:cut])):
        csv.write_csv(shape.table(part), tmp_path / f"{name}.csv")
    whole = kept_of(str(tmp_path / "whole.csv"), shape, SRA(2), key, "records")
    assert kept_of(str(tmp_path / "part_*.csv"), shape, SRA(2), key, "records") == whole


@pytest.mark.parametrize("stranger", [2**40, 2**70, "someone", None])
@pytest.mark.parametrize("column", ["user", "id"])
def test_a_strangers_odd_id_in_a_column_of_objects_changes_nothing(
    column: str, stranger: object
) -> None:
    """A type guessed from the values would change with them, and with it everyone's hash."""
    rows = [(user, cell % 4, cell % 3, cell) for user in (-5, 8, 9) for cell in range(6)]
    frame = pd.DataFrame(rows, columns=["user", "item", "context", "id"])
    frame = frame.astype({"user": object, "id": object})
    odd = {"user": 77, "item": 0, "context": 0, "id": 99} | {column: stranger}
    crowded = pd.concat([frame, pd.DataFrame([odd]).astype(object)])
    crowded = crowded.astype({"item": "int64", "context": "int64"})
    alone = kept_of(frame, STORED, SRA(2), 5, "records")
    assert len(alone) == 3
    everyone = kept_of(crowded, STORED, SRA(2), 5, "records")
    assert {user: everyone[user] for user in alone} == alone


MUTANTS = {
    "positional record ids": (BARE, PositionalIds),
    "grouping by a hashed user": (STORED, HashedUser),
    "hash of all rows": (BARE, HashOfAllRows),
    "distinct ids across users": (STORED, DistinctIds),
    "one quota for all users": (STORED, OneQuota),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_rules_that_look_at_other_users_are_caught(name: str, countings: Countings) -> None:
    shape, wrong = MUTANTS[name]
    counting = countings(shape)

    def moves(rows: list[Row]) -> bool:
        alone = counting.kept(rows, wrong(1), 1, "records")
        crowded = counting.kept([*STRANGERS, *rows], wrong(1), 1, "records")
        return of_those_in(rows, crowded) != alone

    quick = settings(max_examples=400, deadline=None, derandomize=True, phases=_NO_SHRINKING)
    assert find(databases(shape), moves, settings=quick)


def test_positional_ids_move_with_the_rows(countings: Countings) -> None:
    counting = countings(BARE)

    def moves(rows: list[Row]) -> bool:
        there = counting.kept(rows, PositionalIds(1), 1, "records")
        return counting.kept(rows[::-1], PositionalIds(1), 1, "records") != there

    quick = settings(max_examples=400, deadline=None, derandomize=True, phases=_NO_SHRINKING)
    assert find(databases(BARE), moves, settings=quick)
