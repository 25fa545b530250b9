"""A copy of a release, and the site with one, has nothing that its folder merely leads to."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import crowdtally as ct
from crowdtally.format.withdrawal import FILE as NOTE
from crowdtally.format.withdrawal import write_note

Fresh = Callable[..., Path]
SECRET = "root:x:0:0: nobody else's business"
ANOTHER = "it is not the file that was released"
TIME = "2026-11-17T08:00:00+00:00"


def lead(path: Path, out: Path) -> None:
    """Let a name in a release lead to a file outside it."""
    out.write_text(SECRET, "utf-8")
    path.unlink(missing_ok=True)
    path.symlink_to(out)


def copies(folder: Path, tmp_path: Path) -> list[Callable[[], object]]:
    release = ct.load(folder)
    target = tmp_path / "copy"
    return [lambda: release.save(target), lambda: release.export(site=target)]


def nothing_was_written(tmp_path: Path, *there: str) -> None:
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted(there)


def test_a_package_that_leads_out_is_not_copied(fresh: Fresh, tmp_path: Path) -> None:
    folder = fresh("plain")
    lead(folder / "datapackage.json", tmp_path / "secret")
    for copy in copies(folder, tmp_path):
        with pytest.raises(ct.InputError, match=rf"datapackage\.json' is damaged: {ANOTHER}"):
            copy()
        nothing_was_written(tmp_path, "release", "secret")


def test_a_note_that_leads_out_is_not_copied(fresh: Fresh, tmp_path: Path) -> None:
    folder = fresh("plain")
    lead(folder / NOTE, tmp_path / "secret")
    for copy in copies(folder, tmp_path):
        with pytest.raises(ct.InputError, match="marked as withdrawn, and a copy would not say so"):
            copy()
        nothing_was_written(tmp_path, "release", "secret")


@pytest.mark.parametrize("name", ["release.json", "items.parquet"])
def test_a_file_that_leads_out_since_it_was_opened(name: str, fresh: Fresh, tmp_path: Path) -> None:
    folder = fresh("plain")
    release = ct.load(folder)
    lead(folder / name, tmp_path / "secret")
    with pytest.raises(ct.InputError, match=f"{name}' is damaged: {ANOTHER}"):
        release.save(tmp_path / "copy")
    nothing_was_written(tmp_path, "release", "secret")


def test_a_release_that_was_just_made_is_held_to_its_own_hash(
    made_once: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = shutil.copytree(made_once("plain"), tmp_path / "release")
    loaded = ct.load(folder)._published
    fresh = type(loaded)(folder, loaded.metadata)
    assert ct.load(fresh.save(tmp_path / "copy").folder).metadata == loaded.metadata
    lead(folder / "release.json", tmp_path / "secret")
    with pytest.raises(ct.InputError, match=rf"release\.json' is damaged: {ANOTHER}"):
        fresh.save(tmp_path / "another")
    nothing_was_written(tmp_path, "release", "copy", "secret")


def test_a_file_that_is_missing_is_named(fresh: Fresh, tmp_path: Path) -> None:
    folder = fresh("plain")
    release = ct.load(folder)
    (folder / "datapackage.json").unlink()
    with pytest.raises(ct.InputError, match=r"lacks its 'datapackage\.json', or it is not a reg"):
        release.save(tmp_path / "copy")
    nothing_was_written(tmp_path, "release")


def test_links_to_the_files_themselves_are_followed(fresh: Fresh, tmp_path: Path) -> None:
    store, folder = fresh("plain", name="store"), tmp_path / "release"
    write_note(store, ct.load(store).metadata["id"], TIME, "a slip")
    folder.mkdir()
    for file in store.iterdir():
        (folder / file.name).symlink_to(file)
    copy = tmp_path / "copy"
    ct.load(folder).save(copy)
    assert not [one for one in copy.iterdir() if one.is_symlink()]
    assert {one.name: one.read_bytes() for one in copy.iterdir()} == {
        one.name: one.read_bytes() for one in store.iterdir()
    }
