"""Users' whole rows: read once, divided by their own sum, added up within 64 bits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from crowdtally.core.counts import Counts
from crowdtally.core.domain import Domain
from crowdtally.core.layout import Numbered, Picked, grid
from crowdtally.core.privacy import Epsilon, Rho
from crowdtally.curator.bounding.scaling import GRID
from crowdtally.curator.counting.count import Reading, count
from crowdtally.curator.counting.rows import (
    LARGEST_AMOUNT,
    MOST,
    Held,
    _folded,
    counted,
    hold_rows,
)
from crowdtally.curator.request.declare import declare
from crowdtally.curator.row_questions import (
    Inside,
    Lengths,
    Measure,
    RowQuestion,
    Scaled,
    UserRows,
    UsersInside,
    Whole,
    row_table,
)
from crowdtally.curator.table import Measured, MembersTable
from crowdtally.errors import CrowdtallyError
from crowdtally.inference.rows import BINS, BOUNDS, LARGEST_BOUND
from crowdtally.laws.interval import phantoms_for
from crowdtally.noise.draws import SystemDraws
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.prepare import prepare
from kit.blocks import CONTEXTS, Blocks, is_hers, reference

ONCE, REPEATS = UserRows(per_user=False, repeats=False), UserRows(per_user=False, repeats=True)
ONE = Epsilon(Fraction(1))

# ---- the same on every engine as by plain Python -------------------------------------------------

MODES = {
    "repeats": (REPEATS, False),
    "once": (ONCE, False),
    "once, per user": (UserRows(per_user=True, repeats=False), False),
    "quantities, per user": (UserRows(per_user=True, repeats=True), True),
}


@pytest.mark.quick_on_spark("once, per user")
@pytest.mark.parametrize("mode", MODES)
def test_rows_are_added_up_as_plain_python_does(start_engine: Any, mode: str) -> None:
    rows, quantities = MODES[mode]
    blocks = Blocks.of(every=False, quantities=quantities)
    places, width = blocks.places((0, 2)), CONTEXTS * len(blocks.databases)
    measures: dict[Measure, int] = {
        Scaled(2): blocks.size,
        Scaled(2, "cells"): blocks.size * width,
        Scaled(2, "contexts"): width,
        Scaled(3, above=2): blocks.size,
        Scaled(2, only_to=2): blocks.size,
        Inside(places, 2): len(places),
    }
    if not rows.repeats:
        measures |= {UsersInside(places): len(places), Scaled(2, by_norm=True): blocks.size}
        measures |= {Scaled(1, "cells", 1, by_norm=True): blocks.size * width}
    with blocks.held(start_engine, rows) as held:
        kept = blocks.kept(held)
        found = counted(held, list(measures), list(measures.values()))
        (bins,) = counted(held, [Lengths()], [BINS])
    for database, own in zip(blocks.databases, kept, strict=True):
        for user, history in enumerate(database):
            assert is_hers(own.get(user, Counter()), history, rows), history
    for measure, counts in zip(measures, found, strict=True):
        plain = replace(measure, places=(0, 2)) if hasattr(measure, "places") else measure
        slow = [
            sum((reference(plain, row) for row in own.values()), Counter[Any]()) for own in kept
        ]
        assert blocks.by_database(counts, measure) == slow, measure
    every = (reference(Lengths(), row) for own in kept for row in own.values())
    lengths = sum(every, Counter[Any]())
    assert bins.dense().tolist() == [lengths[place] for place in range(BINS)]


# ---- which records a row has ---------------------------------------------------------------------


def held_rows(
    engine: Any, table: dict[str, list[Any]], rows: UserRows, key: int = 7, **said: Any
) -> Held:
    """Rows over three items on the days of a week."""
    contexts = ["day"] if "day" in table else []
    records = declare(pa.table(table), user="user", item="item", contexts=contexts, **said)
    domain = Domain(range(3), {"day": range(7)} if contexts else {})
    return hold_rows(engine, prepare(engine, records, domain), rows, key)


@pytest.fixture
def engine() -> Iterator[DuckDBEngine]:
    with DuckDBEngine() as opened:
        yield opened


def cells_of(held: Held) -> dict[Any, Counter[tuple[int, int]]]:
    columns = held.engine.columns(held.records)
    found: dict[Any, Counter[tuple[int, int]]] = {}
    for user, cell in zip(columns["user"].tolist(), columns["cell"].tolist(), strict=True):
        found.setdefault(user, Counter())[divmod(cell, held.width)] += 1
    return found


USERS = 60
WEEK = {
    "user": [user for user in range(USERS) for _ in range(14)],
    "item": ([0] * 7 + [1] * 7) * USERS,
    "day": [*range(7)] * 2 * USERS,
}
"""Everybody has two items, on every day of the week."""


def test_one_of_a_weeks_records_of_an_item_survives(engine: DuckDBEngine) -> None:
    """Else a user of one item on seven days would change cells by seven times the bound."""
    rows = cells_of(held_rows(engine, WEEK, ONCE))
    assert all(sorted(item for item, _ in row) == [0, 1] for row in rows.values())
    assert {day for row in rows.values() for _, day in row} == set(range(7))
    assert any(len({day for _, day in row}) == 2 for row in rows.values())
    assert cells_of(held_rows(engine, WEEK, ONCE, key=8)) != rows


def test_the_context_of_a_user_is_chosen_before_records_are_left_out(engine: DuckDBEngine) -> None:
    """Of all her contexts: it is the same whether repeats count."""
    chosen = []
    for repeats in (False, True):
        found = cells_of(held_rows(engine, WEEK, UserRows(per_user=True, repeats=repeats)))
        assert {sum(row.values()) for row in found.values()} == {14 if repeats else 2}
        chosen.append({user: {day for _, day in row} for user, row in found.items()})
    assert chosen[0] == chosen[1]
    assert all(len(days) == 1 for days in chosen[0].values())
    assert len(set.union(*chosen[0].values())) == 7


def test_records_that_are_not_listed_make_no_row_longer(engine: DuckDBEngine) -> None:
    table = {
        "user": [1, 1, 1, 1, 2, None], "item": [0, 99, None, 1, 99, 0], "day": [0, 0, 1, 9, 1, 1],
    }  # fmt: skip
    held = held_rows(engine, table, REPEATS)
    assert held.users == {1: 1}
    assert held.dropped.rows == 6
    (counts,) = counted(held, [Scaled(1)], [3])
    assert counts.dense().tolist() == [GRID, 0, 0]


def test_a_record_counts_as_often_as_its_quantity_says(engine: DuckDBEngine) -> None:
    table = {"user": [1, 1, 1, 2], "item": [0, 0, 1, 2], "times": [3, 4, 10**9, 0]}
    held = held_rows(engine, table, REPEATS, quantity="times", max_quantity=10**6)
    assert held.users == {10**6 + 7: 1}
    whole, few = counted(held, [Scaled(10**4), Whole(50)], [3, 1])
    weight = GRID * 10**4 // (10**6 + 7)
    assert whole.dense().tolist() == [7 * weight, 10**6 * weight, 0]
    assert few.dense().tolist() == [50]


# ---- within 64 bits, whatever anybody has --------------------------------------------------------


def test_the_largest_records_stay_within_64_bits(engine: DuckDBEngine) -> None:
    table = {"user": [1] * 3, "item": [0, 1, 2], "times": [2**40] * 3}
    held = held_rows(engine, table, REPEATS, quantity="times", max_quantity=2**31)
    assert held.users == {3 * LARGEST_AMOUNT: 1}
    measures = [Scaled(LARGEST_BOUND), Inside((0, 2), LARGEST_BOUND)]
    whole, cut = counted(held, measures, [3, 2])
    amount, whole_row = LARGEST_AMOUNT, GRID * LARGEST_BOUND
    assert whole.dense().tolist() == [amount * (whole_row // (3 * amount))] * 3
    assert cut.dense().tolist() == [amount * (whole_row // (2 * amount))] * 2
    assert max(BOUNDS) <= LARGEST_BOUND
    assert GRID * LARGEST_AMOUNT < 2**63


def test_sums_of_cells_are_held_where_they_would_wrap_round() -> None:
    """Of cells at the limit of what an engine adds up, five are beyond 64 bits."""
    cells, values = np.arange(6), np.array([2**61] * 5 + [7])
    numbers, sums = _folded((cells, values), np.array([0, 0, 0, 0, 0, 1]))
    assert numbers.tolist() == [0, 1]
    assert sums.tolist() == [MOST, 7]
    assert sums.dtype == np.int64
    few = _folded((cells, values), np.array([0, 0, 1, 1, 2, 2]))[1]
    assert few.tolist() == [2**62, 2**62, 2**61 + 7]


def test_a_total_beyond_64_bits_is_held(engine: DuckDBEngine) -> None:
    held = held_rows(engine, {"user": [1], "item": [0]}, REPEATS)
    for users in (2**60, 2**60 + 1, 2**70):  # one user more moves it by no more than before
        (counts,) = counted(replace(held, users={2**13: users}), [Whole(2**13)], [1])
        assert counts.dense().tolist() == [min(2**13 * users, MOST)]


# ---- one snapshot --------------------------------------------------------------------------------


def question(measures: list[Measure], rows: UserRows) -> RowQuestion:
    """Over three items without contexts."""
    layout = grid(Domain(range(3)).axes)
    cells = {Lengths: Numbered("bin", BINS), Whole: Numbered("total", 1)}
    tables = [
        row_table(f"table {place}", cells.get(type(one), layout), ONE, one, rows)
        for place, one in enumerate(measures)
    ]
    return RowQuestion(tuple(tables), rows, tuple(measures))


@pytest.mark.parametrize("rows", [ONCE, REPEATS])
def test_a_source_that_changes_between_questions_makes_nobody_count_for_more(
    rows: UserRows, engine: DuckDBEngine, tmp_path: Path
) -> None:
    """Records and lengths come from one read: a row is divided by what is counted of it."""
    source = tmp_path / "visits.parquet"
    parquet.write_table(pa.table({"user": [1, 1, 2], "item": [0, 1, 1]}), source)
    prepared = prepare(engine, declare(source, user="user", item="item"), Domain(range(3)))
    reading, later = Reading(engine, prepared), [Scaled(1), Inside((1,), 1), Whole(9)]
    lengths = count(question([Lengths()], rows), reading).found[0].dense()
    before = Reading(engine, prepared)
    count(question([Lengths()], rows), before)
    wanted = [one.dense().tolist() for one in count(question(later, rows), before).found[:1]]
    parquet.write_table(pa.table({"user": [1] * 900, "item": [0, 1, 2] * 300}), source)
    found = count(question(later, rows), reading).found
    assert lengths[:2].tolist() == [1, 1]
    assert [one.dense().tolist() for one in found[:1]] == wanted
    assert found[0].dense().sum() == 2 * GRID
    assert found[2].dense().tolist() == [3]


# ---- tables of the measures ----------------------------------------------------------------------


def test_users_who_may_be_in_a_cell_twice_are_not_counted(engine: DuckDBEngine) -> None:
    """Interval noise is for a user who moves each cell by 0 or 1."""
    held = held_rows(engine, WEEK, REPEATS)
    with pytest.raises(CrowdtallyError, match="several times"):
        counted(held, [UsersInside((0, 1))], [2])


def test_bounds_by_hand() -> None:
    g, unit = GRID, Fraction(1, GRID)
    assert Lengths().bound(REPEATS, BINS) == (1, 1, 1)
    assert Whole(40).bound(ONCE, 1) == (40, 1600, 1)
    for rows in (ONCE, UserRows(per_user=True, repeats=False)):
        assert Scaled(9).bound(rows, 100) == (9 * g, 9 * g * g, unit)
        assert Scaled(9, "cells").bound(rows, 100) == (9 * g, 9 * g * g, unit)
        assert Scaled(9, "contexts").bound(rows, 100) == (9 * g, 81 * g * g, unit)
        assert Inside((1,), 9).bound(rows, 1) == (9 * g, 9 * g * g, unit)
        for over in ("items", "cells"):  # by Cauchy and Schwarz: the root of 9 times that of 100
            assert Scaled(9, over, by_norm=True).bound(rows, 100) == (30 * g, 9 * g * g, unit)
    for measure in (Scaled(9), Scaled(9, "cells"), Scaled(9, "contexts"), Inside((1,), 9)):
        assert measure.bound(REPEATS, 100) == (9 * g, 81 * g * g, unit)


def test_only_ones_in_cells_of_their_own_are_scaled_by_norm() -> None:
    with pytest.raises(TypeError, match="scale it to a sum"):
        Scaled(9, "contexts", by_norm=True)
    with pytest.raises(TypeError, match="scaled to a sum"):
        Scaled(9, by_norm=True).bound(REPEATS, 100)


def test_a_table_of_users_has_interval_noise_or_gaussian() -> None:
    cells, users = Picked(grid(Domain(range(40)).axes), np.arange(8)), UsersInside(tuple(range(8)))
    table = row_table("head", cells, ONE, users, ONCE)
    assert isinstance(table, Measured)
    assert (table.blocks, table.phantoms, table.epsilon) == (1, phantoms_for(8), ONE)
    ranked = row_table("head", cells, ONE, users, ONCE, ranked=True)
    assert isinstance(ranked, Measured)
    assert ranked.phantoms == 0
    gaussian = row_table("head", cells, Rho(Fraction(1, 8)), users, ONCE)
    assert isinstance(gaussian, MembersTable)
    assert gaussian.l2_squared == 8  # K: in each cell once


def test_two_classes_cost_what_one_does() -> None:
    """Every other table is paid for: also one of the same rows, and one of another price."""
    layout = grid(Domain(range(3)).axes)

    def paid(*asked: tuple[Measure, int]) -> list[str]:
        measures = [one for one, _ in asked]
        tables = [
            row_table(f"{place}", layout, Epsilon(Fraction(price)), one, ONCE)
            for place, (one, price) in enumerate(asked)
        ]
        return [part.name for part in RowQuestion(tuple(tables), ONCE, tuple(measures)).parts()]

    short, long = Scaled(4, only_to=4), Scaled(9, above=4)
    assert paid((long, 1), (short, 1)) == ["0"]
    assert paid((short, 1), (long, 1)) == ["1"]
    assert paid((short, 1)) == ["0"]
    assert paid((short, 1), (long, 1), (short, 1)) == ["1", "2"]
    assert paid((short, 1), (short, 1), (long, 1), (long, 1)) == ["2", "3"]
    assert paid((long, 1), (short, 2)) == ["0", "1"]
    assert paid((long, 1), (Scaled(3, only_to=3), 1)) == ["0", "1"]
    assert paid((long, 1), (Scaled(5, only_to=5), 1)) == ["0", "1"]
    assert paid((Scaled(9), 1), (short, 1)) == ["0", "1"]
    assert paid((long, 1), (short, 1), (Scaled(9, "cells"), 1)) == ["0", "2"]


@pytest.mark.parametrize("price", [ONE, Rho(Fraction(1, 8))])
def test_sums_of_records_are_no_users(price: Epsilon | Rho) -> None:
    """Nothing bounds what a user adds to them."""
    layout = grid(Domain(range(3)).axes)
    table = row_table("head", layout, price, UsersInside((0, 1, 2)), ONCE, ranked=True)
    with pytest.raises(CrowdtallyError, match="distinct users"):
        table.publish(Counts(3, [0], [5], 3, squared=3), SystemDraws())  # type: ignore[arg-type]
