"""A release's tables, checked when a process first uses them: hash, rows, columns, types.

A file is looked at once for as long as it stays the same file: its inode, size and times say so.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from crowdtally import parquet
from crowdtally.damage.cells import cells_of, lists_of, rows_of
from crowdtally.damage.contents import check_contents
from crowdtally.damage.words import damaged
from crowdtally.errors import InputError
from crowdtally.parquet import TYPES

_SETTLED = 2_000_000_000
"""Nanoseconds after which a file's times tell a later change: clocks of file systems are coarse."""
_REMEMBERED = 1024

_Identity = tuple[int, ...]
_digests: dict[Path, tuple[_Identity, str]] = {}
_sound: set[tuple[str, str]] = set()


def check_table(
    folder: Path, metadata: Mapping[str, Any], table: Mapping[str, Any], *, seal: str | None
) -> None:
    """Raise an InputError where a table's file is not what ``release.json`` says.

    Args:
        folder: the release.
        metadata: ``release.json``, checked.
        table: the table's entry in it.
        seal: the SHA-256 of ``release.json``, by which what was checked before is known.
    """
    path = folder / table["file"]
    digest = _digest(path)
    if table.get("sha256", digest) != digest:
        raise damaged(path, "it is not the file that was released (its SHA-256 is another)")
    _check_columns(path, digest, metadata, table)
    if "sha256" in table:
        return
    parquet.distrust(path)
    if seal and (digest, seal) in _sound:
        return
    check_contents(folder, metadata, table)
    if seal:
        _sound.add((digest, seal))


def _check_columns(
    path: Path, digest: str, metadata: Mapping[str, Any], table: Mapping[str, Any]
) -> None:
    found, named = _opened(path, digest), cells_of(table, lists_of(metadata["domain"])).columns
    counted = "integer" if table["noise"]["unit"] == "1" else "float"
    wanted = {**named, "count": counted, "noise_std": "float", "low": counted, "high": counted}
    if list(found.columns) != list(wanted):
        raise damaged(path, f"its columns must be {', '.join(wanted)}")
    for name, kind in wanted.items():
        types = [TYPES[kind]] if kind else [TYPES["text"], TYPES["integer"]]
        if found.columns[name] not in types:
            raise damaged(path, f"its column {name!r} must have the type {' or '.join(types)}")
    if found.rows != rows_of(table):
        raise damaged(path, f"it must have {rows_of(table)} rows, and has {found.rows}")


@lru_cache(_REMEMBERED)
def _opened(path: Path, digest: str) -> parquet.Opened:
    """What the file says about itself, once for each content."""
    return parquet.opened(path)


def _digest(path: Path) -> str:
    """The SHA-256 of a file, computed again only where it is another file or was changed."""
    try:
        identity = _identity(path)
        known, digest = _digests.get(path, (None, ""))
        if known == identity:
            return digest
        digest = parquet.digest(path)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise InputError(
            f"{str(path.parent)!r} lacks its table {path.name!r}: copy the whole folder."
        ) from None
    except OSError as error:
        raise InputError(
            f"{str(path)!r} cannot be read: {error.strerror or 'unknown reason'}. Check its "
            "permissions and the disk."
        ) from error
    if time.time_ns() - max(identity[-2:]) > _SETTLED:
        _digests[path] = identity, digest
    return digest


def _identity(path: Path) -> _Identity:
    found = os.stat(path)
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
