"""The files of a release beside its release.json: each damage is found."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crowdtally as ct
from crowdtally.check import check_release
from crowdtally.core import files as regular
from crowdtally.core.domain import Axis
from crowdtally.core.layout import Grid, grid
from crowdtally.format import NoisyTable, contents, load, parse, staging, tables
from crowdtally.format.manifest import Manifest
from crowdtally.format.parse import shaped
from crowdtally.laws.laplace import DiscreteLaplace
from kit.command import crowdtally
from kit.damage import (
    KINDS,
    ROWS,
    Damage,
    adopt,
    answers,
    file_damages,
    json_damages,
    rehash,
    reshaped,
)
from kit.publishing import made, visits
from kit.releases import axes_of, counts_of, release_of

# ---- A damaged table is said to be one, once for each file that a process meets ------------------


Fresh = Callable[..., Path]
INPUT = 4

DISORDER = "its rows are not in the order of the lists, or one is there twice"
SAID = {
    "first row dropped": "it must have 15 rows, and has 14",
    "last row dropped": "it must have 15 rows, and has 14",
    "emptied": "it must have 15 rows, and has 0",
    "a row doubled": "it must have 15 rows, and has 16",
    "a row instead of another": DISORDER,
    "all doubled": "it must have 15 rows, and has 30",
    "backwards": DISORDER,
    "a count that is NaN": "its column 'count' must have the type BIGINT",
    "a count that is NULL": "its column 'count' has a row without a value (NULL)",
    "a name that is NULL": "its column 'item' has a row without a value (NULL)",
    "another count": "a count and its noise interval do not belong together ('low')",
    "counts as text": "its column 'count' must have the type BIGINT",
    "counts as 32-bit numbers": "its column 'count' must have the type BIGINT",
    "no column of counts": "its columns must be item, day, count, noise_std, low, high",
    "a column more": "its columns must be item, day, count, noise_std, low, high",
    "columns in another order": "its columns must be item, day, count, noise_std, low, high",
    "counts and lows swapped": "its columns must be item, day, count, noise_std, low, high",
    "a name that is not listed": "a row names no cell of the public lists",
}
"""What is said of a table of 15 rows whose hash is right."""


@pytest.mark.parametrize("words", ROWS)
def test_rows_that_are_damaged_and_hashed(words: str, fresh: Fresh) -> None:
    folder = fresh("plain")
    reshaped("edges.parquet", ROWS[words])(folder)
    rehash(folder, "edges")
    with pytest.raises(ct.InputError) as caught:
        check_release(load(folder))
    said = f"'{folder / 'edges.parquet'}' is damaged: {SAID[words]}. Copy the release again."
    assert str(caught.value) == said


@pytest.mark.parametrize("words", ["a count that is NULL", "emptied", "backwards"])
def test_every_command_says_so_and_exits_with_4(words: str, fresh: Fresh) -> None:
    folder = fresh("plain")
    reshaped("items.parquet", ROWS[words])(folder)
    for command in (["top", folder], ["sum", folder, "--json"], ["check", folder]):
        ended = crowdtally(*command)
        assert (ended.code, ended.out) == (INPUT, ""), str(ended)
        assert f"'{folder / 'items.parquet'}' is damaged: " in ended.err
        assert ended.err.endswith("Copy the release again.\n")
        assert "unforeseen" not in ended.err


def test_a_count_that_is_no_number_in_a_table_of_scaled_counts(fresh: Fresh) -> None:
    folder = fresh("scaled")
    reshaped("items.parquet", ROWS["a count that is NaN"])(folder)
    rehash(folder, "items")
    with pytest.raises(ct.InputError, match="a count is not a finite number"):
        check_release(load(folder))


def test_a_count_below_the_cut_was_not_published(fresh: Fresh) -> None:
    folder = fresh("filter")

    def lowered(table: pa.Table) -> pa.Table:
        columns = {name: table[name].to_numpy().copy() for name in ("count", "low", "high")}
        down = int(columns["count"][0])
        for place, name in enumerate(table.column_names):
            if name in columns:
                columns[name][0] -= down
                table = table.set_column(place, name, pa.array(columns[name]))
        return table

    reshaped("items.parquet", lowered)(folder)
    rehash(folder, "items")
    with pytest.raises(ct.InputError, match="too small to have been published"):
        check_release(load(folder))


@pytest.mark.parametrize("words", ["no column of counts", "counts as text", "emptied"])
def test_a_table_that_somebody_else_made_and_hashed(words: str, fresh: Fresh) -> None:
    """A right hash does not make a table right: columns, types and rows are looked at too."""
    folder = fresh("plain")
    reshaped("edges.parquet", ROWS[words])(folder)
    adopt(folder, "edges")
    with pytest.raises(ct.InputError, match="is damaged"):
        ct.load(folder)


def test_check_reads_every_row_of_a_table_that_somebody_else_made(fresh: Fresh) -> None:
    folder = fresh("plain")
    reshaped("edges.parquet", ROWS["backwards"])(folder)
    adopt(folder, "edges")
    ct.load(folder)  # the hash is right
    ended = crowdtally("check", folder)
    assert ended.code == INPUT
    assert "not in the order of the lists" in ended.err


def test_tables_swapped(fresh: Fresh) -> None:
    folder = fresh("plain")
    (folder / "items.parquet").rename(folder / "x")
    (folder / "edges.parquet").rename(folder / "items.parquet")
    (folder / "x").rename(folder / "edges.parquet")
    with pytest.raises(ct.InputError, match="it is not the file that was released"):
        ct.load(folder)


# ---- once for each file -------------------------------------------------------------------------


def aged(folder: Path) -> None:
    """Make the files look as if nobody had touched them for an hour."""
    for path in folder.iterdir():
        before = path.stat().st_mtime - 3600
        os.utime(path, (before, before))


@pytest.fixture
def read(made_once: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files whose hash was computed, in order."""
    made_once("plain")  # first: whoever makes a release computes the hashes of its files, too
    found: list[str] = []
    digest = regular.digest
    monkeypatch.setattr(regular, "digest", lambda path: (found.append(path.name), digest(path))[1])
    return found


