"""Each first read says which rows fell out, from the same rows that it counts: on every engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from crowdtally.core.domain import Domain
from crowdtally.core.records import Records
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.bounding.scaling import DPSense
from crowdtally.curator.counting import users as row_reads
from crowdtally.curator.counting.bounded import Read, count, count_rows, count_scaled
from crowdtally.curator.counting.users import kept_cells
from crowdtally.records.engine import Dropped, countable
from crowdtally.records.prepare import prepare
from kit import reference
from kit.crowd import (
    BARE,
    CONTEXTS,
    EVERYONE,
    LISTED,
    RULES,
    STORED,
    Crowd,
    Start,
    farthest,
    tally,
    together,
)
from kit.histories import Row, Shape

Crowds = Callable[[Shape], Crowd]
KEY = 9
_LISTED = frozenset(LISTED)


def fallen_out(rows: list[Row]) -> Dropped:
    """By plain Python, from the rows themselves."""
    nobody = [row for row in rows if row[0] is None]
    outside = [
        row for row in rows
        if row[0] is not None and not (row[1] in _LISTED and row[2] in range(CONTEXTS))
    ]  # fmt: skip
    return Dropped(len(rows), len(nobody), len(outside))


EXPECTED = fallen_out(together(EVERYONE))

READS: dict[str, Callable[[Crowd], Read[Any]]] = {
    "records": lambda c: count(c.engine, c.everyone, SRA(2), key=KEY, what="records"),
    "users": lambda c: count(c.engine, c.everyone, SRA(2), key=KEY, what="users"),
    "more than a heap holds": lambda c: count(
        c.engine, c.everyone, SRA(200_000), key=KEY, what="records"
    ),
    "pairs": lambda c: count(
        c.engine, c.everyone, SRA(3), key=KEY, what="users", pairs=True
    ),
    "by hand": lambda c: count(c.engine, c.everyone, RULES["hpa"](2), key=KEY, what="records"),
    "scaled items": lambda c: count_scaled(
        c.engine, c.everyone, DPSense(2), len(LISTED), width=CONTEXTS
    ),
    "record sums": lambda c: row_reads.record_sums(c.engine, c.everyone, "records"),
    "cell sums": lambda c: row_reads.record_sums(c.engine, c.everyone, "users"),
    "scaled sums": lambda c: row_reads.scaled_sums(c.engine, c.everyone, 2, width=CONTEXTS),
    "row totals": lambda c: row_reads.row_totals(c.engine, c.everyone, 2, width=1),
}  # fmt: skip
CASES = [
    *((name, BARE) for name in READS),
    *((name, STORED) for name in ("records", "users", "record sums")),
]


@pytest.mark.quick_on_spark("records", "pairs", "scaled items", "cell sums", "row totals")
@pytest.mark.parametrize(
    ("name", "shape"), CASES, ids=[f"{name}{', ids' if shape.id else ''}" for name, shape in CASES]
)
def test_what_falls_out_of_each_read(name: str, shape: Shape, crowds: Crowds) -> None:
    assert EXPECTED.without_user
    assert EXPECTED.outside
    assert READS[name](crowds(shape)).dropped == EXPECTED


def test_everybody_has_a_row_sum_but_those_without_a_record(crowds: Crowds) -> None:
    """A user whose records all fell out has no row: one of sum 0 would be nobody's."""
    own = reference.histories(together(EVERYONE))
    for name in ("record sums", "cell sums", "scaled sums"):
        sums = READS[name](crowds(BARE)).found
        assert int(sums.users.sum()) == len(own)
        assert sums.sums.min() == 1


def test_parts_have_one_census_together(crowds: Crowds, monkeypatch: pytest.MonkeyPatch) -> None:
    crowd = crowds(BARE)
    whole = READS["records"](crowd)
    monkeypatch.setattr(crowd.engine, "parts", lambda: 3)
    parts = READS["records"](crowd)
    assert parts.dropped == whole.dropped == EXPECTED
    for one, other, layout in zip(
        whole.found, parts.found, (crowd.items, crowd.cells), strict=True
    ):
        assert farthest(tally(one, layout), tally(other, layout)) == 0


def test_rows_that_stand_for_nobody(start_engine: Start) -> None:
    weights, items = [3, 0, -1, None, 2, 5], ["a", "a", "a", "a", "x", None]
    source = pa.table({"item": items, "weight": pa.array(weights, pa.int64())})
    with start_engine() as engine:
        records = Records(source, None, "item", weight="weight")
        read = count_rows(engine, prepare(engine, records, Domain(["a", "b"], item="item")))
    assert read.found[0].dense().tolist() == [3, 0]
    assert read.dropped == Dropped(6, 0, 5)


def test_items_that_nobody_or_no_value_has(start_engine: Start) -> None:
    users = [1, 1, 1, 2, 2, None, 3, None]
    items = ["a", "a", "b", "b", None, "c", None, None]
    source = pa.table({"user": pa.array(users, pa.int64()), "item": items})
    with start_engine() as engine:
        prepared = prepare(engine, Records(source, "user", "item"), None)
        read = kept_cells(engine, prepared, 5, [1], key=KEY)
    (found,) = read.found
    (items,) = found.values
    assert dict(zip(items.tolist(), found.users.tolist(), strict=True)) == {"a": 1, "b": 2}
    assert read.dropped == Dropped(8, 2, 2)


def test_a_source_without_rows(start_engine: Start) -> None:
    source = pa.table({"user": pa.array([], pa.int64()), "item": pa.array([], pa.string())})
    with start_engine() as engine:
        records = Records(source, "user", "item")
        prepared = prepare(engine, records, Domain(["a"], item="item"))
        read = count(engine, prepared, SRA(2), key=KEY, what="records")
    assert read.dropped == Dropped(0, 0, 0)
    assert read.found[0].dense().tolist() == [0]


def test_rows_of_nobody_are_not_kept(start_engine: Start) -> None:
    """By the fast cut and by the window that defines it, wide cells and narrow ones."""
    users, cells = [1, None, None, 2, None], [0, 1, 2, None, 2]
    source = pa.table(
        {"user": pa.array(users, pa.int64()), "a": pa.array(cells, pa.int64()), "b": [0] * 5}
    )
    records = Records(source, "user", None, attributes=("a", "b"))
    for width in (1, 2**31):
        with start_engine() as engine:
            domain = Domain(attributes={"a": range(3), "b": [0]})
            prepared = prepare(engine, records, domain)
            for what in ("records", "users"):
                kept = SRA(9).keep(engine, prepared.rows, cells=3 * width, key=KEY, what=what)
                found = engine.columns(kept.rows)
                assert [str(user) for user in found["user"].tolist()] == ["1"]
                assert found["cell"].tolist() == [0]


@pytest.mark.parametrize("what", ["records", "users"])
def test_rows_that_fall_out_change_no_sample(what: Any, crowds: Crowds) -> None:
    """What a user has outside the domain decides nothing about what is kept inside."""
    crowd = crowds(BARE)
    inside = replace(crowd, everyone=replace(crowd.everyone, rows=countable(crowd.everyone.rows)))
    kept, _ = crowd.kept(SRA(2), KEY, what)
    assert kept == inside.kept(SRA(2), KEY, what)[0]
