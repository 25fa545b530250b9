"""Users, persons with several ids and distinct items, on both engines."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import crowdtally as ct
from crowdtally.core.counts import Memberships
from crowdtally.core.domain import Domain
from crowdtally.core.layout import Layout, grid
from crowdtally.core.records import Records
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.counting import users as memberships
from crowdtally.curator.counting.bounded import count, count_rows
from crowdtally.curator.counting.users import distinct_users
from crowdtally.errors import InputError
from crowdtally.records.engine import Rows
from crowdtally.records.prepare import prepare
from kit import reference
from kit.crowds import DOMAIN, People, drawn, tallied
from kit.databases import Shape
from kit.spark import (
    BARE,
    CONTEXTS,
    DATABASES,
    EVERYONE,
    LISTED,
    OTHERS,
    STEP,
    Crowd,
    Start,
    Tally,
    farthest,
    tally,
    together,
)
from kit.spark import DOMAIN as DOMAIN_PERSONS

# ---- Whose a record is where an id has several parts, or a person several ids: on every engine


KEY, EVERYTHING, LIMIT = 2**61 + 7, 10_000, 2
# Parts that are told apart by where one ends and the other begins; and missing ones.
_ALIKE = [
    ("a", "bc"), ("ab", "c"), ("abc", ""), ("", "abc"), ("1:a", "b"), ("1", ":ab"), ("1:a1", "b"),
    ("a1", ":b"), ("a", "b"), ("b", "a"), ("é", "e\u0301"), ("null", "b"), ("7", "07"),
    (None, "b"), ("a", None), (None, None),
]  # fmt: skip
COMPOUND = People(drawn(1, 900, _ALIKE))

_IDS = [("u1",), ("u2",), ("u3",), ("u4",), ("p1",), ("u5",), ("7",), (None,)]
_SAME: list[tuple[tuple[Any, ...], Any]] = [
    (("u1",), "p1"), (("u2",), "p1"), (("u2",), "p1"), (("u3",), "u4"), (("u5",), None),
    ((None,), "p1"), (("elsewhere",), "p2"), (("elsewhere",), "p2"), (("7",), "p2"),
    (("p2",), None),
]  # fmt: skip
PERSONS = People(drawn(2, 900, _IDS), ("user",), same=_SAME)
_NUMBERS = {"user": pa.int64()}
NUMBERED = People(
    drawn(3, 900, [(7,), (8,), (9,), (-1,), (None,)]), ("user",), _NUMBERS,
    [(("7",), "8"), (("9",), "12"), (("07",), "-1"), (("x",), "8")],
)  # fmt: skip
BOTH = People(
    drawn(4, 900, [("n", 1), ("n", 2), ("s", 1), ("s", 2), (None, 1)]),
    kinds={"customer": pa.int32()},
    same=[(("n", "1"), "ana"), (("s", "2"), "ana"), (("s", None), "bo"), (("n", "2"), None),
          (("s", "1"), None)],
)  # fmt: skip
CASES = {"compound": COMPOUND, "persons": PERSONS, "numbered": NUMBERED, "both": BOTH}

Kept = dict[str, Counter[int]]


def kept(start: Start, people: People, limit: int) -> Kept:
    """What is kept of each user, by the text that the engine has for the user."""
    with start() as engine:
        rows = prepare(engine, people.records(), DOMAIN)
        found = engine.columns(
            SRA(limit).keep(engine, rows.rows, cells=DOMAIN.size, key=KEY, what="records").rows
        )
    result: Kept = defaultdict(Counter)
    for user, cell in zip(found["user"].tolist(), found["cell"].tolist(), strict=True):
        result[user][cell] += 1
    return dict(result)


def plain(people: People) -> dict[str, Counter[int]]:
    own = people.histories()
    return {
        person: Counter({cell: n for (cell, _), n in records.items()})
        for person, records in own.items()
    }


def as_sets(kept: Kept) -> Counter[frozenset[tuple[int, int]]]:
    """The histories without the names, which each engine may spell as it likes."""
    return Counter(frozenset(cells.items()) for cells in kept.values())


@pytest.mark.quick_on_spark("numbered", "both")
@pytest.mark.parametrize("name", CASES)
def test_each_record_is_its_persons(name: str, start_engine: Start) -> None:
    people = CASES[name]
    assert as_sets(kept(start_engine, people, EVERYTHING)) == as_sets(plain(people))


@pytest.mark.quick_on_spark("both")
@pytest.mark.parametrize("name", CASES)
def test_a_person_is_cut_once_and_changes_nobody_else(name: str, start_engine: Start) -> None:
    people = CASES[name]
    own, everyone = plain(people), kept(start_engine, people, LIMIT)
    assert {user: cells.total() for user, cells in everyone.items()}.keys() == everyone.keys()
    assert len(everyone) == len(own)
    assert all(cells.total() == LIMIT for cells in everyone.values())
    for person in list(own)[:2]:
        others = kept(start_engine, people.without(person), LIMIT)
        assert len(others) == len(everyone) - 1
        assert all(everyone[user] == cells for user, cells in others.items())


@pytest.mark.quick_on_spark("both")
@pytest.mark.parametrize("name", CASES)
def test_counts_of_records_and_of_persons(name: str, start_engine: Start) -> None:
    people, own = CASES[name], plain(CASES[name])
    with start_engine() as engine:
        prepared = prepare(engine, people.records(), DOMAIN)
        _, records = count(engine, prepared, SRA(EVERYTHING), key=1, what="records").found
        read = count(engine, prepared, SRA(EVERYTHING), key=1, what="users")
    cells = range(DOMAIN.size)
    assert records.dense().tolist() == [tallied(people.histories())[cell] for cell in cells]
    with_it = [sum(cell in has for has in own.values()) for cell in cells]
    assert read.found[1].dense().tolist() == with_it
    nobody = sum(people.person(visit[0]) is None for visit in people.visits)
    assert (read.dropped.rows, read.dropped.without_user) == (len(people.visits), nobody)
    assert nobody > 0


def test_an_id_with_two_persons_is_nobodys_and_refuses_nothing(start_engine: Start) -> None:
    """One person's entry more: her own records fall out, everybody else's stay theirs.

    Under her own id, or under one of the two, the records of her other ids would be another's.
    """
    alone = kept(start_engine, PERSONS, EVERYTHING)
    doubled = People(PERSONS.visits, ("user",), same=[*_SAME, (("7",), "Zaphod"), (("u4",), "u4")])
    together = kept(start_engine, doubled, EVERYTHING)
    assert "p2" in alone  # the person of the id 7, and of no other id that has records
    assert {who: cells for who, cells in alone.items() if who != "p2"} == together
    with start_engine() as engine:
        prepared = prepare(engine, doubled.records(), DOMAIN)
        dropped = count(engine, prepared, SRA(EVERYTHING), key=1, what="records").dropped
    assert dropped.without_user == sum(doubled.person(one) is None for one, *_ in doubled.visits)


def test_an_id_whose_person_cannot_be_read_is_nobodys(start_engine: Start) -> None:
    """In a frame 1.5 names nobody: the id would be another person's, without a word."""
    records = pa.table({"u": ["1", "2", "3"], "item": [1, 1, 1]})
    same = pa.table({"u": ["1", "2", "2"], "person": ["7", "1.5", "7"]}).to_pandas()
    declared = ct.read(records, user="u", item="item", same_person=same)
    with start_engine() as engine:
        found = engine.columns(prepare(engine, declared, ct.Domain([1], item="item")).rows)
    assert Counter(map(str, found["user"].tolist())) == Counter(["7", "None", "3"])