def test_a_file_is_read_once_in_a_process(
    fresh: Fresh, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = fresh("plain")
    monkeypatch.setattr(contents, "_SETTLED", -1)  # as if it were older: its change time is now
    for _ in range(3):
        release = ct.load(folder)
        release.top(3)
        release.sum(day="Sun")
    assert sorted(read) == ["edges.parquet", "items.parquet"]
    aged(folder)
    release.top(3)
    assert read[2:] == ["items.parquet"], "a file whose time changed is read again"


def test_a_file_that_was_just_written_is_read_each_time(fresh: Fresh, read: list[str]) -> None:
    """Two changes within a tick of the file system's clock have one time."""
    folder = fresh("plain")
    release = ct.load(folder)
    release.top(3, raw=True)
    assert read == ["items.parquet", "edges.parquet", "items.parquet"]


def test_a_file_that_changed_after_it_was_loaded(fresh: Fresh) -> None:
    release = ct.load(fresh("plain"))
    before = release.top(3)
    path = release.folder / "items.parquet"
    whole = path.read_bytes()
    reshaped("items.parquet", ROWS["last row dropped"])(release.folder)
    for ask in (lambda: release.top(3), release.sum, lambda: release.table("items")):
        with pytest.raises(ct.InputError, match="is damaged"):
            ask()
    path.write_bytes(whole)
    assert release.top(3) == before


def test_a_release_opens_without_a_word(fresh: Fresh, caplog: pytest.LogCaptureFixture) -> None:
    folder = fresh("plain")
    ct.load(folder)
    assert caplog.messages == []
    assert crowdtally("top", folder).err == ""


def test_a_database_that_failed_is_opened_anew(tmp_path: Path) -> None:
    """After an internal error DuckDB answers nothing any more."""
    import duckdb

    axes = axes_of({"a": [1, 2]})
    release = release_of(tmp_path, axes, counts_of(axes, np.array([5, 0])), {}, "100000")
    before = tables._database(os.getpid(), True)
    said = tables._unreadable(tmp_path / "x", duckdb.InternalException("it broke"))
    assert isinstance(said, ct.InputError)
    assert tables._database(os.getpid(), True) is not before
    assert release.sum(a=1).value == 5


def test_a_folder_without_rights_or_tables(fresh: Fresh) -> None:
    folder = fresh("plain")
    (folder / "items.parquet").unlink()
    with pytest.raises(ct.InputError, match=r"lacks its table 'items\.parquet': copy the whole"):
        ct.load(folder)
    (folder / "items.parquet").mkdir()
    with pytest.raises(ct.InputError, match=r"lacks its table 'items\.parquet'"):
        ct.load(folder)
    (folder / "release.json").unlink()
    (folder / "release.json").mkdir()
    with pytest.raises(ct.InputError, match=r"release\.json' cannot be read"):
        ct.load(folder)


# ---- What is written beside the counts: hashes that can be checked, and nothing about the
#      records


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
        "unit": {"kind": "user", "column": "u"}, "neighbours": "",
    },
    "records": {
        "user": ["user"], "same_person": False, "item": "item", "item_expression": None,
        "contexts": {}, "where": None, "timezone": "UTC",
    },
    "counted": "records",
    "method": {
        "bounding": "it's \"own\" (not a rule of Crowdtally's)", "bounds": {}, "chosen_by": None,
        "largest_candidate": None, "popularity_records": None, "cap": None, "record_id": None,
    },
    "split": {},
    "domain": {
        "items": {"name": "item", "kind": "text", "size": 5, "values": [*"abcde"]}, "contexts": [],
    },
    "charged": {
        "entry": "1", "dataset": None, "epsilon": "1/3", "delta": "0", "spent_before": "0",
        "spent_after": "1/3", "limit": None,
    },
    "versions": {}, "datapackage": {"sha256": parse.ZEROS}, "sha256": parse.ZEROS,
}  # fmt: skip
"""What is public of a release before its records are read."""


