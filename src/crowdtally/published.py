"""Published: the one door between those who hold records and those who read releases.

A release is a folder: ``release.json`` and Parquet tables. Nothing here asks questions of it, and
nothing here can see a record.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdtally import parquet
from crowdtally.damage.files import check_table
from crowdtally.damage.parsing import parsed
from crowdtally.damage.seal import sealed
from crowdtally.errors import CrowdtallyError, InputError, UsageError
from crowdtally.laws.law import NoiseLaw, as_counts
from crowdtally.values.layout import Layout
from crowdtally.values.rational import recorded, show

SCHEMA = "crowdtally-release/1"
"""Name and version of the layout of ``release.json``; see docs/release-format.md."""
INTERVAL_LEVEL = Fraction(19, 20)
"""How likely the noise lies within ``low`` … ``high`` of a table."""
_BLOCK = 1 << 20
_LEAST_ROOM = 1 << 18


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """A table with its noise on, safe to show to anyone."""

    name: str
    """Its file's name without the ending."""
    layout: Layout
    """The public cells, and the columns that name them."""
    values: NDArray[Any]
    """The noisy count of every published cell, in order, in integer units."""
    law: NoiseLaw
    """The law of the noise on them, and what one unit means as a count."""
    facts: Mapping[str, Any]
    """What else ``release.json`` says about the table."""
    cells: NDArray[Any] | None = None
    """Numbers of the published cells, ascending; None where all of the layout are published."""

    def blocks(self) -> Iterator[dict[str, NDArray[Any]]]:
        """The table's columns, a million rows at a time, sorted by cell."""
        noise = self._noise()
        reach = min(self.law.half_width(INTERVAL_LEVEL), 2**62)
        for start in range(0, max(len(self.values), 1), _BLOCK):
            rows = np.arange(start, min(start + _BLOCK, len(self.values)))
            cells = rows if self.cells is None else self.cells[rows]
            values = _held(self.values[rows])
            yield {
                **self.layout.columns(cells),
                "count": as_counts(values, self.law.unit),
                "noise_std": np.full(len(cells), noise["std"]),
                "low": as_counts(_saturating(values, -reach), self.law.unit),
                "high": as_counts(_saturating(values, reach), self.law.unit),
            }

    def _noise(self) -> dict[str, Any]:
        width = self.law.half_width(INTERVAL_LEVEL)
        return {
            **self.law.to_json(),
            "std": self.law.std(),
            "interval_level": show(INTERVAL_LEVEL),
            "interval_half_width": as_counts(width, self.law.unit),
        }

    def description(self) -> dict[str, Any]:
        """The table's entry in ``release.json``; writing it adds ``rows`` and ``sha256``."""
        return {
            "name": self.name,
            "file": f"{self.name}.parquet",
            "columns": list(self.layout.names),
            "cells": self.layout.size,
            **self.facts,
            "noise": self._noise(),
        }


def _held(values: NDArray[Any]) -> NDArray[np.int64]:
    """Values within 64 bits; what is beyond them, which noise can be, is held at the end."""
    if values.dtype == np.int64:
        return values
    ends = np.iinfo(np.int64)
    return np.array([min(max(int(v), ends.min), ends.max) for v in values], dtype=np.int64)


def _saturating(count: NDArray[np.int64], shift: int) -> NDArray[np.int64]:
    """``count + shift`` held within 64 bits."""
    ends = np.iinfo(np.int64)
    within = np.clip(count, ends.min - min(shift, 0), ends.max - max(shift, 0))
    return np.asarray(within + shift, dtype=np.int64)


@dataclass(frozen=True)
class Published:
    """A release on disk: its metadata and where its tables lie."""

    folder: Path
    """The folder that holds ``release.json`` and the tables."""
    metadata: Mapping[str, Any]
    """``release.json``."""
    _held: object = field(default=None, repr=False, compare=False)
    """Keeps a temporary folder alive as long as the release is used."""
    sha256: str | None = None
    """Of the bytes of ``release.json``, where they were read."""

    @property
    def has_hashes(self) -> bool:
        """Whether it says by which hashes its files are known; older versions stored none."""
        return "sha256" in self.metadata

    def table(self, name: str) -> Mapping[str, Any] | None:
        """The description of a table, or None where the release has no such table."""
        return next((t for t in self.metadata["tables"] if t["name"] == name), None)

    def path(self, name: str) -> Path:
        """The Parquet file of a table, found whole: a file that changed is checked again."""
        for table in self.metadata["tables"]:
            if table["name"] == name:
                check_table(self.folder, self.metadata, table, seal=self.sha256)
        return self.folder / f"{name}.parquet"

    def save(self, folder: str | os.PathLike[str]) -> Published:
        """Copy the release to a new folder, atomically."""
        target = Path(folder)
        with staging(target) as staged:
            try:
                for name in ["release.json", *(t["file"] for t in self.metadata["tables"])]:
                    shutil.copyfile(self.folder / name, staged.path / name)
                    parquet.flush(staged.path / name)
            except OSError as error:
                raise _unwritable(target, error) from error
            staged.commit()
        return Published(target, self.metadata, sha256=self.sha256)


