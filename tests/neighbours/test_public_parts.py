"""What a release says in public does not depend on one user: whole releases of neighbours.

Everything of ``release.json`` but its id, time, charge and hashes of noisy counts is compared, with
the types, the rows and the lists of the tables. The list comes from a CSV, as it does on the
command line.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import crowdtally as ct
from budget.ledger_kit import memory
from kit.crowds import Database
from kit.kinds import Kind, Place, marks
from kit.kinds_guessed import KINDS
from kit.kinds_stored import STORED
from kit.neighbouring import declared
from kit.newcomers import DAYS, INTEGERS, ITEMS, MIXED, Newcomer, visits

NEWCOMER = Newcomer(
    MIXED, [*visits("guest"), ("guest", "abc", "Mon"), ("guest", None, None), *visits(None)]
)
"""One row for each way to change how a column is read."""
LISTS = {"integer": [*map(str, ITEMS)], "text": [*map(str, ITEMS), "07"]}
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
    domain = ct.Domain(write_list(folder, LISTS[listed]), {"day": DAYS})
    alone, together = (
        public_parts(released(place, KINDS[name], database, folder, domain=domain, max_records=2))
        for database in (NEWCOMER.base, NEWCOMER.joined)
    )
    assert alone == together
    items, edges = alone["items.parquet"], alone["edges.parquet"]
    wanted = pa.int64() if listed == "integer" else pa.string()
    assert items[0].field("place").type == edges[0].field("place").type == wanted
    assert (items[1], edges[1]) == (len(LISTS[listed]), len(LISTS[listed]) * len(DAYS))


def discovered_type(place: Place, kind: Kind, database: Database, folder: Path) -> pa.DataType:
    """The type of items that no list names."""
    without = Database(database.schema, database.rows, ())
    made = released(place, kind, without, folder, discover_items=True, delta="1e-6", max_records=6)
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
