"""Failures of a database, in one or two sentences: what was wrong, and what to do.

The driver's own text goes into no message, except the first line of a server's answer that is not
known here, without any password.
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from crowdtally.ledger.database.location import File, Place, Server, alike, option
from crowdtally.ledger.errors import (
    DamagedLedgerError,
    LedgerError,
    MissingLedgerError,
    NotAllowedError,
    UnknownOutcomeError,
)

_NOT_RECORDED = "As far as is known, no entry was added."
_ELSEWHERE = "or name another place with --ledger or $CROWDTALLY_LEDGER"

# By the first two words of SQLite's name for the error (SQLITE_IOERR_FSYNC is an IOERR).
_SQLITE = {
    "BUSY": "is locked: another process has been writing to it for a long time. See which "
    "process has it open (for a file: `fuser FILE`), let it finish, and try again.",
    "READONLY": "cannot be written. Make the file and its folder writable for this user, "
    f"{_ELSEWHERE}.",
    "CANTOPEN": "cannot be opened. Make the file and its folder readable and writable for this "
    f"user, {_ELSEWHERE}.",
    "FULL": f"cannot be written: the disk is full. Free some space, {_ELSEWHERE}.",
    "IOERR": "cannot be read or written: the disk reports an error, or is full. Check the disk, "
    f"{_ELSEWHERE}.",
}
_SQLITE["LOCKED"] = _SQLITE["BUSY"]
_SQLITE["PERM"] = _SQLITE["AUTH"] = _SQLITE["CANTOPEN"]

_POSTGRES = {
    "28P01": "did not accept the password. Check the user and the password in the URL.",
    "28000": "did not accept the user. Check the user in the URL and the server's pg_hba.conf.",
    "3D000": "has no such database. Create it (`createdb NAME`), or correct the URL.",
    "53100": "has a full disk. Free some space on the server.",
    "55P03": "has the ledger locked by another session for a long time. Look for it in "
    "pg_stat_activity, let it finish, and try again.",
    "25006": "is read-only (a standby, perhaps). Give the URL of the primary server.",
}
# libpq reports a failed connection without a code; these are its words and the server's.
_CONNECTING = {
    "password authentication failed": _POSTGRES["28P01"],
    "no password supplied": "asks for a password. Write it in the URL, or in ~/.pgpass.",
    "does not exist": "has no such user or database. Check both in the URL.",
    "pg_hba.conf": _POSTGRES["28000"],
}
_FORBIDDEN = "42501"
_REFUSED = "CT001"
"""What the functions of ``postgres_functions.sql`` answer to an entry that does not follow."""
# By the kind of entry that those functions leave to the officers.
_OFFICERS = {
    "created": (
        "make a dataset, by --new-dataset or otherwise",
        "crowdtally ledger create NAME --epsilon E",
    ),
    "limit": (
        "set, raise or lift a limit",
        "crowdtally ledger limit NAME --epsilon E --reason TEXT",
    ),
    "voided": ("give a charge back", "crowdtally ledger void ID --reason TEXT"),
}
_OTHER_OFFICE = ("add such an entry", "crowdtally ledger")
_UNREACHABLE = "cannot be reached. Check that the server runs, and the host and port in the URL."
_DAMAGED = (
    "is damaged, or was written by something else. Nothing is charged to it. "
    "`crowdtally ledger verify` lists what is wrong; restore a good copy."
)


@contextmanager
def in_words(place: Place) -> Iterator[None]:
    """Turn what a database or a disk raises inside into a ``LedgerError``."""
    try:
        yield
    except DBAPIError as error:
        raise _driver(place, error.orig) from error
    except (sqlite3.Error, OSError) as error:
        raise _driver(place, error) from error
    except UnicodeDecodeError as error:
        raise damaged(place) from error  # SQLite quotes a damaged schema in its message
    except SQLAlchemyError as error:
        raise LedgerError(
            f"the ledger {place} cannot be used: {_first_line(place, error)}"
        ) from error


def retriable(error: DBAPIError) -> bool:
    """Whether the server rolled the transaction back and asks to repeat it."""
    return getattr(error.orig, "sqlstate", None) in {"40001", "40P01"}


def _driver(place: Place, error: BaseException | None) -> LedgerError:
    if isinstance(error, OSError):
        return _disk(place, error)
    if isinstance(place, Server):
        return _server(place, error)
    name = (getattr(error, "sqlite_errorname", None) or "").removeprefix("SQLITE_").split("_")[0]
    if name == "CANTOPEN" and not place.path.exists():
        return missing(place)
    if name in _SQLITE:
        return LedgerError(f"the ledger {place} {_SQLITE[name]} {_NOT_RECORDED}")
    return damaged(place)


def damaged(place: Place) -> DamagedLedgerError:
    return DamagedLedgerError(f"the ledger {place} {_DAMAGED}")


def outcome_unknown(place: Place) -> UnknownOutcomeError:
    """The connection broke between asking for the commit and the answer."""
    return UnknownOutcomeError(
        f"the connection to the ledger {place} broke while an entry was being recorded, and "
        "whether it was is not known: `crowdtally ledger show` tells."
    )


def missing(place: Place) -> MissingLedgerError:
    """There is no ledger; suggest one beside it whose name is nearly the same."""
    meant = alike(place.path) if isinstance(place, File) else None
    hint = f"Did you mean {meant}? " if meant is not None else ""
    unseen = (
        " If others can use it, this role may not: ask an officer for `crowdtally ledger grant "
        "ROLE --run`."
        if isinstance(place, Server)
        else ""
    )
    return MissingLedgerError(
        f"there is no ledger at {place}. {hint}If it was there before, find out who moved it. If a "
        f"new one is meant: `crowdtally ledger create NAME --epsilon E {option(place)}` makes it, "
        f"and so does a release with --new-dataset (in Python new_dataset=True).{unseen}"
    )


def not_a_ledger(place: Place) -> LedgerError:
    what = "file" if isinstance(place, File) else "database"
    return LedgerError(
        f"the {what} {place} is not a Crowdtally ledger, and is left as it is. "
        "Name another place with --ledger or $CROWDTALLY_LEDGER."
    )


def other_functions(place: Place) -> LedgerError:
    """The server's functions, which check each entry, are those of another version."""
    return LedgerError(
        f"the ledger {place} has the functions of another version of Crowdtally, so nothing was "
        "added. Use that version, or bring the record to a new place, whose functions are this "
        f"version's: `crowdtally ledger import {place} --ledger NEW`."
    )


