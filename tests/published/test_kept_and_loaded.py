"""A release that is kept, copied and loaded again; and what is no release."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

import pytest

import crowdtally as ct
from kit.damaged import edit
from kit.hamlet import CELLS, PLACES, hamlet
from kit.made import visits


def test_a_release_without_a_folder_lives_as_long_as_the_object(tmp_path: Path) -> None:
    records = ct.read(visits(CELLS, "day"), user="user", item="item")
    release = ct.release(
        records,
        ct.Domain(PLACES),
        epsilon=1,
        ledger=tmp_path / "ledger.sqlite",
        dataset="d",
        new_dataset=True,
        max_records=10,
    )
    folder = release.folder
    saved = release.save(tmp_path / "kept")
    assert folder.exists()
    before = release.top(3)
    del release
    gc.collect()
    assert not folder.exists()
    assert not folder.parent.exists(), "the private folder goes too"
    assert saved.top(3) == before == ct.load(tmp_path / "kept").top(3)
    assert ct.load(tmp_path / "kept").metadata == saved.metadata


def test_a_folder_whose_name_could_be_a_pattern(tmp_path: Path) -> None:
    release = hamlet(tmp_path)
    (tmp_path / "r1's").mkdir()
    odd = release.save(tmp_path / "r[1]'s")
    assert str(odd.top(3)) == str(release.top(3))
    assert odd.table("items").fetchall() == release.table("items").fetchall()


def test_save_is_a_whole_copy_and_replaces_nothing(tmp_path: Path) -> None:
    release = hamlet(tmp_path)
    copy = release.save(tmp_path / "copy")
    for path in release.folder.iterdir():
        assert (copy.folder / path.name).read_bytes() == path.read_bytes()
    with pytest.raises(ct.UsageError, match="never replaces anything"):
        release.save(tmp_path / "copy")
    with pytest.raises(ct.UsageError, match="is not a folder"):
        release.save(tmp_path / "a" / "b")
    (release.folder / "items.parquet").unlink()
    with pytest.raises(ct.CrowdtallyError, match=r"lacks its 'items\.parquet'"):
        release.save(tmp_path / "half")
    assert not (tmp_path / "half").exists()
    assert not list(tmp_path.glob(".half*"))


def test_not_a_release(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a")
    for place, lack in (
        (tmp_path, r"it has no release\.json"),
        (tmp_path / "nowhere", "there is no such folder"),
        (tmp_path / "a.csv", "it is a file"),
    ):
        with pytest.raises(ct.InputError, match=f"is not a release: {lack}"):
            ct.load(place)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"{}", b'"x"', b"\xff\xfe", b'{"schema": 1}', b"[" * 10**5],
)
def test_damaged_metadata(tmp_path: Path, content: bytes) -> None:
    folder = hamlet(tmp_path).folder
    (folder / "release.json").write_bytes(content)
    with pytest.raises(ct.InputError, match=r"release\.json|layout"):
        ct.load(folder)


def test_another_layout(tmp_path: Path) -> None:
    folder = hamlet(tmp_path).folder
    facts = json.loads((folder / "release.json").read_text())
    (folder / "release.json").write_text(json.dumps(facts | {"schema": "crowdtally-release/2"}))
    with pytest.raises(ct.InputError, match=r"'crowdtally-release/2'.*the version that wrote it"):
        ct.load(folder)


def test_a_table_that_is_missing_or_elsewhere(tmp_path: Path) -> None:
    folder = hamlet(tmp_path).folder
    (folder / "edges.parquet").rename(tmp_path / "edges.parquet")
    with pytest.raises(ct.InputError, match=r"lacks its table 'edges\.parquet'"):
        ct.load(folder)
    edit(folder, lambda facts: facts["tables"][1].update(file="../edges.parquet"))
    with pytest.raises(ct.InputError, match=r"names its file '\.\./edges\.parquet'"):
        ct.load(folder)  # what a release names must not lead out of its folder


def _without(facts: Any, path: list[Any]) -> None:
    for step in path[:-1]:
        facts = facts[step]
    del facts[path[-1]]


@pytest.mark.parametrize(
    "path",
    [
        ["schema"], ["tables"], ["domain"], ["counted"], ["domain", "contexts"],
        ["domain", "contexts", 0, "values"], ["domain", "contexts", 0, "name"],
        ["tables", 1, "noise"], ["tables", 1, "noise", "scale"],
        ["tables", 1, "noise", "interval_level"], ["tables", 1, "name"], ["tables", 1, "file"],
    ],
    ids=lambda path: ".".join(map(str, path)),
)  # fmt: skip
def test_a_missing_field_is_said_in_words(tmp_path: Path, path: list[Any]) -> None:
    folder = hamlet(tmp_path).folder
    edit(folder, lambda facts: _without(facts, path))
    with pytest.raises(ct.InputError, match=f"it lacks '.*{path[-1]}'"):
        ct.load(folder)
