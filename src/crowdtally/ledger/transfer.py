"""Backups of a ledger, and moves to another place."""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from crowdtally.errors import CrowdtallyError, UsageError
from crowdtally.ledger.chain import Head, Row, damaged
from crowdtally.ledger.database import postgres, schema, sqlite
from crowdtally.ledger.database.location import File, Place, Server, place
from crowdtally.ledger.database.schema import make_tables
from crowdtally.ledger.database.store import Page, Store
from crowdtally.ledger.errors import DamagedLedgerError, LedgerError, MissingLedgerError
from crowdtally.ledger.verify import Audit, Verification, verify

# Why nothing may be added to a ledger: one sentence, kept in its table, outside the chain.
#
# Two ledgers with the same record that can both be charged would be two budgets, so at most one
# of them is open.

_MOVED = re.compile(r"it was moved \(ticket (\w+)\) on \S+ to (.*), and goes on there\.", re.DOTALL)
_BACKUP = re.compile(r"it is a backup, made at \S+ of (.*)\. It can be read, ", re.DOTALL)


def closed_as_backup(origin: object) -> str:
    return (
        f"it is a backup, made at {_now()} of {origin}. It can be read, verified and exported; "
        "`crowdtally ledger import` brings it into use."
    )


def closed_as_moved(to: object, ticket: str) -> str:
    return f"it was moved (ticket {ticket}) on {_now()} to {to}, and goes on there."


def closed_while_waiting(ledger_id: str, origin: object) -> str:
    """Of a ledger without entries that is about to get those of another; the same each time."""
    return (
        f"it waits for the entries of the ledger {ledger_id}, which are in {origin}: running "
        "`crowdtally ledger import` again, with both, brings them."
    )


@dataclass(frozen=True)
class Closing:
    backup_of: str | None
    """Where the original was, if this is a backup."""
    ticket: str | None
    """Of a ledger that was moved: the id that the empty ledger had which gets its entries."""
    moved_to: str | None

    @classmethod
    def of(cls, sentence: str) -> Closing:
        """Read what one of the functions above wrote; of another sentence nothing is known."""
        kept, went = _BACKUP.match(sentence), _MOVED.match(sentence)
        return cls(kept[1] if kept else None, went[1] if went else None, went[2] if went else None)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


_PORTION = 1000


@dataclass(frozen=True)
class Standing:
    """What a ledger says of itself, also where it is closed."""

    id: str
    head: Head
    closed: str | None


def standing(connection: Connection, place: Place, *, hold: bool = False) -> Standing:
    """What the ledger says of itself; held, nobody adds to it until the transaction ends."""
    if hold:
        if isinstance(place, Server):
            postgres.require_owner(place, connection)
        connection.execute(schema.HOLD_ROW).all()
    found = Page(connection, place, writes=False).header()
    return Standing(found.id, found.head, connection.scalar(schema.CLOSED))


def pour(source: Store, ledger: Standing, into: Connection, closed: str | None) -> None:
    """Write the ledger's entries up to its head, as they are stored, into empty tables."""
    done, last_of = 0, dict[str, int]()
    while done < ledger.head.number:
        rows = _following(source, done, ledger.head.number)
        if not rows:
            raise damaged(done + 1, "is missing")
        into.execute(schema.ADD_ENTRY, [vars(row) for row in rows])
        last_of.update((row.dataset, row.number) for row in rows)
        done = rows[-1].number
    if last_of:
        into.execute(
            schema.ADD_DATASET, [{"name": name, "last": last} for name, last in last_of.items()]
        )
    new = {"new_id": ledger.id, "new_number": ledger.head.number, "new_hash": ledger.head.hash}
    into.execute(schema.SET_LEDGER, {**new, "new_closed": closed})


def _following(source: Store, done: int, end: int) -> list[Row]:
    """Entries never change, so they can be read in portions; nobody waits for long."""
    return source.read(lambda page: page.rows_after(done, min(_PORTION, end - done)))


def audited(connection: Connection, place: Place) -> Verification:
    """What verifying every entry finds, inside one transaction."""
    page = Page(connection, place, writes=False)
    header = page.header()
    audit = Audit(header.id)
    while rows := page.rows_after(audit.last, _PORTION):
        for row in rows:
            audit.visit(row)
    if problem := page.file_problem():
        audit.note(f"the file is damaged: {problem}")
    return audit.finish(header.head, page.datasets())


