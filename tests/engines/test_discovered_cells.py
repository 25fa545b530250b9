"""Cells of several columns without lists: typed, kept, counted, ordered alike on every engine."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import crowdtally as ct
from crowdtally.core.domain import OpenDomain
from crowdtally.core.records import Records
from crowdtally.curator.choices.selection import Discovered, UnknownCells
from crowdtally.curator.converse import Released
from crowdtally.curator.counting.count import Reading
from crowdtally.curator.counting.users import Kept, kept_cells
from crowdtally.curator.request.request import make_request
from crowdtally.records.prepare import prepare
from kit.databases import RowRandom
from kit.draws import SilentDraws
from kit.publishing import run_steps
from kit.spark import BARE, EVERYONE, OTHERS, Start, farthest, together
from kit.subjects import known_keys

KEY = 4711
ROWS = [
    ("u", "b", 10, "x"), ("u", "b", 10, "x"), ("u", "b", 9, "y"), ("u", "a", 9, "x"),
    ("v", "b", 10, "y"), ("v", None, 10, "x"), ("v", "a", None, "x"), ("w", "a", 9, None),
    (None, "b", 10, "x"), ("w", "c", 9, "z"),
]  # fmt: skip


def stored(folder: Path, rows: Any = ROWS) -> str:
    """The rows in a Parquet file, whose schema declares the types."""
    names = ("user", "item", "hour", "side")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    kinds = {"user": pa.string(), "item": pa.string(), "hour": pa.int32(), "side": pa.string()}
    table = pa.table({name: pa.array(columns[name], kinds[name]) for name in names})
    parquet.write_table(table, folder / "rows.parquet")
    return str(folder / "rows.parquet")


def counted(found: Kept) -> dict[Any, int]:
    return dict(
        zip(
            zip(*(v.tolist() for v in found.values), strict=True), found.users.tolist(), strict=True
        )
    )


def test_nulls_types_and_the_order_of_values(start_engine: Start, tmp_path: Path) -> None:
    """Listed values stand in the order of their list, found ones in their own."""
    records = Records(stored(tmp_path), "user", "item", {"hour": None, "side": None})
    lists = OpenDomain.of(records, ct.Domain(contexts={"side": ["y", "x"]}))
    assert lists.discovered == ("item", "hour")
    with start_engine() as engine:
        read = kept_cells(engine, prepare(engine, records, lists), 9, [1, 3], key=KEY)
    items, cells = read.found
    assert list(counted(items).items()) == [(("a",), 1), (("b",), 2)]
    assert list(counted(cells).items()) == [
        (("a", 9, 1), 1), (("b", 9, 0), 1), (("b", 10, 0), 1), (("b", 10, 1), 1),
    ]  # fmt: skip
    # Dropped: one without a user; a missing item, hour and side; a side outside the list.
    assert (read.dropped.without_user, read.dropped.outside) == (1, 4)


def test_a_computed_context_has_the_type_of_its_expression(
    start_engine: Start, tmp_path: Path
) -> None:
    times = [datetime(2026, 1, 1, hour, 30, tzinfo=UTC) for hour in (9, 10, 9)]
    table = pa.table({"user": ["u", "v", "v"], "item": [7, 7, 8], "at": times})
    parquet.write_table(table, tmp_path / "at.parquet")
    for source, wanted in ((str(tmp_path / "at.parquet"), int), (table, str)):
        types = {"at": "timestamptz"} if wanted is str else {}
        records = Records(source, "user", "item", {"hour": "hour(at)"}, types=types)
        with start_engine() as engine:
            read = kept_cells(engine, prepare(engine, records, None), 9, [2], key=KEY)
        found = counted(read.found[0])
        # The declared type is public, in a frame too; that of the items is not, and they are text.
        assert found == {(wanted(7), 9): 1, (wanted(7), 10): 1, (wanted(8), 9): 1}
        assert list(found) == [(wanted(7), 9), (wanted(7), 10), (wanted(8), 9)]


def test_texts_that_look_alike_stay_apart(start_engine: Start) -> None:
    """'7' and '07' are two texts; in a frame 7 and '7' are one value, whoever else has what."""
    items = ["7", "07", "7", "é", "é"]
    table = pa.table({"user": [1, 1, 2, 3, 3], "item": items, "side": ["1", "1", "1", "1", "1"]})
    records = Records(table, "user", "item", {"side": None})
    with start_engine() as engine:
        read = kept_cells(engine, prepare(engine, records, None), 9, [2], key=KEY)
    assert counted(read.found[0])[("7", "1")] == 2
    assert counted(read.found[0])[("07", "1")] == 1


# ---- at most l distinct cells of a user, in both tables


@pytest.fixture
def nothing_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cell passes."""

    def everything(_: UnknownCells, counts: Any, draws: Any) -> Discovered:
        return Discovered(np.arange(len(counts)), counts)

    monkeypatch.setattr(UnknownCells, "select", everything)


