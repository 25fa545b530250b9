"""One user changes a table by at most its bound, and no other user's sample."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import ibis
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as parquet
import pytest
from hypothesis import HealthCheck, Phase, assume, find, given, settings
from hypothesis import strategies as st

from crowdtally.core.counts import What
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.bounding.scaling import DPSense, DPSenseS
from crowdtally.curator.counting.bounded import count_scaled
from crowdtally.records import engine as window
from crowdtally.records import open
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.engine import Kept as KeptCuts
from kit.databases import (
    CONTEXTS,
    DERIVED,
    DOMAIN,
    ITEMS,
    PLAIN,
    TRIED,
    Counting,
    KeptRandom,
    Quantified,
    RowRandom,
    Shape,
    databases_random,
    in_domain,
    kept_of,
    keys,
    l1_distance,
    rules,
    whats,
    without,
)
from kit.repeatable import examples
from kit.rules import (
    DistinctIds,
    FanOut,
    HashedUser,
    HashOfAllRows,
    KeepOneMore,
    OneQuota,
    PositionalIds,
)

# ---- Stability: all records of one user change each table by at most the bound that it carries


Countings = Callable[..., Counting]
STORED, BARE, QUANTIFIED = Shape(id="int64"), Shape(), Quantified()
_NO_SHRINKING = (Phase.explicit, Phase.generate)


def people(rows: list[RowRandom]) -> list[Any]:
    return sorted({row[0] for row in rows if row[0] is not None}, key=repr)


def exceeds(
    counting: Counting,
    rows: list[RowRandom],
    rule: Any,
    key: int,
    what: What,
    *,
    pairs: bool = False,
) -> bool:
    """Whether some user's records change some table by more than the table says."""
    everyone = counting.counts(rows, rule, key, what, pairs=pairs)
    for user in people(rows):
        others = counting.counts(without(rows, user), rule, key, what, pairs=pairs)
        for one, other in zip(everyone, others, strict=True):
            assert one.l1_bound == other.l1_bound
            if l1_distance(one, other) > one.l1_bound:
                return True
    return False


@pytest.mark.parametrize("shape", TRIED, ids=str)
@settings(max_examples=examples(40), deadline=None)
@given(data=st.data(), rule=rules(), key=keys, what=whats)
def test_items_and_contexts(
    shape: Shape, countings: Countings, data: st.DataObject, rule: Any, key: int, what: What
) -> None:
    assert not exceeds(countings(shape), data.draw(databases_random(shape)), rule, key, what)


@pytest.mark.parametrize("shape", DERIVED, ids=str)
@settings(max_examples=examples(40), deadline=None)
@given(data=st.data(), rule=rules(), key=keys, what=whats)
def test_what_a_condition_takes_of_derived_items(
    shape: Shape, countings: Countings, data: st.DataObject, rule: Any, key: int, what: What
) -> None:
    """And nobody's records are taken, or left, for the sake of another's."""
    rows, counting = data.draw(databases_random(shape)), countings(shape)
    assert not exceeds(counting, rows, rule, key, what)
    together = counting.kept(rows, rule, key, what)
    for user in people(rows):
        alone = counting.kept(without(rows, user), rule, key, what)
        assert alone == {one: cells for one, cells in together.items() if one != str(user)}
    assert {user: cells.total() for user, cells in together.items()} == {
        user: min(rule.limit, number) for user, number in _taken(rows, what).items()
    }


def _taken(rows: list[RowRandom], what: What) -> dict[str, int]:
    """How many records of each user the condition takes and the lists have, in plain Python."""
    taken: dict[str, Counter[int]] = defaultdict(Counter)
    for user, item, context, number in rows:
        # Nothing is divided by zero, so a record of context 1 is not taken at all.
        listed = item in range(ITEMS) and context in (0, 2)
        low = context == 0 and number is not None and number % 3 == 0
        if user is not None and listed and (item != 1 or low):
            taken[user][item * CONTEXTS + context] += 1
    return {
        user: cells.total() if what == "records" else len(cells) for user, cells in taken.items()
    }


@pytest.mark.parametrize("shape", [BARE, STORED], ids=str)
@settings(max_examples=8, deadline=None)
@given(data=st.data(), rule=rules(), key=keys, what=whats)
def test_pairs_of_items(
    shape: Shape, countings: Countings, data: st.DataObject, rule: Any, key: int, what: What
) -> None:
    assume(rule.limit >= 2)
    counting = countings(shape, PLAIN)
    assert not exceeds(counting, data.draw(databases_random(shape)), rule, key, what, pairs=True)


