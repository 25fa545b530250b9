"""Backups: the whole record in a file of its own, which can be read and not charged."""

from __future__ import annotations

import os
from pathlib import Path

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from crowdtally.budget.audit import verify
from crowdtally.budget.database import sqlite_file
from crowdtally.budget.database.places import File, Place, place
from crowdtally.budget.database.store import Store
from crowdtally.budget.database.tables import make_tables
from crowdtally.budget.errors import LedgerError
from crowdtally.budget.keeping import closing
from crowdtally.budget.keeping.closing import Closing
from crowdtally.budget.keeping.copying import audited, pour, require_whole, standing
from crowdtally.budget.record.chain import Head
from crowdtally.errors import UsageError

_NOTHING = "No backup was made."


def backup(source: Store, path: str | os.PathLike[str]) -> Head:
    """Copy the record as it is at one moment into a new file; whole and verified, or not at all."""
    target = _new_file(path)
    require_whole(verify(source), _NOTHING)
    ledger = source.inspect(lambda connection: standing(connection, source.place))

    def fill(connection: Connection) -> None:
        make_tables(connection)
        pour(source, ledger, connection, closing.backup(_origin(source.place, ledger.closed)))

    def check(connection: Connection) -> None:
        require_whole(audited(connection, target), _NOTHING, ledger.head)

    try:
        made = sqlite_file.create(
            target, fill, check, "Make it on a local disk, and copy that file where it belongs."
        )
    except (DBAPIError, OSError) as error:
        raise _unwritten(target, error) from error
    if not made:  # by another process, meanwhile
        raise _exists(target.path)
    return ledger.head


def _origin(found: Place, closed: str | None) -> str:
    """What is asked, before the backup is used, whether it can still be charged."""
    earlier = None if closed is None else Closing.of(closed).backup_of
    if earlier is not None:
        return earlier  # a copy of a backup stands for the same ledger
    # By its own name: a link to it may be gone or lead elsewhere by then.
    return os.path.realpath(found.path) if isinstance(found, File) else str(found)


def _new_file(path: str | os.PathLike[str]) -> File:
    target = place(path)
    if not isinstance(target, File):
        raise UsageError(
            f"a backup is a file, such as ledger-backup.sqlite: received {target}. To bring a "
            "ledger to a server, `crowdtally ledger import`."
        )
    if os.path.lexists(target.path):
        raise _exists(target.path)
    if not target.path.parent.is_dir():
        # Not made: a backup that lands beside a disk that is not mounted is none.
        raise UsageError(
            f"there is no folder {target.path.parent} to write the backup {target.path.name} to. "
            f"Make it, or mount its disk, and try again. {_NOTHING}"
        )
    return target


def _exists(path: Path) -> UsageError:
    return UsageError(
        f"{path} exists already, and is left as it is: a backup is always a new file. "
        f"Give another name, such as one with today's date. {_NOTHING}"
    )


def _unwritten(target: File, error: Exception) -> LedgerError:
    cause = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(cause, OSError):
        why = (cause.strerror or "the disk reports an error").lower()
    else:
        full = getattr(cause, "sqlite_errorname", "") == "SQLITE_FULL"
        why = "the disk is full" if full else "the disk reports an error"
    return LedgerError(
        f"the backup {target} cannot be written: {why}. {_NOTHING} Make its folder writable for "
        "this user, free some space, or name another file."
    )