class Staged:
    """A folder under a temporary name that becomes the release in one step, or not at all."""

    def __init__(self, path: Path, target: Path) -> None:
        self.path = path
        """Where to write."""
        self.in_place = False
        """Whether it has its final name."""
        self._target = target
        self._mode = path.stat().st_mode & 0o777
        _permit(path, 0o700)  # what is not paid for yet is nobody else's to read

    def write(self, metadata: dict[str, Any], tables: Sequence[NoisyTable]) -> str:
        """Write tables and metadata under the temporary name and flush them.

        Args:
            metadata: ``release.json``. It is completed with what only the written files tell: rows
                and hash of each table, and its own hash.
            tables: the tables that ``metadata["tables"]`` describes, in the same order.

        Returns:
            The SHA-256 of the bytes of ``release.json``, for the ledger.
        """
        try:
            parquet.write(self.path, {table.name: table.blocks() for table in tables})
            for facts, table in zip(metadata["tables"], tables, strict=True):
                facts["rows"] = len(table.values)
                facts["sha256"] = parquet.digest(self.path / facts["file"])
            raw = sealed(metadata)
            (self.path / "release.json").write_bytes(raw)
            parquet.flush(self.path / "release.json")
        except OSError as error:
            raise _unwritable(self._target, error) from error
        return hashlib.sha256(raw).hexdigest()

    def ready(self) -> None:
        """Flush the folder, and refuse a target that is taken, while nothing depends on it yet."""
        try:
            parquet.flush(self.path)
        except OSError as error:
            raise _unwritable(self._target, error) from error
        refuse_existing(self._target)

    def commit(self) -> None:
        """Give the folder its final name; refuse to replace anything."""
        self.ready()
        try:
            _permit(self.path, self._mode)
            os.rename(self.path, self._target)
        except OSError as error:
            raise _unwritable(self._target, error) from error
        self.in_place = True
        try:
            parquet.flush(self._target.parent)
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
    """Context manager: a :class:`Staged` folder beside ``target``, removed unless committed.

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
            return Staged(self._path, self._target)
        except BaseException as error:
            shutil.rmtree(self._path, ignore_errors=True)
            if isinstance(error, OSError):
                raise _unwritable(self._target, error) from error
            raise

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._path, ignore_errors=True)


def _permit(path: Path, mode: int) -> None:
    with contextlib.suppress(OSError):  # some file systems have no such rights
        path.chmod(mode)


def _try_room(path: Path) -> None:
    """Fail now, before anything is charged, where the disk is full already."""
    path.write_bytes(bytes(_LEAST_ROOM))
    parquet.flush(path)
    path.unlink()


def check_target(target: Path) -> None:
    """Whether a release can be written there, as far as that shows beforehand."""
    refuse_existing(target)
    if not target.parent.is_dir():
        raise UsageError(f"{str(target.parent)!r} is not a folder: create it first.")


def refuse_existing(target: Path) -> None:
    """A release never replaces anything."""
    if target.exists() or target.is_symlink():
        raise UsageError(
            f"{str(target)!r} exists, and a release never replaces anything: choose another folder."
        )


def _unwritable(target: Path, error: OSError) -> CrowdtallyError:
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


def _lack(path: Path) -> str:
    if path.is_dir():
        return "it has no release.json"
    return "it is a file" if path.exists() else "there is no such folder"


def number(value: object, name: str) -> Fraction:
    """An exact number of ``release.json``; ``name`` is what a message calls it."""
    try:
        return recorded(str(value))
    except ValueError:
        raise InputError(
            f"release.json is damaged: {name} is not a number. Copy the release again."
        ) from None


def load(folder: str | os.PathLike[str], tell: Callable[[str], None] | None = None) -> Published:
    """Open a release and check it: an InputError says what is damaged.

    Args:
        folder: where it lies.
        tell: says something about a release that is whole as far as can be known.
    """
    path = Path(folder)
    try:
        raw = (path / "release.json").read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            f"{str(path)!r} is not a release: {_lack(path)}. Give the folder that "
            "`crowdtally release -o FOLDER` wrote."
        ) from None
    except OSError as error:
        raise InputError(
            f"{str(path / 'release.json')!r} cannot be read: "
            f"{error.strerror or 'unknown reason'}. Check its permissions and the disk."
        ) from error
    metadata = parsed(path / "release.json", raw, SCHEMA)
    found = Published(path, metadata, sha256=hashlib.sha256(raw).hexdigest())
    for table in metadata["tables"]:
        check_table(path, metadata, table, seal=found.sha256)
    if tell is not None and not found.has_hashes:
        tell(
            f"{str(path)!r} is of an older version, which stored no hashes: its rows were checked "
            "against its lists and its noise, and a change that fits them would not be seen."
        )
    return found
