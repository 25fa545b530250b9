"""A release is written to its folder whole, or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from msgspec.structs import replace

from crowdtally.core import files
from crowdtally.errors import CrowdtallyError, UsageError
from crowdtally.format import datapackage
from crowdtally.format import tables as parquet
from crowdtally.format.manifest import Hashed, Manifest, written
from crowdtally.format.parse import sealed
from crowdtally.format.tables import NoisyTable

_LEAST_ROOM = 1 << 18


class Staged:
    """A folder under a temporary name that becomes the release in one step, or not at all."""

    def __init__(self, path: Path, target: Path) -> None:
        self.path = path
        self.in_place = False
        """Whether it has its final name."""
        self.awaited = False
        """Whether it is whole and paid for, and the same request, made again, gives it its name."""
        self._target = target
        self._mode = path.stat().st_mode & 0o777
        _permit(path, 0o700)  # what is not paid for yet is nobody else's to read

    @classmethod
    def left_whole(cls, path: Path, target: Path) -> Staged:
        """A folder that an earlier run wrote whole, and did not come to rename."""
        try:
            staged = cls(path, target)
            staged._mode = _usual_mode(path)
        except OSError as error:
            raise unwritable(target, error) from error
        return staged

    def write(self, manifest: Manifest, tables: Sequence[NoisyTable]) -> tuple[dict[str, Any], str]:
        """Write tables and metadata under the temporary name and flush them.

        Args:
            manifest: ``release.json``, but for what only the written files tell: rows and hash of
                each table, the hash of ``datapackage.json``, and its own.
            tables: the tables that it is about, in the same order.

        Returns:
            ``release.json``, and the SHA-256 of its bytes, for the ledger.
        """
        try:
            blocks = {table.name: table.blocks() for table in tables}
            columns = parquet.write(self.path, blocks, parquet.notes(manifest))
            entries = [
                replace(entry, rows=len(table.values), sha256=files.digest(self.path / entry.file))
                for entry, table in zip(manifest.tables, tables, strict=True)
            ]
            manifest = replace(manifest, tables=tuple(entries))
            package = datapackage.encoded(manifest, columns)
            digest = Hashed(hashlib.sha256(package).hexdigest())
            metadata = written(replace(manifest, datapackage=digest))
            raw = sealed(metadata)
            for name, content in ((datapackage.FILE, package), ("release.json", raw)):
                (self.path / name).write_bytes(content)
                files.flush(self.path / name)
        except OSError as error:
            raise unwritable(self._target, error) from error
        return metadata, hashlib.sha256(raw).hexdigest()

    def ready(self) -> None:
        """Flush the folder, and refuse a target that is taken, while nothing depends on it yet."""
        try:
            files.flush(self.path)
        except OSError as error:
            raise unwritable(self._target, error) from error
        refuse_existing(self._target)

    def commit(self) -> None:
        """Give the folder its final name; refuse to replace anything."""
        self.ready()
        try:
            _permit(self.path, self._mode)
            os.rename(self.path, self._target)
        except OSError as error:
            raise unwritable(self._target, error) from error
        self.in_place = True
        try:
            files.flush(self._target.parent)
        except OSError as error:
            raise CrowdtallyError(
                f"the release is whole and in place, in {str(self._target)!r}, but the disk did "
                "not confirm it: a loss of power now may lose it. Check the disk, and copy it."
            ) from error

    def discard(self) -> bool:
        """Remove the folder unless it is in place; whether nothing of it is left."""
        shutil.rmtree(self.path, ignore_errors=True)
        return not os.path.lexists(self.path)


class staging:
    """Context manager: a :class:`Staged` folder beside ``target``.

    At the end it is removed, unless it was committed, or a later run is to do that.

    Where the target lies in a private temporary folder, it is staged beside that one. The folder
    around the staged one then outlives this program, so that one can tell later that it is gone.
    """

    def __init__(self, target: Path) -> None:
        check_target(target)
        self._target = target
        home = target.parent.parent if target.parent in _Kept.folders else target.parent
        self._path = home.resolve() / f".{target.name}.{secrets.token_hex(8)}.part"

    def __enter__(self) -> Staged:
        try:
            self._path.mkdir()
            room = self._path / "room"  # fail now, before a charge, where the disk is full already
            room.write_bytes(bytes(_LEAST_ROOM))
            files.flush(room)
            room.unlink()
            self._staged = Staged(self._path, self._target)
            return self._staged
        except BaseException as error:
            shutil.rmtree(self._path, ignore_errors=True)
            if isinstance(error, OSError):
                raise unwritable(self._target, error) from error
            raise

    def __exit__(self, *_: object) -> None:
        if self._staged.awaited:
            return  # its noise is not drawn twice
        shutil.rmtree(self._path, ignore_errors=True)


def _permit(path: Path, mode: int) -> None:
    with contextlib.suppress(OSError):  # some file systems have no such rights
        path.chmod(mode)


def _usual_mode(beside: Path) -> int:
    """The rights that a new folder gets there."""
    probe = beside.with_name(f".{secrets.token_hex(8)}.part")
    probe.mkdir()
    mode = probe.stat().st_mode & 0o777
    probe.rmdir()
    return mode


def check_target(target: Path) -> None:
    """Whether a release can be written there, as far as that shows beforehand."""
    refuse_existing(target)
    if not target.parent.is_dir():
        raise UsageError(f"{str(target.parent)!r} is not a folder: create it first.")
    try:
        os.path.realpath(target).encode()
    except UnicodeEncodeError:  # the tables could not be written, which shows after the charge
        raise UsageError(
            f"{str(target)!r} is, or lies in, a folder whose name is not text in UTF-8: choose "
            "another folder."
        ) from None


def refuse_existing(target: Path) -> None:
    """A release never replaces anything."""
    if target.exists() or target.is_symlink():
        raise UsageError(
            f"{str(target)!r} exists, and a release never replaces anything: choose another folder."
        )


def unwritable(target: Path, error: OSError) -> CrowdtallyError:
    """The error for a release that the disk does not take."""
    return CrowdtallyError(
        f"{str(target)!r} cannot be written: {error.strerror or 'unknown reason'}. "
        "Check the path, its permissions and the free space."
    )


class _Kept:
    """A private folder that goes, silently, with the last reference to this object."""

    folders: ClassVar[set[Path]] = set()
    """Those that exist."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="crowdtally-release-"))
        self.folders.add(self.path)
        weakref.finalize(self, self._remove, self.path)

    @classmethod
    def _remove(cls, path: Path) -> None:
        cls.folders.discard(path)
        shutil.rmtree(path, ignore_errors=True)


def temporary_target() -> tuple[Path, object]:
    """A place for a release that was not given a folder, and what keeps it alive."""
    folder = _Kept()
    return folder.path / "release", folder