def test_an_id_that_cannot_be_read_is_refused(start_engine: Start) -> None:
    """Nobody knows which id it is: its records could not be left out."""
    records = pa.table({"u": ["1.5", "2"], "item": [1, 1]})
    same = pa.table({"u": ["1.5", "2"], "person": ["a", "a"]})
    declared = ct.read(records, user="u", item="item", same_person=same)
    with start_engine() as engine, pytest.raises(InputError, match="names nobody") as raised:
        prepare(engine, declared, ct.Domain([1], item="item"))
    assert "1.5" not in str(raised.value)


def test_a_declared_type_hides_no_id_that_a_frame_may_have_lost(
    tmp_path: Path, start_engine: Start
) -> None:
    """A number of 2^53 and beyond has no text in a frame of pandas, and is there in the records."""
    large = 2**60 + 1
    path = tmp_path / "records.parquet"
    pyarrow.parquet.write_table(pa.table({"u": [large, 5], "item": [1, 1]}), path)
    same = pa.table({"u": [large, 5], "person": ["p", "p"]}).to_pandas()
    for types in ({}, {"u": "int64"}, {"u": "text"}):
        declared = ct.read(path, user="u", item="item", same_person=same, types=types)
        with start_engine() as engine, pytest.raises(InputError, match="too large to be exact"):
            prepare(engine, declared, ct.Domain([1], item="item"))
    fits = pa.table({"u": ["5", "1.5"], "person": ["p", "p"]}).to_pandas()
    declared = ct.read(path, user="u", item="item", same_person=fits, types={"u": "int64"})
    with start_engine() as engine:  # nobody's id is 1.5, also among the records
        found = engine.columns(prepare(engine, declared, ct.Domain([1], item="item")).rows)
    assert sorted(found["user"].tolist()) == [str(large), "p"]