@settings(max_examples=examples(30), deadline=None)
@given(rows=databases_random(BARE), theta=st.integers(1, 5), cap=st.integers(1, 3))
def test_scaled_rows(countings: Countings, rows: list[RowRandom], theta: int, cap: int) -> None:
    counting = countings(BARE)

    def scaled(tried: list[RowRandom]) -> Any:
        counting.engine.replace(tried)
        rule = DPSenseS(theta, cap, scalings=["3/2"])
        return count_scaled(counting.engine, counting.prepared, rule, DOMAIN.size).found

    everyone = scaled(rows)
    for user in people(rows):
        assert l1_distance(everyone, scaled(without(rows, user))) <= everyone.l1_bound


@settings(max_examples=examples(30), deadline=None)
@given(rows=databases_random(STORED), key=keys, what=whats)
def test_the_bound_is_reached(
    countings: Countings, rows: list[RowRandom], key: int, what: What
) -> None:
    """A user with more different items than are kept: the bound is no larger than it has to be."""
    newcomer = 424242
    more = [*rows, *((newcomer, item, 0, 90 + item) for item in range(ITEMS))]
    counting, rule = countings(STORED), SRA(ITEMS - 1)
    tables = zip(
        counting.counts(more, rule, key, what),
        counting.counts(rows, rule, key, what),
        strict=True,
    )
    assert all(l1_distance(one, other) == one.l1_bound for one, other in tables)


@settings(max_examples=examples(40), deadline=None)
@given(rows=databases_random(QUANTIFIED), rule=rules(), key=keys)
def test_records_that_count_several_times(
    countings: Countings, rows: list[RowRandom], rule: Any, key: int
) -> None:
    """Quantities from 0, which is none, to 9, of which at most 3 count."""
    rule = replace(rule, times=QUANTIFIED.most)
    assert not exceeds(countings(QUANTIFIED), rows, rule, key, "records")


@settings(max_examples=examples(30), deadline=None)
@given(rows=databases_random(QUANTIFIED), key=keys, data=st.data())
def test_row_order_and_other_users_change_no_quantity(
    countings: Countings, rows: list[RowRandom], key: int, data: st.DataObject
) -> None:
    """What is kept of records of one cell depends on their quantities, not on their order."""
    counting, rule = countings(QUANTIFIED), SRA(1, times=QUANTIFIED.most)
    shuffled = data.draw(st.permutations(rows))
    one, other = (counting.counts(tried, rule, key, "records") for tried in (rows, shuffled))
    assert [t.dense().tolist() for t in one] == [t.dense().tolist() for t in other]


@settings(max_examples=examples(15), deadline=None)
@given(rows=databases_random(QUANTIFIED), key=keys)
def test_the_bound_of_quantities_is_reached(
    countings: Countings, rows: list[RowRandom], key: int
) -> None:
    more = [*rows, *((424242, item, 0, 3 + item) for item in range(ITEMS))]
    counting, rule = countings(QUANTIFIED), SRA(ITEMS - 1, times=QUANTIFIED.most)
    tables = zip(
        counting.counts(more, rule, key, "records"),
        counting.counts(rows, rule, key, "records"),
        strict=True,
    )
    assert all(l1_distance(a, b) == a.l1_bound == 3 * (ITEMS - 1) for a, b in tables)


@settings(max_examples=examples(20), deadline=None)
@given(rows=databases_random(QUANTIFIED), theta=st.integers(1, 5), cap=st.integers(1, 4))
def test_scaled_rows_of_quantities(
    countings: Countings, rows: list[RowRandom], theta: int, cap: int
) -> None:
    counting = countings(QUANTIFIED)

    def scaled(tried: list[RowRandom]) -> Any:
        counting.engine.replace(tried)
        return count_scaled(
            counting.engine, counting.prepared, DPSense(theta, cap), DOMAIN.size
        ).found

    everyone = scaled(rows)
    for user in people(rows):
        assert l1_distance(everyone, scaled(without(rows, user))) <= everyone.l1_bound