def manifest_of(*tables: NoisyTable) -> Manifest:
    entries = [one.description() | {"rows": 0, "sha256": parse.ZEROS} for one in tables]
    return shaped(PUBLIC | {"tables": entries}, Manifest, ct.InputError)


def written(folder: Path, *tables: NoisyTable) -> tuple[str, dict[str, Any]]:
    """The tables in a new folder; the hash that writing gave back, and the metadata."""
    manifest = manifest_of(*tables)
    with staging(folder) as staged:
        metadata, digest = staged.write(manifest, tables)
        staged.commit()
    return digest, metadata


FACTS = {"epsilon": "1/3", "sensitivity": 1, "publishing": "dense"}


def table_of(values: np.ndarray, cells: np.ndarray | None = None, size: int = 0) -> NoisyTable:
    layout: Grid = grid([Axis.of("item", [f"i{n}" for n in range(size or len(values))])])
    return NoisyTable("items", layout, values, DiscreteLaplace(Fraction(10)), FACTS, cells=cells)


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
    promise = manifest_of(table_of(np.arange(5))).promise
    assert about(one)["notes"] == {
        b"crowdtally.schema": b"crowdtally-release/1", b"crowdtally.release": b"0" * 32,
        b"crowdtally.guarantee": promise.encode(), b"crowdtally.epsilon": b"1/3",
        b"crowdtally.delta": b"0", b"crowdtally.unit": b"user",
    }  # fmt: skip
    assert '"own"' in promise, "quotation marks are written too"
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


# ---- Whatever happens to a folder: the same answers as before, or one clear InputError -----------
#
# Each kind of release is damaged in many ways, drawn from a fixed seed.


FEW, MANY = (4, 6), (8, 12)
"""Bytes of each table, and fields of ``release.json``, that are damaged."""
SIZES = [pytest.param(FEW, id="few"), pytest.param(MANY, id="many", marks=pytest.mark.long)]
LEAST = {FEW: 350, MANY: 500}
"""Damages over all kinds."""


def damages(folder: Path, kind: str, size: tuple[int, int]) -> dict[str, Damage]:
    random, (flips, fields) = Random(kind), size
    found = file_damages(folder, random, flips)
    return found | json_damages(folder, random, fields)


def outcome(folder: Path, whole: list[str]) -> str | None:
    """None where damage was seen or did not matter; else what happened."""
    try:
        found = answers(folder)
    except ct.InputError as error:
        clear = str(folder) in str(error) and str(error).endswith(".")
        return None if clear else f"unclear: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None if found == whole else "other answers"


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_seen_or_does_not_matter(
    kind: str,
    size: tuple[int, int],
    made_once: Callable[[str], Path],
    expected: Callable[[str], list[str]],
    tmp_path: Path,
) -> None:
    whole, folder, wrong = made_once(kind), tmp_path / "damaged", {}
    assert answers(whole) == expected(kind)
    for words, damage in damages(whole, kind, size).items():
        shutil.copytree(whole, folder)
        damage(folder)
        happened = outcome(folder, expected(kind))
        if happened is not None:
            wrong[words] = happened
        shutil.rmtree(folder)
    assert not wrong, f"{len(wrong)} damages: {json.dumps(wrong, indent=1)[:5000]}"


@pytest.mark.parametrize("size", [FEW, MANY], ids=["few", "many"])
def test_the_damages_are_many(size: tuple[int, int], made_once: Callable[[str], Path]) -> None:
    found = (damages(made_once(kind), kind, size) for kind in KINDS)
    assert sum(map(len, found)) > LEAST[size]


@pytest.mark.parametrize(
    ("kind", "other"),
    [("plain", "hand-picked"), ("pairs", "long list"), ("filter", "threshold"), ("haar", "dyadic")],
)
def test_a_table_of_another_release(
    kind: str, other: str, made_once: Callable[[str], Path], fresh: Callable[..., Path]
) -> None:
    folder = fresh(kind)
    shutil.copyfile(made_once(other) / "items.parquet", folder / "items.parquet")
    with pytest.raises(ct.InputError, match=r"items\.parquet' is damaged"):
        ct.load(folder)
