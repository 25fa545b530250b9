"""What is written beside the counts: hashes that can be checked, and nothing about the records."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import crowdtally as ct
from crowdtally.core.domain import Axis
from crowdtally.core.layout import Grid, grid
from crowdtally.format import NoisyTable, parse, staging
from crowdtally.format.manifest import promise
from crowdtally.laws.laplace import DiscreteLaplace
from kit.damaged import KINDS
from kit.made import made, visits


@pytest.mark.parametrize("kind", KINDS)
def test_rows_and_hashes_are_those_of_the_files(
    kind: str, made_once: Callable[[str], Path]
) -> None:
    folder = made_once(kind)
    raw = (folder / "release.json").read_bytes()
    facts = json.loads(raw)
    for table in facts["tables"]:
        content = (folder / table["file"]).read_bytes()
        assert table["sha256"] == hashlib.sha256(content).hexdigest()
        assert table["rows"] == pq.read_metadata(folder / table["file"]).num_rows
    zeros = raw.replace(facts["sha256"].encode(), b"0" * 64)
    assert facts["sha256"] == hashlib.sha256(zeros).hexdigest()
    assert ct.load(folder).metadata == facts


PUBLIC: dict[str, Any] = {
    "schema": "crowdtally-release/1", "id": "0" * 32, "created": "2026-11-17T08:00:00+00:00",
    "guarantee": {
        "words": "other words", "epsilon": "1/3", "delta": "0",
        "unit": {"kind": "user", "column": "u"},
    },
    "method": {"bounding": "it's \"own\" (not a rule of Crowdtally's)"},
    "records": {"user": ["user"]},
    "counted": "records", "domain": {"items": {"name": "item", "size": 5}, "contexts": []},
}  # fmt: skip
"""What is public of a release before its records are read."""


def written(folder: Path, *tables: NoisyTable) -> tuple[str, dict[str, Any]]:
    """The tables in a new folder; the hash that writing gave back, and the metadata."""
    metadata: dict[str, Any] = PUBLIC | {"tables": [table.description() for table in tables]}
    with staging(folder) as staged:
        digest = staged.write(metadata, tables)
        staged.commit()
    return digest, metadata


def table_of(values: np.ndarray, cells: np.ndarray | None = None, size: int = 0) -> NoisyTable:
    layout: Grid = grid([Axis.of("item", [f"i{n}" for n in range(size or len(values))])])
    return NoisyTable(
        "items", layout, values, DiscreteLaplace(Fraction(10)), {"publishing": "dense"}, cells=cells
    )


def test_writing_gives_the_hash_of_release_json_and_completes_the_metadata(tmp_path: Path) -> None:
    digest, metadata = written(tmp_path / "out", table_of(np.arange(5)))
    raw = (tmp_path / "out" / "release.json").read_bytes()
    assert digest == hashlib.sha256(raw).hexdigest()
    assert json.loads(raw) == metadata
    assert metadata["tables"][0]["rows"] == 5


def test_a_list_may_hold_what_looks_like_a_hash() -> None:
    zeros = {"values": ["0" * 64], "more": "0" * 64}
    raw = parse.sealed(zeros)
    assert json.loads(raw)["values"] == ["0" * 64]
    assert parse.holds(raw, json.loads(raw)["sha256"])
    assert not parse.holds(raw.replace(b'"more"', b'"mere"'), json.loads(raw)["sha256"])


def test_a_release_in_memory_has_the_metadata_of_its_file(tmp_path: Path) -> None:
    records = ct.read(visits({"a": 3}), user="user", item="item")
    options = {"epsilon": 1, "ledger": tmp_path / "ledger.sqlite", "dataset": "d"}
    release = ct.release(
        records, ct.Domain(["a", "b"]), output=tmp_path / "out", **options, new_dataset=True
    )
    assert release.metadata == json.loads((tmp_path / "out" / "release.json").read_text())


# ---- nothing that betrays records ---------------------------------------------------------------


def about(path: Path) -> dict[str, Any]:
    """What a Parquet file says beside its rows, and the sizes that follow from them."""
    found = pq.read_metadata(path)
    groups = [found.row_group(place) for place in range(found.num_row_groups)]
    return {
        "writer": found.created_by,
        "notes": found.metadata,
        "schema": found.schema.to_arrow_schema(),
        "rows": [group.num_rows for group in groups],
        "codecs": [group.column(0).compression for group in groups],
    }


def test_a_file_is_its_rows_and_nothing_more(tmp_path: Path) -> None:
    """The same rows make the same bytes; other counts change the counts alone."""
    few, many = np.zeros(300_000, dtype=np.int64), np.arange(300_000) ** 2 % 1_000_003
    for name, values in (("one", many), ("two", many), ("three", few)):
        written(tmp_path / name, table_of(values))
    one, two, three = (tmp_path / name / "items.parquet" for name in ("one", "two", "three"))
    assert one.read_bytes() == two.read_bytes()
    assert about(one) == about(three)
    assert about(one)["notes"] == {
        b"crowdtally.schema": b"crowdtally-release/1", b"crowdtally.release": b"0" * 32,
        b"crowdtally.guarantee": promise(PUBLIC).encode(), b"crowdtally.epsilon": b"1/3",
        b"crowdtally.delta": b"0", b"crowdtally.unit": b"user",
    }  # fmt: skip
    assert '"own"' in promise(PUBLIC), "quotation marks are written too"
    assert about(one)["writer"].startswith("DuckDB version ")
    assert about(one)["rows"] == [122_880, 122_880, 54_240], "a number of DuckDB's, not of ours"


def test_types_do_not_depend_on_which_cells_were_published(tmp_path: Path) -> None:
    none, cells = np.array([], dtype=np.int64), np.array([1, 3])
    written(tmp_path / "empty", table_of(none, none, size=5))
    written(tmp_path / "some", table_of(np.array([7, 8]), cells, size=5))
    schemas = [pq.read_schema(tmp_path / name / "items.parquet") for name in ("empty", "some")]
    assert schemas[0] == schemas[1]
    assert str(schemas[0].field("item").type) == "string"


def test_release_json_differs_in_what_is_drawn_and_timed_alone(tmp_path: Path) -> None:
    """Other records, the same request: ids, hashes, moments and the charge, and nothing else."""
    domain = ct.Domain(["a", "b", "c"])
    texts = []
    for name, counts in (("few", {"a": 1}), ("many", {"a": 400, "b": 77})):
        (tmp_path / name).mkdir()
        facts = dict(made(tmp_path / name, visits(counts), domain).metadata)
        for drawn in ("id", "created", "sha256", "charged", "datapackage"):
            facts.pop(drawn)
        facts["tables"][0].pop("sha256")
        texts.append(json.dumps(facts))
    assert texts[0] == texts[1]