def released(start: Start, rows: list[RowRandom], limit: int) -> Released:
    records = Records(BARE.table(rows), "user", "item", {"context": None})
    request = make_request(
        records, None, epsilon=1, delta="1e-6", method=ct.Discover(["item", "context"], limit)
    )
    with start() as engine:
        reading = Reading(engine, prepare(engine, records, request.lists))
        with known_keys(KEY):  # one and the same key each time
            return run_steps(request, reading, SilentDraws())


def tallies(found: Released) -> list[Counter[Any]]:
    every = []
    for table in found.tables:
        columns = table.layout.columns(np.arange(table.layout.size)).values()
        cells = list(zip(*(column.tolist() for column in columns), strict=True))
        assert cells == sorted(cells)
        numbers = [tuple(map(int, cell)) for cell in cells]  # of text: no schema declares a type
        every.append(Counter(dict(zip(numbers, table.values.tolist(), strict=True))))
    return every


def distinct_cells(rows: list[RowRandom]) -> set[Any]:
    return {
        (user, item, context)
        for user, item, context, _ in rows
        if None not in (user, item, context)
    }


@pytest.mark.usefixtures("nothing_hidden")
def test_all_cells_of_all_users(start_engine: Start) -> None:
    rows = together(EVERYONE)
    items, edges = tallies(released(start_engine, rows, 1000))
    cells = distinct_cells(rows)
    assert edges == Counter((item, context) for _, item, context in cells)
    assert items == Counter((item,) for _, item in {(user, item) for user, item, _ in cells})


@pytest.mark.usefixtures("nothing_hidden")
def test_at_most_l_cells_of_each_user_in_both_tables(start_engine: Start) -> None:
    rows = together(EVERYONE)
    items, edges = tallies(released(start_engine, rows, 2))
    own = Counter(user for user, _, _ in distinct_cells(rows))
    assert edges.total() == sum(min(2, cells) for cells in own.values())
    assert len(own) <= items.total() <= edges.total()
    fewer_items, fewer_edges = tallies(released(start_engine, together(OTHERS), 2))
    assert farthest(edges, fewer_edges) == 2
    assert farthest(items, fewer_items) <= 2


def test_a_cell_of_one_user_is_as_rare_as_delta_says(tmp_path: Path) -> None:
    """Whole discoveries of many users who are alone in their cells, from one table."""
    users = 20_000
    rows = pa.table({
        "user": np.arange(users), "item": [f"i{n}" for n in range(users)], "side": ["s"] * users,
    })  # fmt: skip
    parquet.write_table(rows, tmp_path / "alone.parquet")
    records = ct.read(str(tmp_path / "alone.parquet"), user="user", item="item", contexts=["side"])
    for noise in ("laplace", "gaussian"):
        made = ct.release(
            records, None, epsilon=1, delta="0.1", method=ct.Discover(["item",
            "side"], 1), noise=noise,
            ledger=tmp_path / noise, new_dataset=True,
        )  # fmt: skip
        for table in made.metadata["tables"]:
            chance = float(table["delta"])
            tolerance = 6 * np.sqrt(chance * (1 - chance) / users)
            assert abs(table["cells"] / users - chance) < tolerance, (noise, table["name"])
