"""A release's tables, checked when a process first uses them: hash, rows, columns, types.

A file is looked at once for as long as it stays the same file: its inode, size and times say so.
"""

from __future__ import annotations

import os
import time
from functools import lru_cache
from pathlib import Path

from crowdtally.core import files
from crowdtally.errors import InputError
from crowdtally.published import parquet
from crowdtally.published.checks.cells import cells_of
from crowdtally.published.domain import PublicDomain
from crowdtally.published.parquet import TYPES
from crowdtally.published.table import TableFacts
from crowdtally.published.words import damaged

_SETTLED = 2_000_000_000
"""Nanoseconds after which a file's times tell a later change: clocks of file systems are coarse."""
_REMEMBERED = 1024

_Identity = tuple[int, ...]
_digests: dict[Path, tuple[_Identity, str]] = {}


def check_table(folder: Path, domain: PublicDomain, table: TableFacts) -> None:
    """Raise an InputError where a table's file is not what ``release.json`` says.

    Args:
        folder: the release.
        domain: its public lists.
        table: what it says about the table.
    """
    path = folder / table.file
    digest = digest_of(path)
    if table.sha256 != digest:
        raise damaged(path, "it is not the file that was released (its SHA-256 is another)")
    _check_columns(path, digest, domain, table)


def _check_columns(path: Path, digest: str, domain: PublicDomain, table: TableFacts) -> None:
    found, named = _opened(path, digest), cells_of(table, domain).columns
    counted = "integer" if table.law.unit == 1 else "float"
    wanted = {**named, "count": counted, "noise_std": "float", "low": counted, "high": counted}
    if list(found.columns) != list(wanted):
        raise damaged(path, f"its columns must be {', '.join(wanted)}")
    for name, kind in wanted.items():
        types = [TYPES[kind]] if kind else [TYPES["text"], TYPES["integer"]]
        if found.columns[name] not in types:
            raise damaged(path, f"its column {name!r} must have the type {' or '.join(types)}")
    if found.rows != table.published_cells:
        raise damaged(path, f"it must have {table.published_cells} rows, and has {found.rows}")


@lru_cache(_REMEMBERED)
def _opened(path: Path, digest: str) -> parquet.Opened:
    """What the file says about itself, once for each content."""
    return parquet.opened(path)


def digest_of(path: Path) -> str:
    """The SHA-256 of a file, computed again only where it is another file or was changed."""
    try:
        identity = _identity(path)
        known, digest = _digests.get(path, (None, ""))
        if known == identity:
            return digest
        digest = files.digest(path)
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
