"""One more user, in every kind of source, changes no other user and nothing public."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import crowdtally as ct
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.counting.bounded import count
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.prepare import prepare
from kit import computed
from kit.computed import COMPUTED
from kit.crowds import Database, canonical, histories, records, users
from kit.kinds import KINDS, STORED, Kind, Place, Type, marks
from kit.newcomers import (
    AMOUNTS,
    CODES,
    CORE,
    INTEGERS,
    LARGE,
    LIMIT,
    MANY,
    MANY_MIXED,
    MIXED,
    MIXED_KEYS,
    NEWCOMERS,
    NUMBERS,
    SELDOM,
    TIMES,
    WORDS,
    Before,
    Newcomer,
    bounded,
    counted,
    declared,
    sampled,
    visits,
)
from kit.newcomers import DAYS as DAYS_EXACT
from kit.newcomers import DAYS as DAYS_PUBLIC
from kit.newcomers import ITEMS as ITEMS_EXACT
from kit.newcomers import ITEMS as ITEMS_PUBLIC
from kit.repeatable import memory

# ---- One user who joins or leaves a source of any kind changes nobody else's sample --------------
#
# And the bounded counts change by at most the bound. What is tried is what makes a program read a
# whole column in another way: a missing value, a text among integers, a new category.


QUICK, LONG = (*CORE, *computed.CORE), (*SELDOM, *computed.SELDOM)
CASES = [
    pytest.param(kind, newcomer, id=f"{name}: {title}", marks=marks(kind, title, QUICK, LONG))
    for name, kind in KINDS.items()
    for title, newcomer in {**NEWCOMERS, **COMPUTED}.items()
    if kind.holds(newcomer.base.schema)
]


@pytest.mark.parametrize(("kind", "newcomer"), CASES)
def test_a_newcomer_changes_nobody_elses_sample(
    kind: Kind, newcomer: Newcomer, place: Place, before: Before
) -> None:
    alone, together = before(kind, newcomer.base), sampled(place, kind, newcomer.joined, LIMIT)
    assert {user: together.get(user) for user in alone} == alone
    assert len(together.keys() - alone.keys()) <= 1
    assert len(alone) == len(histories(kind, newcomer.base)), "users were merged, or are missing"
    assert bounded(alone, together, newcomer.base, LIMIT)


BESIDE = [
    ("pandas", "parquet"),
    ("parquet", "pandas"),
    ("csv", "sqlite untyped"),
    ("polars", "postgresql"),
    ("sqlite", "csv"),
    ("duckdb view of a csv", "duckdb table"),
]
"""Records of one kind, and the tables that they are joined with of another."""


@pytest.mark.parametrize(("name", "beside"), BESIDE)
def test_tables_of_another_kind(name: str, beside: str, place: Place) -> None:
    newcomer, kind = NEWCOMERS["joins: a text among keys"], KINDS[name]
    alone, together = (
        sampled(place, kind, database, LIMIT, KINDS[beside])
        for database in (newcomer.base, newcomer.joined)
    )
    assert {user: together[user] for user in alone} == alone
    assert together.keys() - alone.keys() == {"guest"}
    assert len(alone) == len(histories(kind, newcomer.base))
    assert bounded(alone, together, newcomer.base, LIMIT)


# ---- Databases drawn from a pool of values that programs read in more than one way, for every
#      kind
#
# Whoever is taken out of such a database, the others keep their sample, and the bounded counts
# change by at most the bound.


LIMIT_DRAWN = 2
ITEMS = (0, 1, 2, 3)
DAYS = ("Mon", "Tue")
_WHOLE = [0, 1, 2, -7, 2**31, 2**53 - 1]
_LARGE = [2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1]
_TEXTS = ["guest", "1x", "", " ", "\u00e9", "e\u0301", "a\n,\"b'", "null"]

POOLS: dict[Type, list[Any]] = {
    "mixed": [*_WHOLE, *_LARGE, *_TEXTS],
    "number": [*_WHOLE, 0.0, -0.0, 2.0, 0.5, float("nan")],
}


@st.composite
def databases(draw: st.DrawFn, kind: Kind) -> Database:
    """Rows of a few users, with stored ids or without."""
    flavour: Type = draw(st.sampled_from([name for name in POOLS if name in kind.types]))
    value = st.sampled_from([*POOLS[flavour], None])
    users = st.sampled_from(draw(st.lists(value, min_size=1, max_size=4)))
    items = st.one_of(st.sampled_from(ITEMS), st.sampled_from(ITEMS), value)
    days = st.sampled_from([*DAYS, *DAYS, "Sun", None])
    rows = draw(st.lists(st.tuples(users, items, days, value), max_size=24))
    schema: dict[str, Type] = {"who": flavour, "place": flavour, "day": "text", "visit": flavour}
    stored = draw(st.sampled_from([None, "visit"]))
    return Database(schema, rows, ITEMS, {"day": DAYS}, record_id=stored)


def without(kind: Kind, database: Database, user: str) -> Database:
    """The database that lacks all rows of one user."""
    declared = database.schema["who"]
    rows = [row for row in database.rows if canonical(kind, declared, row[0]) != user]
    return Database(database.schema, rows, ITEMS, database.contexts, database.record_id)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=marks(kind)) for name, kind in KINDS.items()]
)
@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_nobody_changes_another_sample(name: str, place: Place, data: st.DataObject) -> None:
    kind = KINDS[name]
    database = data.draw(databases(kind))
    together = sampled(place, kind, database, LIMIT_DRAWN)
    leaving = data.draw(st.sampled_from([*sorted(together), "nobody"]))
    alone = sampled(place, kind, without(kind, database, leaving), LIMIT_DRAWN)
    assert alone == {user: kept for user, kept in together.items() if user != leaving}
    assert bounded(alone, together, database, LIMIT_DRAWN)


# ---- Every kind of source gives the counts that its rows mean, to the last record and user -------
#
# Nobody is cut here. Counting users shows what counting records cannot: ids that were merged.


_ODD = ["7", "07", " 7", "7 ", "7.0", "+7", "-7", "-0", "0", "1e0", "0x7", "٧", "seven", "", None]

DATABASES = {
    "integers": MANY.plus([*visits(None), (99, None, "Mon"), (99, 1, None), (99, 4, "Mon"),
                           (2**53 + 3, 2**53 + 3, "Mon")]),
    "integers beside text": MANY_MIXED.plus(
        [*visits("guest", LARGE), ("guest", "abc", "Mon"), *visits(None), (99, None, "Mon")]
    ),
    "integers and a list of text": replace(
        INTEGERS, items=[*map(str, ITEMS_EXACT), "01", "1.0", ""]
    ),
    "text and a list of integers": Database(
        {"who": "text", "place": "text"},
        [(user, odd) for odd in _ODD for user in ("ana", "bo")],
        items=[-7, 0, 1, 7],
    ),
    "floats": NUMBERS.plus(chain(*map(visits, (-0.0, 0, 1.0, 7.5, float("nan"))))),
    "items as floats": NUMBERS.plus([(1, x, "Mon") for x in (-0.0, 3.0, 0.5, float("inf"), None)]),
    "words": WORDS.plus([("", "", "Mon"), *visits(None), ("e\u0301", "cafe\u0301", "Mon")]),
    "empty text in the list": replace(
        WORDS.plus([("ana", "", "Mon"), ("", "bar", "Tue")]), items=("bar", "", "new\nline")
    ),
    "codes": CODES.plus([("ox", "elsewhere", "Mon"), *visits(None)]),
    "times": TIMES.plus(visits(None)),
    "amounts": AMOUNTS.plus(visits(None)),
    "joins": MIXED_KEYS.plus(
        [*visits("guest"), *visits(41), *visits(None), (1, None, "Mon"), (1, "abc", "Mon")],
        [("abc", "west"), ("7", "east")],
        [("guest", "old"), (44, "young"), (2**53, None)],
    ),
}  # fmt: skip

CORE_EXACT = ("integers beside text",)
SELDOM_EXACT = ("items as floats", "empty text in the list", "codes", "times", "amounts")

CASES_EXACT = [
    pytest.param(
        kind, database, id=f"{name}: {title}", marks=marks(kind, title, CORE_EXACT, SELDOM_EXACT)
    )
    for name, kind in KINDS.items()
    for title, database in DATABASES.items()
    if kind.holds(database.schema)
]


@pytest.mark.parametrize(("kind", "database"), CASES_EXACT)
def test_every_record_and_every_user_is_counted(
    kind: Kind, database: Database, place: Place
) -> None:
    own = histories(kind, database)
    by_records, by_users = counted(place, kind, database)
    assert by_records.edges == records(own)
    assert by_users.edges == users(own)
    assert by_users.items == users(own, width=1)
    assert sum(by_records.items.values()) == sum(by_records.edges.values()) > len(DAYS_EXACT)


# ---- Valid CSV is read whatever the byte positions: no row's length decides how another is
#      read
#
# Where several readers share a file, each guesses where a row begins; in quoted text of many
# lines they guess wrong, depending on how long the rows before are. Only a file beyond one
# reader's share shows it.


_BYTES = 70_000_000
_NOTE = 'first line\n""quoted"", and, commas\n\n7,x,more\n' * 200


def write(path: Path, shift: int) -> int:
    """Records whose notes look like other records; how many there are."""
    row = f'7,x,"{_NOTE}"\n'
    rows = _BYTES // len(row)
    with path.open("w", newline="") as file:
        file.write(f"who,place,note\n8,y,{'-' * shift}\n")
        file.writelines(row for _ in range(rows))
    return rows


@pytest.mark.parametrize("shift", [1, 4099])
def test_quoted_text_of_many_lines(shift: int, tmp_path: Path) -> None:
    rows = write(tmp_path / "long.csv", shift)
    records = ct.read(tmp_path / "long.csv", user="who", item="place")
    with DuckDBEngine() as engine:
        prepared = prepare(engine, records, ct.Domain(["x", "y"], item="place"))
        items, _ = count(engine, prepared, SRA(2 * rows), key=1, what="records").found
    assert items.dense().tolist() == [rows, 1]


# ---- What a release says in public does not depend on one user: whole releases of neighbours -----
#
# Everything of ``release.json`` but its id, time, charge and hashes of noisy counts is compared,
# with the types, the rows and the lists of the tables. The list comes from a CSV, as it does on
# the command line.


NEWCOMER = Newcomer(
    MIXED, [*visits("guest"), ("guest", "abc", "Mon"), ("guest", None, None), *visits(None)]
)
"""One row for each way to change how a column is read."""
LISTS = {"integer": [*map(str, ITEMS_PUBLIC)], "text": [*map(str, ITEMS_PUBLIC), "07"]}
_DECIDED_ANEW = ("id", "created", "charged", "sha256")


@pytest.fixture
def folder() -> Iterator[Path]:
    with TemporaryDirectory(dir=memory()) as name:
        yield Path(name)


def write_list(folder: Path, values: list[str]) -> ct.Axis:
    """A public list of items, in a file without types."""
    path = folder / "items.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["place"], *([value] for value in values)])
    return ct.read_list(path, "place")


def public_parts(made: ct.Release) -> dict[str, Any]:
    """What a reader sees of a release, without its counts."""
    stated, package = (
        json.loads((made.folder / name).read_text())
        for name in ("release.json", "datapackage.json")
    )
    known = stated["id"].encode()
    for part in (stated, *stated["tables"], stated["datapackage"], package):
        for name in _DECIDED_ANEW:
            part.pop(name, None)
    for part, name in [(package, "name"), (package["crowdtally"], "release"),
                       *((one, "hash") for one in package["resources"])]:  # fmt: skip
        del part[name]
    parts: dict[str, Any] = {"release.json": stated, "datapackage.json": package}
    for path in sorted(made.folder.glob("*.parquet")):
        table = parquet.read_table(path)
        lists = [name for name in table.column_names if name in ("place", "day")]
        notes = {name: text.replace(known, b"") for name, text in table.schema.metadata.items()}
        schema = table.schema.with_metadata(notes)
        parts[path.name] = (schema, table.num_rows, table.select(lists).to_pydict())
    return parts


def released(place: Place, kind: Kind, database: Database, folder: Path, **options: Any) -> Any:
    return ct.release(
        declared(place, kind, database), epsilon=50, dataset="visits",
        ledger=folder / "ledger.sqlite", output=folder / place.name(), **options, new_dataset=True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "listed"),
    [
        pytest.param(name, listed, marks=marks(kind, listed, ["integer"]))
        for name, kind in KINDS.items()
        for listed in LISTS
    ],
)
def test_nothing_public_changes(name: str, listed: str, place: Place, folder: Path) -> None:
    domain = ct.Domain(write_list(folder, LISTS[listed]), {"day": DAYS_PUBLIC})
    alone, together = (
        public_parts(
            released(place, KINDS[name], database, folder, domain=domain, method=ct.SRA(2))
        )
        for database in (NEWCOMER.base, NEWCOMER.joined)
    )
    assert alone == together
    items, edges = alone["items.parquet"], alone["edges.parquet"]
    wanted = pa.int64() if listed == "integer" else pa.string()
    assert items[0].field("place").type == edges[0].field("place").type == wanted
    assert (items[1], edges[1]) == (len(LISTS[listed]), len(LISTS[listed]) * len(DAYS_PUBLIC))


def discovered_type(place: Place, kind: Kind, database: Database, folder: Path) -> pa.DataType:
    """The type of items that no list names."""
    without = Database(database.schema, database.rows, ())
    made = released(place, kind, without, folder, method=ct.Discover("item", 6), delta="1e-6")
    table = parquet.read_table(made.folder / "items.parquet")
    assert table.num_rows == len(database.items), "all items have many users, and little noise"
    return table.schema.field("place").type


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=marks(kind)) for name, kind in KINDS.items()]
)
def test_discovered_items_have_a_type_that_nobody_changes(
    name: str, place: Place, folder: Path
) -> None:
    kind = KINDS[name]
    alone, together = (
        discovered_type(place, kind, database, folder)
        for database in (NEWCOMER.base, NEWCOMER.joined)
    )
    wanted = pa.int64() if kind.stored and kind.mixed == "integer" else pa.string()
    assert alone == together == wanted


@pytest.mark.parametrize("name", [name for name, kind in STORED.items() if kind.stored])
def test_discovered_items_have_their_declared_type(name: str, place: Place, folder: Path) -> None:
    wanted = pa.string() if name == "csv" else pa.int64()
    assert discovered_type(place, KINDS[name], INTEGERS, folder) == wanted
