"""What is flushed survives a loss of power; where a folder cannot be opened, nothing fails."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

import crowdtally as ct
from crowdtally.core import files
from crowdtally.ledger import Ledger
from kit.draws import SilentDraws
from kit.publishing import made, visits


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that opens no folder, and flushes a file only where it may be written to."""
    writable: dict[int, bool] = {}

    def open_file(path: Path, flags: int) -> int:
        if Path(path).is_dir():
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        found = os.open(path, flags)
        writable[found] = bool(flags & os.O_RDWR)
        return found

    def fsync(descriptor: int) -> None:
        if not writable[descriptor]:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        os.fsync(descriptor)

    fake = SimpleNamespace(**vars(os) | {"open": open_file, "fsync": fsync})
    monkeypatch.setattr(files, "os", fake)  # other modules open folders by other means there
    monkeypatch.setattr(files, "WINDOWS", True)


@pytest.mark.usefixtures("windows")
def test_a_release_is_made_where_no_folder_can_be_opened(tmp_path: Path) -> None:
    release = made(tmp_path, visits({"zoo": 3}), ct.Domain(["zoo", "mill"]), draws=SilentDraws())
    assert release.top(1)[0].count == 3
    assert release.save(tmp_path / "copy").top(1)[0].count == 3
    (charge,) = Ledger.open(tmp_path / "ledger.sqlite", create=True).charges()
    assert charge.state == "published"


@pytest.mark.usefixtures("windows")
def test_without_the_guard_it_would_fail_after_the_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger.open(tmp_path / "ledger.sqlite", create=True)
    monkeypatch.setattr(files, "WINDOWS", False)
    with pytest.raises(ct.CrowdtallyError):
        made(tmp_path, visits({"zoo": 3}), ct.Domain(["zoo"]), draws=SilentDraws())
    assert not (tmp_path / "out").exists()
    assert [charge.state for charge in ledger.charges()] in ([], ["reserved"])


@pytest.mark.parametrize("system", ["windows", "another"])
def test_a_file_that_cannot_be_flushed_is_an_error_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    path = tmp_path / "table.parquet"
    path.write_bytes(b"rows")
    monkeypatch.setattr(files, "WINDOWS", system == "windows")
    files.flush(path)
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="Input/output"):
        files.flush(path)
    with pytest.raises(FileNotFoundError):
        files.flush(tmp_path / "nowhere")


def test_a_folder_that_cannot_be_flushed_is_an_error_where_folders_can_be_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "open", fail)
    with pytest.raises(PermissionError):
        files.flush(tmp_path)
    monkeypatch.setattr(files, "WINDOWS", True)
    files.flush(tmp_path)
    assert os.name != "nt" or files.WINDOWS


def test_the_descriptor_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[int] = []
    close = os.close
    monkeypatch.setattr(os, "close", lambda number: (closed.append(number), close(number)))
    files.flush(tmp_path)
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(5, "failed")))
    with pytest.raises(OSError, match="failed"):
        files.flush(tmp_path)
    assert len(closed) == 2