def test_a_declared_type_takes_no_person_away(start_engine: Start) -> None:
    """Of a person that does not fit it, each id would be a person of its own."""
    records = pa.table({"u": [1, 2], "p": ["3", "x"], "item": [1, 1]})
    same = pa.table({"u": [1, 2], "p": ["ana", "ana"]})
    declared = ct.read(records, user="u", item="item", same_person=same, types={"p": "int64"})
    with start_engine() as engine:
        found = engine.columns(prepare(engine, declared, ct.Domain([1], item="item")).rows)
    assert found["user"].tolist() == ["ana", "ana"]
    other = ct.read(records.drop(["p"]), user="u", item="item", same_person=same,
                    types={"p": "int64"})  # fmt: skip
    with start_engine() as engine, pytest.raises(InputError, match="there only ids have a type"):
        prepare(engine, other, ct.Domain([1], item="item"))


def test_a_table_of_nulls_alone_says_nothing(tmp_path: Path, start_engine: Start) -> None:
    pyarrow.parquet.write_table(
        pa.table({"u": pa.nulls(2), "p": pa.nulls(2)}), tmp_path / "p.parquet"
    )
    records = pa.table({"u": ["a", "b"], "item": [1, 1]})
    declared = ct.read(records, user="u", item="item", same_person=tmp_path / "p.parquet")
    with start_engine() as engine:
        found = engine.columns(prepare(engine, declared, ct.Domain([1], item="item")).rows)
    assert sorted(found["user"].tolist()) == ["a", "b"]


def test_the_table_may_be_a_file_and_have_more_columns(start_engine: Start, tmp_path: Path) -> None:
    table = PERSONS.same_table().append_column("since", [list(range(len(_SAME)))])
    pyarrow.csv.write_csv(table, tmp_path / "ids.csv")
    source = PERSONS.table()

    def found(same: object) -> int:
        records = ct.read(source, user="user", item="item", contexts=["context"], same_person=same)
        with start_engine() as engine:
            prepared = prepare(engine, records, DOMAIN)
            return len(set(engine.columns(prepared.rows.select("user"))["user"].tolist()) - {None})

    assert found((tmp_path / "ids.csv", "person")) == found(PERSONS.same_table())
    with pytest.raises(InputError, match=r"beside the id, 'person', 'since': say which"):
        found(tmp_path / "ids.csv")
    with pytest.raises(InputError, match=r"no column beside the id"):
        found(table.select(["user"]))


