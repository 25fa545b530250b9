"""Staged write, copy."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol

from crowdtally.core import files
from crowdtally.core import files as durable
from crowdtally.core import files as regular
from crowdtally.errors import CrowdtallyError, InputError, UsageError
from crowdtally.format import datapackage, parse
from crowdtally.format import tables as footer
from crowdtally.format import tables as parquet
from crowdtally.format.contents import check_table
from crowdtally.format.manifest import PublicDomain, TableFacts, damaged
from crowdtally.format.parse import sealed
from crowdtally.format.tables import NoisyTable
from crowdtally.format.withdrawal import FILE as NOTE
from crowdtally.format.withdrawal import note_to_copy

# A release is written to its folder whole, or not at all.

_LEAST_ROOM = 1 << 18


class Staged:
    """A folder under a temporary name that becomes the release in one step, or not at all."""

    def __init__(self, path: Path, target: Path) -> None:
        self.path = path
        """Where to write."""
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

    def write(self, metadata: dict[str, Any], tables: Sequence[NoisyTable]) -> str:
        """Write tables and metadata under the temporary name and flush them.

        Args:
            metadata: ``release.json``. It is completed with what only the written files tell: rows
                and hash of each table, the hash of ``datapackage.json``, and its own.
            tables: the tables that ``metadata["tables"]`` describes, in the same order.

        Returns:
            The SHA-256 of the bytes of ``release.json``, for the ledger.
        """
        try:
            blocks = {table.name: table.blocks() for table in tables}
            columns = parquet.write(self.path, blocks, footer.notes(metadata))
            for facts, table in zip(metadata["tables"], tables, strict=True):
                facts["rows"] = len(table.values)
                facts["sha256"] = files.digest(self.path / facts["file"])
            package = datapackage.encoded(metadata, columns)
            metadata[datapackage.FIELD] = {"sha256": hashlib.sha256(package).hexdigest()}
            raw = sealed(metadata)
            for name, content in ((datapackage.FILE, package), ("release.json", raw)):
                (self.path / name).write_bytes(content)
                files.flush(self.path / name)
        except OSError as error:
            raise unwritable(self._target, error) from error
        return hashlib.sha256(raw).hexdigest()

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
            _try_room(self._path / "room")
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


def _try_room(path: Path) -> None:
    """Fail now, before anything is charged, where the disk is full already."""
    path.write_bytes(bytes(_LEAST_ROOM))
    files.flush(path)
    path.unlink()


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


# A copy of a release holds what was released, and nothing that its folder merely leads to.
#
# A folder from somebody else may have links to any file of whoever copies it, and files may
# change while they are copied. So it is the copies that are looked at, before they get their
# name.

_ANOTHER = "it is not the file that was released (its SHA-256 is another)"


class Opened(Protocol):
    """A release that was opened: what it must be known by."""

    @property
    def folder(self) -> Path:
        """Where it lies."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """``release.json``."""

    @property
    def sha256(self) -> str | None:
        """Of the bytes of ``release.json``, where they were read."""

    @property
    def id(self) -> str:
        """What the ledger knows it by."""

    @property
    def domain(self) -> PublicDomain:
        """The public lists."""

    @property
    def tables(self) -> tuple[TableFacts, ...]:
        """What it says about each table."""

    @property
    def files(self) -> tuple[str, ...]:
        """The names of its files."""


def copy_files(published: Opened, folder: Path) -> None:
    """Copy the files of a release, and its note, into a folder that nobody sees yet.

    Raises:
        InputError: a file is missing, or its copy is not what was released.
        OSError: the disk does not take a copy.
    """
    for name in published.files:
        try:
            source = regular.open_regular(published.folder / name)
        except OSError:
            raise InputError(
                f"{str(published.folder)!r} lacks its {name!r}, or it is not a regular file that "
                "can be read: copy the whole folder."
            ) from None
        with source, open(folder / name, "xb") as copy:
            shutil.copyfileobj(source, copy)
        durable.flush(folder / name)
    for name in _others(published, folder):
        raise damaged(published.folder / name, _ANOTHER)
    _copy_note(published, folder)


def _others(published: Opened, folder: Path) -> Iterator[str]:
    """Copies that are not what was released."""
    facts = published.metadata
    raw = (folder / "release.json").read_bytes()
    if not parse.holds(raw, facts[parse.FIELD]):
        yield "release.json"
    if regular.digest(folder / datapackage.FILE) != facts[datapackage.FIELD]["sha256"]:
        yield datapackage.FILE
    for table in published.tables:
        try:
            check_table(folder, published.domain, table)
        except InputError:
            yield table.file


def _copy_note(published: Opened, folder: Path) -> None:
    """Let a copy say that the release was withdrawn; also by a note that is damaged."""
    try:
        raw = note_to_copy(published.folder, published.id)
    except InputError as error:
        raise InputError(
            f"{str(published.folder)!r} is marked as withdrawn, and a copy would not say so: "
            f"{error}. Let `crowdtally withdraw` write the note anew, then copy."
        ) from error
    if raw is not None:
        (folder / NOTE).write_bytes(raw)
        durable.flush(folder / NOTE)
