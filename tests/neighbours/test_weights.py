"""Rows that stand for persons: one person more or less counts as one, in every kind of source.

A weight is a whole number; in text it is digits, spaces around them aside. What is anything else
stands for nobody, and does not change what the other rows stand for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

import crowdtally as ct
from crowdtally.curator.counting.bounded import count_rows
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.prepare import prepare
from kit.kinds import Kind, Place, Type, marks
from kit.kinds_guessed import KINDS
from kit.neighbouring import engine_for

MOST = 2**33
Row = tuple[str, Any]
"""An item and a weight."""

_INTEGERS = (1, 2, 7, 2**31 + 1, MOST - 1, MOST, MOST + 1, 2**53 + 1, 2**63 - 1, 0, -3, None)
_DIGITS = ("1", "0007", " 7 ", str(MOST), "8589934593", " 9223372036854775807",
           " 9223372036854775808", "9" * 400, "0" * 30 + "5")  # fmt: skip
_NOBODY = ("", " ", "0", "000", "-1", "+1", "0.5", "1.5", "1.0", "0x10", "1e3", "1_000", "1 000",
           "²", "٣", "x", None)  # fmt: skip

WEIGHTS: dict[str, tuple[Type, tuple[Any, ...]]] = {
    "integers": ("integer", _INTEGERS),
    "integers, one text": ("mixed", (*_INTEGERS, "x")),
    "integers, a fraction": ("number", (1, 2, 7, MOST + 1, 0, -3, 0.5, 1.5, 2.0, -0.0, None)),
    "text": ("text", (*_DIGITS, *_NOBODY)),
}


def persons(kind: Kind, declared: Type, weight: Any) -> int:
    """How many persons a row with this weight stands for."""
    if isinstance(weight, str):
        digits = weight.strip(" ")
        numeric = digits.isascii() and digits.isdecimal() and _keeps_text(kind, declared)
        return min(int(digits), MOST) if numeric else 0
    if weight is None or (isinstance(weight, float) and not weight.is_integer()):
        return 0
    return max(0, min(int(weight), MOST))


def _keeps_text(kind: Kind, declared: Type) -> bool:
    """Whether a text in a column of this type stays one."""
    return not (declared == "mixed" and kind.stored and kind.mixed == "integer")


def counted(place: Place, kind: Kind, declared: Type, rows: list[Row]) -> dict[str, int]:
    """How many persons each item has."""
    source = kind.write(place, {"place": "text", "persons": declared}, rows)
    items = [item for item, _ in rows]
    records = ct.read(source, user_per_row=True, weight="persons", item="place")
    with engine_for(place, kind) as engine:
        domain = ct.Domain(list(dict.fromkeys(items)), item="place")
        found, _ = count_rows(engine, prepare(engine, records, domain)).found
    return dict(zip(dict.fromkeys(items), found.dense().tolist(), strict=True))


CASES = [
    pytest.param(kind, *weights, id=f"{name}: {title}", marks=marks(kind))
    for name, kind in KINDS.items()
    for title, weights in WEIGHTS.items()
    if weights[0] in kind.types
]


@pytest.mark.parametrize(("kind", "declared", "weights"), CASES)
def test_each_row_counts_its_persons(
    kind: Kind, declared: Type, weights: tuple[Any, ...], place: Place
) -> None:
    rows = [(f"row {number}", weight) for number, weight in enumerate(weights)]
    expected = {item: persons(kind, declared, weight) for item, weight in rows}
    assert counted(place, kind, declared, rows) == expected
    assert len({times for times in expected.values() if times}) > 3


ONE_MORE: dict[str, tuple[Type, Any, Any]] = {
    "a person": ("integer", 1, 2),
    "the last that counts": ("integer", MOST - 1, MOST),
    "one too many": ("integer", MOST, MOST + 1),
    "beyond 64 bits": ("text", " 9223372036854775807", " 9223372036854775808"),
    "a digit more": ("text", "9" * 18, "1" + "0" * 18),
    "beside a text": ("mixed", None, "x"),
    "beside a fraction": ("number", 1, 0.5),
}
"""A type, and two weights of a row that are one person apart."""

PAIRS = [
    pytest.param(kind, *weights, id=f"{name}: {title}", marks=marks(kind))
    for name, kind in KINDS.items()
    for title, weights in ONE_MORE.items()
    if weights[0] in kind.types
]


@pytest.mark.parametrize(("kind", "declared", "one", "other"), PAIRS)
def test_one_person_more(kind: Kind, declared: Type, one: Any, other: Any, place: Place) -> None:
    beside: list[Row] = [("b", 12), ("c", 3), ("d", None)]
    if declared == "text":
        beside = [("b", "12"), ("c", "3"), ("d", None)]
    before, after = (
        counted(place, kind, declared, [("a", weight), *beside]) for weight in (one, other)
    )
    assert abs(before.pop("a") - after.pop("a")) <= 1
    assert before == after == {"b": 12, "c": 3, "d": 0}


@pytest.mark.parametrize("wide", ["HUGEINT", "UBIGINT", "UHUGEINT"])
def test_a_missing_weight_beside_wide_ones(wide: str, tmp_path: Path) -> None:
    """A null stands for nobody, also where a number may be too long for 64 bits."""
    with duckdb.connect(str(tmp_path / "wide.duckdb")) as base:
        base.execute(f"CREATE TABLE rows (place VARCHAR, persons {wide})")
        base.execute("INSERT INTO rows VALUES ('a', 9223372036854775808), ('b', NULL), ('c', 7)")
    records = ct.read(
        f"{tmp_path / 'wide.duckdb'}#rows", user_per_row=True, weight="persons", item="place"
    )
    with DuckDBEngine() as engine:
        prepared = prepare(engine, records, ct.Domain(["a", "b", "c"], item="place"))
        items, _ = count_rows(engine, prepared).found
    assert items.dense().tolist() == [MOST, 0, 7]
