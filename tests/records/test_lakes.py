"""Delta and Iceberg tables, by their Arrow streams: what docs/sources.md shows, on real tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

import crowdtally as ct
from kit.every_source import DAYS, PLACES, counted, expected, table
from kit.loud import LOUD

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def delta(folder: Path) -> Any:
    from deltalake import DeltaTable, write_deltalake

    whole = table()
    write_deltalake(folder / "visits", whole.slice(0, 100))
    write_deltalake(folder / "visits", whole.slice(100), mode="append")
    return DeltaTable(folder / "visits")


def iceberg(folder: Path) -> Any:
    from pyiceberg.catalog.sql import SqlCatalog

    catalogue = SqlCatalog(
        "town", uri=f"sqlite:///{folder}/catalogue.db", warehouse=f"file://{folder}/lake"
    )
    catalogue.create_namespace("raw")
    made = catalogue.create_table("raw.visits", schema=table().schema)
    made.append(table().slice(0, 100))
    made.append(table().slice(100))
    catalogue.engine.dispose()
    return made


READERS = {
    "delta": lambda folder: delta(folder).to_pyarrow_dataset().scanner().to_reader(),
    "delta table": lambda folder: delta(folder).to_pyarrow_table(),
    "iceberg": lambda folder: iceberg(folder).scan().to_arrow_batch_reader(),
    "iceberg table": lambda folder: iceberg(folder).scan().to_arrow(),
}
# Their own calls, not ours.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.mark.parametrize("kind", READERS)
def test_the_counts_and_samples_are_those_from_parquet(kind: str, tmp_path: Path) -> None:
    pyarrow.parquet.write_table(table(), tmp_path / "visits.parquet")
    reader = READERS[kind](tmp_path)
    assert counted(reader)[:2] == expected()
    assert counted(reader, limit=2) == counted(tmp_path / "visits.parquet", limit=2)


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_release_is_that_from_parquet(kind: str, tmp_path: Path) -> None:
    """At an ε so large that its noise is nothing."""
    pyarrow.parquet.write_table(table(), tmp_path / "visits.parquet")
    sources = {"lake": READERS[kind](tmp_path), "parquet": tmp_path / "visits.parquet"}
    tops = {}
    for name, source in sources.items():
        made = ct.release(
            ct.read(source, user="who", item="place", contexts=["day"]),
            ct.Domain(PLACES, {"day": DAYS}, item="place"),
            epsilon=LOUD, method=ct.SRA(400), dataset="visits", output=tmp_path / f"from-{name}",
            ledger=tmp_path / "ledger.sqlite", new_dataset=True,
        )  # fmt: skip
        tops[name] = [(row.item, row.count) for row in made.top(len(PLACES))]
    assert tops["lake"] == tops["parquet"]
    assert sum(count for _, count in tops["lake"]) == sum(expected()[0])