def _disk(place: Place, error: OSError) -> LedgerError:
    if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        return LedgerError(f"the ledger {place} {_SQLITE['FULL']} {_NOT_RECORDED}")
    if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return LedgerError(f"the ledger {place} {_SQLITE['CANTOPEN']} {_NOT_RECORDED}")
    if error.errno in {errno.ENOENT, errno.ENOTDIR}:
        return missing(place)
    return LedgerError(
        f"the ledger {place} cannot be used: {error.strerror or 'the disk reports an error'}. "
        f"{_NOT_RECORDED} Check the disk, {_ELSEWHERE}."
    )


def _server(place: Server, error: BaseException | None) -> LedgerError:
    code = getattr(error, "sqlstate", None) or ""
    text = str(error)
    if code == _FORBIDDEN:
        return _not_allowed(place, error)
    if code == _REFUSED:
        return LedgerError(
            f"the PostgreSQL server of the ledger {place} refused the entry: "
            f"{_first_line(place, text)}. Nothing was changed."
        )
    words = _POSTGRES.get(code)
    if words is None and not code:
        words = next((said for key, said in _CONNECTING.items() if key in text), _UNREACHABLE)
    if words is None and code.startswith(("22", "42")):
        return damaged(place)  # a value or a table that is not what a ledger has
    if words is None:
        words = f"answered: {_first_line(place, text)}."
    return LedgerError(f"the PostgreSQL server of the ledger {place} {words} {_NOT_RECORDED}")


def _not_allowed(place: Server, error: BaseException | None) -> NotAllowedError:
    """Either the functions left it to the officers, or nobody granted this role anything."""
    said = getattr(error, "diag", None)
    kind, owner = getattr(said, "message_detail", None), getattr(said, "message_hint", None)
    if kind is not None and owner is not None:
        what, command = _OFFICERS.get(kind, _OTHER_OFFICE)
        return NotAllowedError(
            f"only an officer of the ledger {place} may {what}: a member of the role {owner!r}, "
            f"and this role is none. Nothing was changed. Ask an officer to run `{command}`."
        )
    return NotAllowedError(
        f"the PostgreSQL server of the ledger {place} does not let this role use it. Nothing was "
        "changed. Ask an officer of the ledger to run `crowdtally ledger grant ROLE --run`, with "
        "this role's name. To make a new ledger, a role needs CREATE on the schema."
    )


def _first_line(place: Place, said: object) -> str:
    line = (str(said).splitlines() or [""])[0]
    for secret in place.secrets if isinstance(place, Server) else ():
        line = line.replace(secret, "***")
    return line[:200]