MUTANTS = {
    "keep l+1": (STORED, KeepOneMore),
    "positional record ids": (BARE, PositionalIds),
    "grouping by a hashed user": (STORED, HashedUser),
    "hash of all rows": (BARE, HashOfAllRows),
    "distinct ids across users": (STORED, DistinctIds),
    "one quota for all users": (STORED, OneQuota),
    "join with fan-out after bounding": (STORED, FanOut),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_caught(name: str, countings: Countings) -> None:
    shape, wrong = MUTANTS[name]
    caught = find(
        databases_random(shape),
        lambda rows: exceeds(countings(shape), rows, wrong(1), 1, "records"),
        settings=settings(max_examples=400, deadline=None, derandomize=True, phases=_NO_SHRINKING),
    )
    assert len(people(caught)) >= 1


# ---- A user's sample is a function of the key and that user's own records, whatever else
#      changes


STORED_SAMPLES, BARE_SAMPLES = Shape(id="int64"), Shape()
_FILES = settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
STRANGERS: list[RowRandom] = [
    (user, item, context, number)
    for number, (user, item, context) in enumerate(
        [(555, 0, 0), (555, 1, 1), (-4, 2, 2), (2**62, 3, 1), (555, 3, 2)]
    )
]


def of_those_in(rows: Sequence[RowRandom], kept: KeptRandom) -> KeptRandom:
    known = {str(row[0]) for row in rows}
    return {user: cells for user, cells in kept.items() if user in known}


@pytest.mark.parametrize("shape", TRIED, ids=str)
@settings(max_examples=examples(30), deadline=None)
@given(data=st.data(), rule=rules(), key=keys, what=whats)
def test_as_many_records_as_the_rule_allows_all_of_them_the_users_own(
    shape: Shape, countings: Countings, data: st.DataObject, rule: Any, key: int, what: What
) -> None:
    rows = data.draw(databases_random(shape))
    kept = countings(shape).kept(rows, rule, key, what)
    own = in_domain(rows)
    assert kept.keys() == own.keys()
    for user, cells in own.items():
        available = cells if what == "records" else dict.fromkeys(cells, 1)
        assert kept[user].total() == min(rule.limit, sum(available.values()))
        assert all(times <= available.get(cell, 0) for cell, times in kept[user].items())


@pytest.mark.parametrize("shape", TRIED, ids=str)
@settings(max_examples=examples(30), deadline=None)
@given(data=st.data(), rule=rules(), key=keys, what=whats)
def test_row_order_changes_nothing(
    shape: Shape, countings: Countings, data: st.DataObject, rule: Any, key: int, what: What
) -> None:
    rows = data.draw(databases_random(shape))
    shuffled = data.draw(st.permutations(rows))
    kept = countings(shape).kept(rows, rule, key, what)
    assert countings(shape).kept(shuffled, rule, key, what) == kept


@pytest.mark.parametrize("shape", [BARE_SAMPLES, STORED_SAMPLES], ids=str)
@settings(max_examples=examples(30), deadline=None)
@given(data=st.data(), rule=rules(), key=keys, what=whats)
def test_other_users_change_nothing(
    shape: Shape, countings: Countings, data: st.DataObject, rule: Any, key: int, what: What
) -> None:
    rows = data.draw(databases_random(shape))
    alone = countings(shape).kept(rows, rule, key, what)
    crowded = countings(shape).kept([*STRANGERS[:2], *rows, *STRANGERS[2:]], rule, key, what)
    assert of_those_in(rows, crowded) == alone


@pytest.mark.parametrize("shape", [BARE_SAMPLES, STORED_SAMPLES], ids=str)
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
@settings(max_examples=examples(15), deadline=None)
@given(data=st.data(), rule=rules(), key=keys, what=whats)
def test_the_width_of_integer_ids_changes_nothing(
    kind: str, countings: Countings, data: st.DataObject, rule: Any, key: int, what: What
) -> None:
    small = st.tuples(st.integers(-3, 3), st.integers(0, 3), st.integers(0, 2), st.integers(-9, 9))
    rows = data.draw(st.lists(small, max_size=16))
    narrow = countings(Shape(kind, id=kind)).kept(rows, rule, key, what)
    assert countings(STORED_SAMPLES).kept(rows, rule, key, what) == narrow


@_FILES
@given(rows=databases_random(STORED_SAMPLES), key=keys, what=whats, cut=st.integers(0, 20))
def test_the_number_of_files_changes_nothing(
    rows: list[RowRandom], key: int, what: What, cut: int, tmp_path: Path
) -> None:
    for old in tmp_path.iterdir():
        old.unlink()
    parquet.write_table(STORED_SAMPLES.table(rows), tmp_path / "whole.pq")
    whole = kept_of(tmp_path / "whole.pq", STORED_SAMPLES, SRA(2), key, what)
    parquet.write_table(STORED_SAMPLES.table(rows[cut:]), tmp_path / "a.parquet", row_group_size=3)
    parquet.write_table(STORED_SAMPLES.table(rows[:cut]), tmp_path / "b.parquet", row_group_size=2)
    assert kept_of(str(tmp_path / "*.parquet"), STORED_SAMPLES, SRA(2), key, what) == whole


@_FILES
@given(rows=databases_random(STORED_SAMPLES), key=keys)
def test_the_kind_of_frame_changes_nothing(rows: list[RowRandom], key: int) -> None:
    table = STORED_SAMPLES.table(rows)
    frames = [
        pl.from_arrow(table),
        table.to_pandas(types_mapper=pd.ArrowDtype),
        table.combine_chunks(),
    ]
    found = [kept_of(frame, STORED_SAMPLES, SRA(2), key, "records") for frame in frames]
    assert found[0] == found[1] == found[2]


@_FILES
@given(rows=databases_random(Shape("string", id="string")), key=keys, cut=st.integers(0, 20))
def test_the_number_of_csv_files_changes_nothing(
    rows: list[RowRandom], key: int, cut: int, tmp_path: Path
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
    alone = kept_of(frame, STORED_SAMPLES, SRA(2), 5, "records")
    assert len(alone) == 3
    everyone = kept_of(crowded, STORED_SAMPLES, SRA(2), 5, "records")
    assert {user: everyone[user] for user in alone} == alone


MUTANTS_SAMPLES = {
    "positional record ids": (BARE_SAMPLES, PositionalIds),
    "grouping by a hashed user": (STORED_SAMPLES, HashedUser),
    "hash of all rows": (BARE_SAMPLES, HashOfAllRows),
    "distinct ids across users": (STORED_SAMPLES, DistinctIds),
    "one quota for all users": (STORED_SAMPLES, OneQuota),
}


@pytest.mark.parametrize("name", MUTANTS_SAMPLES)
def test_rules_that_look_at_other_users_are_caught(name: str, countings: Countings) -> None:
    shape, wrong = MUTANTS_SAMPLES[name]
    counting = countings(shape)

    def moves(rows: list[RowRandom]) -> bool:
        alone = counting.kept(rows, wrong(1), 1, "records")
        crowded = counting.kept([*STRANGERS, *rows], wrong(1), 1, "records")
        return of_those_in(rows, crowded) != alone

    quick = settings(max_examples=400, deadline=None, derandomize=True, phases=_NO_SHRINKING)
    assert find(databases_random(shape), moves, settings=quick)


def test_positional_ids_move_with_the_rows(countings: Countings) -> None:
    counting = countings(BARE_SAMPLES)

    def moves(rows: list[RowRandom]) -> bool:
        there = counting.kept(rows, PositionalIds(1), 1, "records")
        return counting.kept(rows[::-1], PositionalIds(1), 1, "records") != there

    quick = settings(max_examples=400, deadline=None, derandomize=True, phases=_NO_SHRINKING)
    assert find(databases_random(BARE_SAMPLES), moves, settings=quick)


# ---- The fast cut equals its definition, in any width of domain and in any number of parts -------


STORED_CUTS, BARE_CUTS = Shape(id="int64"), Shape()
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


@settings(max_examples=examples(60), deadline=None)
@given(records=_PRIORITIES, limit=st.integers(1, 5))
def test_the_fast_cut_is_the_window(engine: DuckDBEngine, records: Priorities, limit: int) -> None:
    assert not differs(engine, records, limit, DuckDBEngine.least)


def test_rank_in_place_of_row_number_is_caught(engine: DuckDBEngine) -> None:
    def ranked(_: DuckDBEngine, table: ibis.Table, limit: int) -> KeptCuts:
        place = ibis.rank().over(group_by=table.user, order_by=table.priority)
        return KeptCuts(table.mutate(place=place).filter(lambda t: t.place < limit).drop("place"))

    quick = settings(max_examples=400, deadline=None, derandomize=True, phases=[Phase.generate])
    assert find(_PRIORITIES, lambda records: differs(engine, records, 2, ranked), settings=quick)


WIDTHS = [12, 2**31, 2**31 + 1, 2**33, 2**61]


@pytest.mark.parametrize("cells", WIDTHS)
@settings(max_examples=examples(20), deadline=None)
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


@settings(max_examples=examples(15), deadline=None)
@given(
    rows=databases_random(STORED_CUTS), rule=rules(), key=keys, what=whats, parts=st.integers(2, 5)
)
def test_parts_by_user_change_no_count(
    countings: Countings, rows: list[RowRandom], rule: Any, key: int, what: What, parts: int
) -> None:
    counting = countings(STORED_CUTS)
    whole = counting.counts(rows, rule, key, what)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting.engine, "parts", lambda: parts)
        in_parts = counting.counts(rows, rule, key, what)
    for one, other in zip(whole, in_parts, strict=True):
        assert one.dense().tolist() == other.dense().tolist()


@settings(max_examples=6, deadline=None)
@given(rows=databases_random(BARE_CUTS), key=keys, what=whats, parts=st.integers(2, 3))
def test_parts_by_user_change_no_pair(
    countings: Countings, rows: list[RowRandom], key: int, what: What, parts: int
) -> None:
    counting = countings(BARE_CUTS)
    whole = counting.counts(rows, SRA(3), key, what, pairs=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting.engine, "parts", lambda: parts)
        in_parts = counting.counts(rows, SRA(3), key, what, pairs=True)
    for one, other in zip(whole, in_parts, strict=True):
        assert one.dense().tolist() == other.dense().tolist()


@pytest.mark.parametrize("rows", [0, 10**6, 10**12])
def test_more_rows_never_mean_fewer_parts(rows: int) -> None:
    assert 1 <= open.parts(rows, 2**33) <= open.parts(2 * rows, 2**33)
