"""Ids of several parts, tables of who is who and quantities, in every kind of source.

One person who joins, with a text among numbers or a missing value, changes neither who the others
are nor what is kept of them, nor how often their records count.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import pytest

import crowdtally as ct
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.records.prepare import prepare
from kit.kinds import Kind, Place, Rows, Type, marks
from kit.kinds_guessed import KINDS
from kit.neighbouring import KEY, engine_for

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