def require_whole(found: Verification, done: str, head: Head | None = None) -> None:
    """Refuse what did not verify, or is not the record that ends in ``head``."""
    if not found.ok:
        raise DamagedLedgerError(f"{found.describe()} {done}")
    if head is not None and found.head != head:
        raise DamagedLedgerError(
            f"the copy ends in {found.head}, and what it was copied from in {head}. {done}"
        )


_NO_BACKUP = "No backup was made."


def backup(source: Store, path: str | os.PathLike[str]) -> Head:
    """Copy the record as it is at one moment into a new file; whole and verified, or not at all."""
    target = _new_file(path)
    require_whole(verify(source), _NO_BACKUP)
    ledger = source.inspect(lambda connection: standing(connection, source.place))

    def fill(connection: Connection) -> None:
        make_tables(connection)
        pour(source, ledger, connection, closed_as_backup(_origin(source.place, ledger.closed)))

    def check(connection: Connection) -> None:
        require_whole(audited(connection, target), _NO_BACKUP, ledger.head)

    try:
        made = sqlite.create(
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
            f"Make it, or mount its disk, and try again. {_NO_BACKUP}"
        )
    return target


def _exists(path: Path) -> UsageError:
    return UsageError(
        f"{path} exists already, and is left as it is: a backup is always a new file. "
        f"Give another name, such as one with today's date. {_NO_BACKUP}"
    )


def _unwritten(target: File, error: Exception) -> LedgerError:
    cause = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(cause, OSError):
        why = (cause.strerror or "the disk reports an error").lower()
    else:
        full = getattr(cause, "sqlite_errorname", "") == "SQLITE_FULL"
        why = "the disk is full" if full else "the disk reports an error"
    return LedgerError(
        f"the backup {target} cannot be written: {why}. {_NO_BACKUP} Make its folder writable for "
        "this user, free some space, or name another file."
    )


# A record brought into another place, so that at no moment two ledgers with it can be charged.
#
# 1. The new place, empty, is closed: it waits for this record. Its own random id is the *ticket*.
# 2. The old ledger, if it is in use, is closed: it was moved, with this ticket. From here on
#    nothing can be added to it, and its head stays.
# 3. In one transaction the new place gets the id and every entry, is verified, and is opened.
#
# After a crash between two steps no ledger with the record is open, or the old one alone is; the
# same import again finishes it. Another place has another id, so that the ticket does not open
# it.

_NO_IMPORT = "Nothing was imported."


def import_record(origin: Place, to: Place, anchor: Head | None) -> None:
    """Bring the whole record at ``origin`` into ``to``, which must hold no entries."""
    if _same(origin, to):
        raise UsageError(f"{origin} cannot be imported into itself. {_NO_IMPORT}")
    source = Store(origin, create=False)
    ledger = source.inspect(lambda connection: standing(connection, origin))
    ended = _ended(origin, ledger)
    require_whole(verify(source, anchor), _NO_IMPORT)
    if ended is None:
        _rehearse_closing(source, to)
    destination = _destination(to, origin, ledger, ended)
    ticket = destination.alter(lambda there: _await(there, to, ledger, origin, ended))
    if ticket is None:
        require_whole(verify(destination, ledger.head), "It was imported before.")
        return
    if ended is None or ended.ticket is not None:
        ledger = source.alter(lambda here: _close(here, origin, to, ticket))
    try:
        destination.alter(lambda there: _fill(there, to, source, ledger))
    except CrowdtallyError as error:
        if ended is not None and ended.backup_of is not None:
            raise
        raise LedgerError(
            f"{error} Nothing can be charged to {origin} any more, and its entries may not be at "
            f"{to} yet. When that is mended, run the same import again to finish it."
        ) from error


def _same(origin: Place, to: Place) -> bool:
    if isinstance(origin, File) and isinstance(to, File):
        exist = origin.path.exists() and to.path.exists()
        return origin == to or (exist and origin.path.samefile(to.path))
    return origin == to


def _ended(origin: Place, ledger: Standing) -> Closing | None:
    """How the ledger was closed, if it was; refused where there is nothing to bring."""
    if not ledger.head.number:
        said = f": {ledger.closed}" if ledger.closed else "."
        raise UsageError(f"the ledger {origin} has no entries to import{said} {_NO_IMPORT}")
    if ledger.closed is None:
        return None
    ended = Closing.of(ledger.closed)
    if ended.backup_of is None and ended.ticket is None:
        raise LedgerError(f"the ledger {origin} cannot be imported: {ledger.closed} {_NO_IMPORT}")
    if ended.backup_of is not None:
        _require_out_of_use(ended.backup_of, ledger.id)
    return ended


