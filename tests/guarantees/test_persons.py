"""One more person, in every kind of source: several ids, quantities, a row per person."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

import crowdtally as ct
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.counting.bounded import count_rows
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.prepare import prepare
from kit.kinds import KINDS, Kind, Place, Rows, Type, marks
from kit.newcomers import KEY, engine_for

# ---- Ids of several parts, tables of who is who and quantities, in every kind of source ----------
#
# One person who joins, with a text among numbers or a missing value, changes neither who the
# others are nor what is kept of them, nor how often their records count.


LIMIT, MOST = 2, 3
PLACES = ("bar", "cafe", "dam", "fen")
DOMAIN = ct.Domain(PLACES, item="place")
Kept = dict[str, Counter[int]]
"""For each person how many records of which place and quantity are kept."""


def sampled(place: Place, kind: Kind, records: ct.Records) -> Kept:
    times = MOST if records.quantity else 1
    with engine_for(place, kind) as engine:
        told = prepare(engine, records, DOMAIN).rows_told_by(times)
        cells = DOMAIN.size * times
        kept = SRA(LIMIT).keep(engine, told, cells=cells, key=KEY, what="records")
        found = engine.columns(kept.rows)
    result: Kept = defaultdict(Counter)
    for user, cell in zip(found["user"].tolist(), found["cell"].tolist(), strict=True):
        result[str(user)][cell] += 1
    return dict(result)


def check(alone: Kept, together: Kept, users: int, newcomers: int) -> None:
    assert len(alone) == users, "users were merged, or are missing"
    assert {user: together.get(user) for user in alone} == alone
    assert len(together) == users + newcomers
    assert all(cells.total() == LIMIT for cells in alone.values())


NEWCOMERS: dict[str, tuple[Type, Any]] = {
    "a text among integers": ("mixed", "guest"),
    "a float among integers": ("number", 1.5),
    "a large number": ("mixed", 2**53 + 1),
    "none": ("integer", None),
}
CASES = [
    pytest.param(kind, *newcomer, id=f"{name}: {title}", marks=marks(kind, title, ["none"]))
    for name, kind in KINDS.items()
    for title, newcomer in NEWCOMERS.items()
    if newcomer[0] in kind.types
]


def dropped(kind: Kind, flavour: Type, value: Any) -> bool:
    """Whether an id of this value is nobody's in a source of this kind."""
    if value is None:
        return True
    if isinstance(value, str):
        return kind.stored and kind.mixed == "integer" and flavour == "mixed"
    if isinstance(value, float) and not kind.stored and not kind.fractions:
        return True  # where no type is declared, a fraction is nobody's id
    return isinstance(value, int) and kind.whole_below is not None and value >= kind.whole_below


def _visits(ids: Sequence[tuple[Any, ...]]) -> Rows:
    return [(*one, place) for one in ids for place in PLACES]


@pytest.mark.parametrize(("kind", "flavour", "value"), CASES)
def test_one_more_combination(kind: Kind, flavour: Type, value: Any, place: Place) -> None:
    ids = [(shop, customer) for shop in (1, 2, 12) for customer in (1, 21, 3)]
    schema: dict[str, Type] = {"shop": flavour, "customer": flavour, "place": "text"}
    alone, together = (
        sampled(
            place, kind,
            ct.read(kind.write(place, schema, _visits(tried)), user=list(schema)[:2], item="place"),
        )
        for tried in (ids, [*ids, (1, value)])
    )  # fmt: skip
    check(alone, together, len(ids), 0 if dropped(kind, flavour, value) else 1)


@pytest.mark.parametrize(("kind", "flavour", "value"), CASES)
def test_one_more_person(kind: Kind, flavour: Type, value: Any, place: Place) -> None:
    """Six ids of four persons; the newcomer has two ids, one of them in the table."""
    same = [(1, 2), (3, 10), (4, 10), (3, 10)]

    def declared(more: Sequence[Any]) -> ct.Records:
        ids = [(number,) for number in (1, 2, 3, 4, 5, 6)] + [(one,) for one in more]
        who: dict[str, Type] = {"who": flavour, "place": "text"}
        table = kind.write(
            place, {"who": flavour, "person": flavour}, [*same, *((77, one) for one in more)]
        )
        records = kind.write(place, who, _visits([*ids, (77,)] if more else ids))
        return ct.read(records, user="who", item="place", same_person=(table, "person"))

    alone = sampled(place, kind, declared([]))
    # An id whose person cannot be read is nobody's; one without a person is a person of its own.
    lost = isinstance(value, int | float) and dropped(kind, flavour, value)
    check(alone, sampled(place, kind, declared([value])), 4, 0 if lost else 1)


DOUBLED = [
    pytest.param(kind, id=name, marks=marks(kind, name, []))
    for name, kind in KINDS.items()
    if "integer" in kind.types
]


