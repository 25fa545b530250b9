"""A site is a new folder, whole or not at all."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import crowdtally as ct
from crowdtally.errors import CrowdtallyError, UsageError
from crowdtally.reader.site.site import new_folder
from kit.stored import stored


@pytest.fixture(scope="module")
def release() -> ct.Release:
    return ct.load(stored("discovered-none"))


def test_nothing_is_replaced(release: ct.Release, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    before = sorted(tmp_path.iterdir())
    for name in ("folder", "file", "link"):
        with pytest.raises(UsageError, match="never replaced"):
            release.export(site=tmp_path / name)
    with pytest.raises(UsageError, match="is not a folder: create it first"):
        release.export(site=tmp_path / "no" / "site")
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "file").read_text() == "mine"


def test_somebody_was_quicker(tmp_path: Path) -> None:
    target = tmp_path / "site"
    folder = new_folder(target)
    (folder.__enter__() / "index.html").touch()
    target.mkdir()
    with pytest.raises(UsageError, match="a site never replaces anything"):
        folder.__exit__(None, None, None)
    assert list(tmp_path.rglob("*")) == [target], "an empty folder is not replaced either"


def test_what_fails_half_way_leaves_nothing(
    release: ct.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("crowdtally.reader.site.pages.downloads_page", fails)
    with pytest.raises(KeyboardInterrupt):
        release.export(site=tmp_path / "site")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("call", ["pathlib.Path.write_bytes", "crowdtally.core.files.flush"])
def test_a_full_disk_leaves_nothing(
    release: ct.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(call, full)
    with pytest.raises(CrowdtallyError, match=r"cannot be written: No space left on device\. Ch"):
        release.export(site=tmp_path / "site")
    assert not list(tmp_path.iterdir())


def test_it_is_flushed_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[tuple[str, bool]] = []
    target = tmp_path / "site"
    monkeypatch.setattr(
        "crowdtally.core.files.flush", lambda path: flushed.append((path.name, target.exists()))
    )
    with new_folder(target) as folder:
        (folder / "lists").mkdir()
        (folder / "lists" / "top.csv").touch()
        (folder / "index.html").touch()
    names = [name for name, _ in flushed]
    assert {"index.html", "top.csv", "lists"} <= set(names)
    assert [there for _, there in flushed] == [False] * (len(flushed) - 1) + [True]
    assert names[-1] == tmp_path.name


@pytest.mark.parametrize("missing", ["jinja2", "vl_convert"])
def test_what_is_not_installed_is_named(
    release: ct.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(UsageError, match=r"a site needs .* pip install 'crowdtally\[report\]'"):
        release.export(site=tmp_path / "site")
    assert not list(tmp_path.iterdir())