def _require_out_of_use(original: str, ledger_id: str) -> None:
    """Refuse a backup while its original can be charged, also where that was moved since."""
    seen: set[str] = set()
    at: str | None = original
    while at is not None and at not in seen:
        seen.add(at)
        found = _found_at(at)
        if found is None or found.id != ledger_id:
            return
        if found.closed is None:
            raise UsageError(
                f"the ledger that this backup was made of is still in use, at {at}, and may know "
                "of charges that the backup does not. To move it, import it instead of the backup; "
                f"if it is damaged, rename that file, and try again. {_NO_IMPORT}"
            )
        at = Closing.of(found.closed).moved_to


def _found_at(original: str) -> Standing | None:
    """What a file says of itself; ``None`` where there is no ledger to be asked."""
    where = place(original)
    if not isinstance(where, File):
        return None  # its URL lacks the password
    try:
        return Store(where, create=False).inspect(lambda connection: standing(connection, where))
    except CrowdtallyError:
        return None  # gone, or not to be used any more


def _destination(to: Place, origin: Place, ledger: Standing, ended: Closing | None) -> Store:
    moved = ended is not None and ended.ticket is not None
    try:
        return Store(to, create=not moved)
    except MissingLedgerError as error:
        raise _elsewhere(origin, ledger) from error


def _elsewhere(origin: Place, ledger: Standing) -> UsageError:
    return UsageError(
        f"the ledger {origin} cannot be imported here: {ledger.closed} If that place is lost for "
        "good, `crowdtally ledger backup FILE` of this one makes a copy that can be imported; it "
        f"knows nothing of what was charged there. {_NO_IMPORT}"
    )


def _await(
    there: Connection, to: Place, ledger: Standing, origin: Place, ended: Closing | None
) -> str | None:
    """Step 1: the ticket; ``None`` where the import was finished before."""
    found = standing(there, to, hold=True)
    ticket = ended.ticket if ended is not None else None
    if found.head.number:
        if ticket is not None and found.id == ledger.id and found.closed is None:
            return None
        raise UsageError(
            f"the ledger {to} has entries of its own ({found.head.number}), and stays as it is: "
            f"records cannot be merged. Import into a new place, --ledger PATH|URL. {_NO_IMPORT}"
        )
    if ticket is not None and ticket != found.id:
        raise _elsewhere(origin, ledger)
    waiting = closed_while_waiting(ledger.id, origin)
    if found.closed not in {None, waiting}:
        raise UsageError(f"the ledger {to} can take no other entries: {found.closed} {_NO_IMPORT}")
    if found.closed is None:
        there.execute(schema.CLOSE, {"new_closed": waiting})
    return found.id


class _RehearsedError(Exception):
    """Rolls a transaction back."""


def _rehearse_closing(source: Store, to: Place) -> None:
    """Refuse, before anything is made, whoever may not close the old ledger."""

    def rehearse(here: Connection) -> None:
        _close(here, source.place, to, ticket="")
        raise _RehearsedError

    with contextlib.suppress(_RehearsedError):
        source.alter(rehearse)


def _close(here: Connection, origin: Place, to: Place, ticket: str) -> Standing:
    """Step 2: nothing can be added to the old ledger any more; where it stands."""
    found = standing(here, origin, hold=True)
    if found.closed is None:
        here.execute(schema.CLOSE, {"new_closed": closed_as_moved(to, ticket)})
    elif Closing.of(found.closed).ticket != ticket:
        raise _elsewhere(origin, found)
    return found


def _fill(there: Connection, to: Place, source: Store, ledger: Standing) -> None:
    """Step 3: every entry, verified, and open; all of it or nothing."""
    found = standing(there, to, hold=True)
    if found.head.number:
        if found.id == ledger.id:
            return  # by the same import in another process, meanwhile
        raise LedgerError(f"the ledger {to} got other entries meanwhile. {_NO_IMPORT}")
    pour(source, ledger, there, closed=None)
    require_whole(audited(there, to), _NO_IMPORT, ledger.head)