@pytest.mark.parametrize("kind", DOUBLED)
def test_a_person_whose_entries_are_doubled(kind: Kind, place: Place) -> None:
    """In the table of persons and in a joined one: her records fall out, and nothing else."""
    ids, schema = [(number,) for number in (1, 2, 3, 4)], {"who": "integer", "place": "text"}

    def declared(mine: Sequence[int], joined: Sequence[int]) -> ct.Records:
        rows = [(1, 10), (2, 10), (3, 30), *((5, person) for person in mine)]
        table = kind.write(place, {"who": "integer", "person": "integer"}, rows)
        about = [*((number, 0) for number in (1, 2, 3, 4)), *((5, age) for age in joined)]
        ages = kind.write(place, {"who": "integer", "age": "integer"}, about)
        records = kind.write(place, schema, _visits([*ids, (5,)]))
        return ct.read(
            records, user="who", item="place", same_person=(table, "person"), joins=[(ages, "who")]
        )

    once = sampled(place, kind, declared([50], [0]))
    assert set(once) == {"10", "30", "4", "50"}
    del once["50"]
    for mine, joined in (([50, 51], [0]), ([50], [0, 1]), ([50, 51], [0, 1]), ([10, 30], [0])):
        assert sampled(place, kind, declared(mine, joined)) == once


@pytest.mark.parametrize(("kind", "flavour", "value"), CASES)
def test_one_more_quantity(kind: Kind, flavour: Type, value: Any, place: Place) -> None:
    schema: dict[str, Type] = {"who": "text", "n": flavour, "place": "text"}
    ids = [(f"u{user}", times) for user in range(6) for times in (1, 2, 3, 4)]
    alone, together = (
        sampled(
            place, kind,
            ct.read(
                kind.write(place, schema, _visits(tried)), user="who", item="place",
                quantity="n", max_quantity=MOST,
            ),
        )
        for tried in (ids, [*ids, ("new", value), ("new", 0)])
    )  # fmt: skip
    check(alone, together, 6, int(value == 2**53 + 1 and not dropped(kind, flavour, value)))
    assert {cell % MOST + 1 for cells in alone.values() for cell in cells} == {1, 2, 3}


# ---- Rows that stand for persons: one person more or less counts as one, in every kind of
#      source
#
# A weight is a whole number; in text it is digits, spaces around them aside. What is anything
# else stands for nobody, and does not change what the other rows stand for.


MOST_WEIGHTS = 2**33
Row = tuple[str, Any]
"""An item and a weight."""

_INTEGERS = (
    1,
    2,
    7,
    2**31 + 1,
    MOST_WEIGHTS - 1,
    MOST_WEIGHTS,
    MOST_WEIGHTS + 1,
    2**53 + 1,
    2**63 - 1,
    0,
    -3,
    None,
)
_DIGITS = ("1", "0007", " 7 ", str(MOST_WEIGHTS), "8589934593", " 9223372036854775807",
           " 9223372036854775808", "9" * 400, "0" * 30 + "5")  # fmt: skip
_NOBODY = ("", " ", "0", "000", "-1", "+1", "0.5", "1.5", "1.0", "0x10", "1e3", "1_000", "1 000",
           "²", "٣", "x", None)  # fmt: skip

WEIGHTS: dict[str, tuple[Type, tuple[Any, ...]]] = {
    "integers": ("integer", _INTEGERS),
    "integers, one text": ("mixed", (*_INTEGERS, "x")),
    "integers, a fraction": (
        "number",
        (1, 2, 7, MOST_WEIGHTS + 1, 0, -3, 0.5, 1.5, 2.0, -0.0, None),
    ),
    "text": ("text", (*_DIGITS, *_NOBODY)),
}


def persons(kind: Kind, declared: Type, weight: Any) -> int:
    """How many persons a row with this weight stands for."""
    if isinstance(weight, str):
        digits = weight.strip(" ")
        numeric = digits.isascii() and digits.isdecimal() and _keeps_text(kind, declared)
        return min(int(digits), MOST_WEIGHTS) if numeric else 0
    if weight is None or (isinstance(weight, float) and not weight.is_integer()):
        return 0
    return max(0, min(int(weight), MOST_WEIGHTS))


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


CASES_WEIGHTS = [
    pytest.param(kind, *weights, id=f"{name}: {title}", marks=marks(kind))
    for name, kind in KINDS.items()
    for title, weights in WEIGHTS.items()
    if weights[0] in kind.types
]


@pytest.mark.parametrize(("kind", "declared", "weights"), CASES_WEIGHTS)
def test_each_row_counts_its_persons(
    kind: Kind, declared: Type, weights: tuple[Any, ...], place: Place
) -> None:
    rows = [(f"row {number}", weight) for number, weight in enumerate(weights)]
    expected = {item: persons(kind, declared, weight) for item, weight in rows}
    assert counted(place, kind, declared, rows) == expected
    assert len({times for times in expected.values() if times}) > 3


ONE_MORE: dict[str, tuple[Type, Any, Any]] = {
    "a person": ("integer", 1, 2),
    "the last that counts": ("integer", MOST_WEIGHTS - 1, MOST_WEIGHTS),
    "one too many": ("integer", MOST_WEIGHTS, MOST_WEIGHTS + 1),
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
    assert items.dense().tolist() == [MOST_WEIGHTS, 0, 7]