_NOT_IDS = {
    "DOUBLE": pa.array([1.5] * 3),
    "BLOB": pa.array([b"x"] * 3),
    "TIMESTAMP": pa.array([0] * 3, pa.timestamp("us")),
}


@pytest.mark.parametrize("kind", _NOT_IDS)
@pytest.mark.parametrize("user", [["shop", "customer"], "customer"], ids=["compound", "mapped"])
def test_what_cannot_be_a_part_of_an_id(
    kind: str, user: Any, start_engine: Start, tmp_path: Path
) -> None:
    """A time's text depends on the zone, and a fraction's on the engine."""
    columns = {"shop": ["a"] * 3, "customer": _NOT_IDS[kind], "item": [0] * 3, "context": [0] * 3}
    pyarrow.parquet.write_table(pa.table(columns), tmp_path / "visits.parquet")
    same = pa.table({"customer": ["1"], "person": ["p"]}) if user == "customer" else None
    records = ct.read(
        tmp_path / "visits.parquet", user=user, item="item", contexts=["context"], same_person=same
    )
    words = rf"'customer' \(the user\) has type {kind}.*cannot be part of an id"
    with start_engine() as engine, pytest.raises(InputError, match=words):
        prepare(engine, records, DOMAIN)


# ---- Rows that stand for persons, with and without weights: every engine adds up the same
#      persons


MOST_PERSONS = 2**33
_LISTED = frozenset(LISTED)
_WEIGHTS = [1, 1, 2, 7, 2**31 + 1, MOST_PERSONS, MOST_PERSONS + 1, 0, -3, None]
# One person fewer makes nobody of the first, and of the last a weight that is just taken as it is.
_FIRST = [1, 2, 3, MOST_PERSONS, MOST_PERSONS + 1]
Person = tuple[Any, Any, Any]
"""Item, context and weight of a row."""


def rows_of_persons() -> list[list[Person]]:
    """Databases whose first row stands for somebody who can be counted."""
    rng = np.random.default_rng(12)
    found: list[list[Person]] = []
    for number in range(DATABASES):
        places = rng.integers(0, [STEP, CONTEXTS + 1, len(_WEIGHTS)], (rng.integers(1, 6), 3))
        others = [
            (STEP * number + item, context, _WEIGHTS[weight])
            for item, context, weight in places.tolist()
        ]
        found.append([(STEP * number, 0, _FIRST[number % len(_FIRST)]), *others, (None, 0, 1)])
    return found


def one_person_fewer(parts: list[list[Person]]) -> list[list[Person]]:
    return [[(item, context, weight - 1), *rows] for (item, context, weight), *rows in parts]


def expected(parts: list[list[Person]], weighted: bool) -> Tally:
    found: Tally = Counter()
    for item, context, weight in (row for rows in parts for row in rows):
        persons = weight or 0 if weighted else 1
        if item in _LISTED and context in range(CONTEXTS):
            found[item, context] += max(0, min(persons, MOST_PERSONS))
    return +found


def counted(start: Start, parts: list[list[Person]], weighted: bool) -> Tally:
    """The cells' counts, after a look at the items'."""
    columns = zip(*(row for rows in parts for row in rows), strict=True)
    arrays = [pa.array(column, pa.int64()) for column in columns]
    source = pa.table(dict(zip(("item", "context", "weight"), arrays, strict=True)))
    records = Records(
        source, None, "item", {"context": None}, weight="weight" if weighted else None
    )
    with start() as engine:
        items, edges = count_rows(engine, prepare(engine, records, DOMAIN_PERSONS)).found
    found = tally(edges, grid(DOMAIN_PERSONS.axes))
    by_item: Tally = Counter()
    for (item, _), persons in found.items():
        by_item[item,] += persons
    assert tally(items, grid([DOMAIN_PERSONS.items])) == by_item
    assert (items.l1_bound, edges.l1_bound) == (1, 1)
    return found


def test_each_row_as_many_persons_as_its_weight(start_engine: Start) -> None:
    everyone = rows_of_persons()
    others = one_person_fewer(everyone)
    full, fewer = (counted(start_engine, side, True) for side in (everyone, others))
    assert full == expected(everyone, True)
    assert fewer == expected(others, True)
    assert farthest(full, fewer) == 1


