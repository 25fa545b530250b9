"""The SQLite file, and what is wrong with it."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, NullPool, TextClause, create_engine, event, text

from crowdtally.core import files
from crowdtally.ledger.database import schema
from crowdtally.ledger.database.failures import not_a_ledger
from crowdtally.ledger.database.location import File
from crowdtally.ledger.errors import LedgerError

# The embedded ledger: one SQLite file, made whole or not at all.
#
# Rollback journal, not WAL: after each commit the file alone is the ledger. A damaged WAL would
# silently lose its last transactions, which are charges; a damaged file does not go unnoticed.
# ``synchronous=EXTRA`` flushes the journal, the file and the folder before a commit returns.

BUSY_SECONDS = 30.0
"""How long to wait for another process before giving up."""

_PRAGMAS = (
    "synchronous=EXTRA",
    "fullfsync=ON",  # macOS: through the drive's cache
    "cell_size_check=ON",
    "trusted_schema=OFF",
)


@functools.lru_cache(maxsize=16)
def engine_for(path: Path) -> Engine:
    """An engine that opens the file anew for each transaction and never creates it.

    A kept connection would go on charging a file that was since moved or deleted. The engine
    itself holds no connection, only compiled statements, and is worth keeping.
    """
    engine = create_engine("sqlite://", creator=lambda: _connect(path), poolclass=NullPool)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        options = connection.get_execution_options()
        connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("writes") else "BEGIN")

    return engine


def _connect(path: Path) -> Any:
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode=rw", uri=True, timeout=BUSY_SECONDS, isolation_level=None
    )
    try:
        for pragma in _PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")
        (mode,) = connection.execute("PRAGMA journal_mode=DELETE").fetchone()
        if mode != "delete":
            raise sqlite3.DatabaseError(f"journal mode {mode}")
    except BaseException:
        connection.close()
        raise
    return connection


def require_plausible(place: File) -> None:
    """Refuse what SQLite would take for a new database: a folder, or a file cut to nothing."""
    if place.path.is_dir():
        raise LedgerError(
            f"the ledger {place} is a folder; give the path of a file, such as "
            f"{place.path / 'ledger.sqlite'}."
        )
    if place.path.stat().st_size == 0:
        raise not_a_ledger(place)


def create(
    place: File,
    fill: Callable[[Connection], None],
    check: Callable[[Connection], None] | None = None,
    without_links: str = "Keep the ledger on a local disk.",
) -> bool:
    """Make the file with what ``fill`` writes; False if another process was first.

    It is written under another name and linked into place when complete and flushed, so that a
    crash leaves either a whole ledger or none, and an empty file is always a damaged one.
    ``check`` reads what was written, and refuses it by raising.
    """
    _make_folders(place.path.parent)
    handle, name = tempfile.mkstemp(prefix=f"{place.path.name}.new-", dir=place.path.parent)
    os.close(handle)
    draft = Path(name)
    try:
        _write(engine_for.__wrapped__(draft), fill, check)  # an engine of no use later
        os.link(draft, place.path)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno in {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK}:
            raise LedgerError(
                f"the ledger {place} cannot be made: this file system has no hard links. "
                f"{without_links}"
            ) from error
        raise
    finally:
        for leftover in (draft, Path(f"{draft}-journal")):
            with contextlib.suppress(OSError):
                leftover.unlink()
    files.flush(place.path.parent)
    return True


def _write(
    engine: Engine, fill: Callable[[Connection], None], check: Callable[[Connection], None] | None
) -> None:
    for work, writes in ((fill, True), (check, False)):
        if work is not None:
            with engine.connect() as connection:
                connection = connection.execution_options(writes=writes)
                with connection.begin():
                    work(connection)


def _make_folders(folder: Path) -> None:
    if folder.is_dir():
        return
    _make_folders(folder.parent)
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    files.flush(folder.parent)


# What SQLite itself finds wrong with a ledger's file: its pages, its free list, its indexes.
#
# SQLite's own check reads the whole file, about 0.15 s for 100,000 entries. A first charge can
# wait for that; in a file that is larger still, it looks at the indexes of the last entries
# alone, and the rest is left to ``verify``.

_LARGEST = 2**27  # bytes that are read before a first charge: some 160,000 entries
_ENTRIES = schema.ENTRIES.name
# By index, the column that it leads with. A lost index entry would hide a request id, or a draw.
_INDEXED = {
    "crowdtally_by_dataset": "dataset",
    "crowdtally_by_key": "key",
    "crowdtally_by_about": "about",
}


def problem(connection: Connection) -> str | None:
    """What SQLite finds in the whole file; ``None`` where all is well."""
    found = connection.scalar(text("PRAGMA integrity_check(1)"))
    return None if found == "ok" else " ".join(str(found).split())[:200]


def recent_problem(connection: Connection, start: int) -> str | None:
    """The same at a bounded cost; in a very large file, of the entries after ``start`` alone."""
    if _size(connection) <= _LARGEST:
        return problem(connection)
    there = set(connection.scalars(text("SELECT name FROM sqlite_master WHERE type = 'index'")))
    for index in sorted(there & _INDEXED.keys()):
        if (number := connection.scalar(_lost(index), {"start": start})) is not None:
            return f"row {number} missing from index {index}"
    return None


def _size(connection: Connection) -> int:
    pages, each = (
        connection.scalar(text(f"PRAGMA {name}")) for name in ("page_count", "page_size")
    )
    return int(pages) * int(each)


def _lost(index: str) -> TextClause:
    """The first entry after a number that an index does not lead to."""
    column = _INDEXED[index]
    return text(
        f"SELECT min(e.number) FROM {_ENTRIES} AS e NOT INDEXED WHERE e.number > :start "
        f"AND e.{column} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {_ENTRIES} AS i "
        f"INDEXED BY {index} WHERE i.{column} = e.{column} AND i.number = e.number)"
    )
