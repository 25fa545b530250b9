"""A damaged table is said to be one, once for each file that a process meets."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.check import check_release
from crowdtally.core import files as regular
from crowdtally.format import contents, load, tables
from kit.command import crowdtally
from kit.damaged import adopt, rehash
from kit.damages import ROWS, reshaped
from kit.releases import axes_of, counts_of, release_of

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
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files whose hash was computed, in order."""
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
