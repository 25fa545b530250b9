"""Kept estimates: the same as computed ones, never trusted, never in the way."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import crowdtally as ct
from crowdtally.format import load
from crowdtally.reader.estimates import cache as store
from kit.stored import stored

LONG = stored("long-list")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(store, "LEAST", 1000)
    monkeypatch.setenv(store.VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def asked(folder: Path = LONG) -> str:
    return ct.load(folder).top(5).to_json()


def kept(cache: Path) -> Path:
    (file,) = cache.iterdir()
    return file


def test_what_is_kept_answers_as_what_is_computed(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = asked()
    assert kept(cache).stat().st_mode & 0o077 == 0
    with monkeypatch.context() as patched:
        patched.setattr("crowdtally.reader.estimates.estimator.estimate_items", _fails)
        assert asked() == first  # nothing is computed
        patched.setenv(store.VARIABLE, "")
        with pytest.raises(RuntimeError):
            asked()


def _fails(*_: object) -> None:
    raise RuntimeError("computed")


def test_files_that_cannot_be_believed_are_computed_anew(cache: Path) -> None:
    first = asked()
    file = kept(cache)
    whole = file.read_bytes()
    numbers = np.frombuffer(whole[32:], dtype="<f8").copy()

    def sealed(changed: np.ndarray) -> bytes:
        payload = changed.astype("<f8").tobytes()
        return hashlib.sha256(payload).digest() + payload

    nan, negative, odd = numbers.copy(), numbers.copy(), numbers.copy()
    nan[5], negative[5], odd[0] = np.nan, -1.0, 0.5
    for wrong in (
        b"", b"\x80\x04cos\nsystem\n", whole[:-8], whole + b"\0" * 8,
        whole[:72] + bytes([whole[72] ^ 1]) + whole[73:],
        sealed(nan), sealed(negative), sealed(odd),
    ):  # fmt: skip
        file.write_bytes(wrong)
        assert asked() == first
        assert file.read_bytes() == whole  # and kept again


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="no such links")
def test_what_others_may_have_written_is_not_read(cache: Path, tmp_path: Path) -> None:
    asked()
    file = kept(cache)
    cells = ct.load(LONG).metadata["tables"][0]["cells"]
    assert store._read(file, cells) is not None
    file.chmod(0o666)
    assert store._read(file, cells) is None
    file.chmod(0o600)
    shutil.move(file, tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert store._read(file, cells) is None
    file.unlink()
    os.mkfifo(file)
    assert store._read(file, cells) is None


def test_another_release_and_another_estimator_have_files_of_their_own(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = load(LONG)
    first = store._path(published)
    monkeypatch.setattr(store, "_estimator", lambda: "another")
    assert store._path(published) != first


def test_a_cache_that_cannot_be_written_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "LEAST", 1000)
    (tmp_path / "file").write_text("")
    for where in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/none")):
        monkeypatch.setenv(store.VARIABLE, str(where))
        assert asked()
    assert (tmp_path / "file").read_text() == ""


def test_nothing_is_kept_in_the_release_nor_where_it_is_switched_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "LEAST", 1000)
    monkeypatch.setenv(store.VARIABLE, "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    shutil.copytree(LONG, tmp_path / "release")
    before = sorted(path.name for path in (tmp_path / "release").iterdir())
    assert asked(tmp_path / "release")
    assert sorted(path.name for path in (tmp_path / "release").iterdir()) == before
    assert not (tmp_path / "home").exists()


def test_older_files_make_room(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing else in the folder does, whatever it is called."""
    cache.mkdir()
    newer, older, foreign = (cache / f"{name}.estimates" for name in ("a" * 64, "b" * 64, "mine"))
    for age, file in enumerate((newer, older, foreign)):
        file.write_bytes(b"0" * 1000)
        os.utime(file, (1_000_000 - age, 1_000_000 - age))
    size = 32 + 8 * (2 + 6 * 10_001)
    monkeypatch.setattr(store, "MOST_BYTES", size + 1500)
    asked()
    assert newer.exists()
    assert not older.exists()
    assert foreign.exists()