def test_weights_in_text_are_cut_and_not_dropped(start_engine: Start) -> None:
    """Beyond 64 bits too: one person more never takes a row's other persons away."""
    weights = ["1", "0007", str(2**63 - 1), str(2**63), "9" * 400, "", "x", "-2", None]
    persons = [1, 7, MOST_PERSONS, MOST_PERSONS, MOST_PERSONS, 0, 0, 0, 0]
    items = list(range(len(weights)))
    source = pa.table({"item": items, "weight": pa.array(weights, pa.string())})
    with start_engine() as engine:
        records = Records(source, None, "item", weight="weight")
        counts, _ = count_rows(engine, prepare(engine, records, Domain(items, item="item"))).found
    assert counts.dense().tolist() == persons


def test_each_row_one_person(start_engine: Start) -> None:
    everyone = rows_of_persons()
    assert counted(start_engine, everyone, False) == expected(everyone, False)


# ---- Distinct users of every cell, on every engine: one user changes each by 0 or 1, all one
#      way


Crowds = Callable[[Shape], Crowd]
SIDES = [reference.histories(together(side)) for side in (EVERYONE, OTHERS)]


def named(counted: Memberships, layout: Layout) -> Tally:
    """A table by the names of its cells, zeros left out."""
    import numpy as np

    assert counted.size == layout.size
    columns = layout.columns(np.arange(layout.size))
    names = zip(*(column.tolist() for column in columns.values()), strict=True)
    pairs = zip(names, counted.values.tolist(), strict=True)
    return reference.Counter({name: users for name, users in pairs if users})


def changes(one: Mapping[Any, int], other: Mapping[Any, int]) -> dict[int, set[int]]:
    """For each database, by how much its cells change when its first user leaves."""
    found: dict[int, set[int]] = {}
    for cell in one.keys() | other.keys():
        found.setdefault(cell[0] // STEP, set()).add(one.get(cell, 0) - other.get(cell, 0))
    return found


def counted_distinct(crowd: Crowd) -> list[list[Memberships]]:
    sizes = [crowd.items.size, crowd.cells.size]
    sides = (crowd.everyone, crowd.others)
    return [distinct_users(crowd.engine, side, sizes).found for side in sides]


@pytest.fixture(scope="module")
def tables(crowds: Crowds) -> list[list[Tally]]:
    """Items and items in context, with everybody and without each database's first user."""
    crowd = crowds(BARE)
    layouts = (crowd.items, crowd.cells)
    return [
        [named(one, layout) for one, layout in zip(side, layouts, strict=True)]
        for side in counted_distinct(crowd)
    ]


def test_they_are_the_users_by_definition(tables: list[list[Tally]]) -> None:
    for (items, edges), own in zip(tables, SIDES, strict=True):
        assert edges == reference.total(reference.available(own, "users"))
        assert items == reference.total(reference.of_items(own, "users"))


@pytest.mark.parametrize("place", [0, 1], ids=["items", "items in context"])
def test_one_user_changes_every_cell_by_0_or_1(tables: list[list[Tally]], place: int) -> None:
    found = changes(tables[0][place], tables[1][place])
    assert all(change <= {0, 1} for change in found.values())
    assert any(1 in change for change in found.values())


def test_a_user_counted_twice_is_seen(crowds: Crowds, monkeypatch: pytest.MonkeyPatch) -> None:
    """Items summed over contexts: a user of one item in two contexts would count 2."""

    def summed(met: Rows, width: int) -> Rows:
        return met.select("user", cell=(met.cell // width).cast("int64"))

    monkeypatch.setattr(memberships, "_by", summed)
    crowd = crowds(BARE)
    (with_user, _), (without, _) = counted_distinct(crowd)
    found = changes(named(with_user, crowd.items), named(without, crowd.items))
    assert any(max(change) > 1 for change in found.values())
