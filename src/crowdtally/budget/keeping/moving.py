"""A record brought into another place, so that at no moment two ledgers with it can be charged.

1. The new place, empty, is closed: it waits for this record. Its own random id is the *ticket*.
2. The old ledger, if it is in use, is closed: it was moved, with this ticket. From here on nothing
   can be added to it, and its head stays.
3. In one transaction the new place gets the id and every entry, is verified, and is opened.

After a crash between two steps no ledger with the record is open, or the old one alone is; the same
import again finishes it. Another place has another id, so that the ticket does not open it.
"""

from __future__ import annotations

import contextlib

from sqlalchemy import Connection

from crowdtally.budget.audit import verify
from crowdtally.budget.database import tables
from crowdtally.budget.database.places import File, Place, place
from crowdtally.budget.database.store import Store
from crowdtally.budget.errors import LedgerError, MissingLedgerError
from crowdtally.budget.keeping import closing
from crowdtally.budget.keeping.closing import Closing
from crowdtally.budget.keeping.copying import Standing, audited, pour, require_whole, standing
from crowdtally.budget.record.chain import Head
from crowdtally.errors import CrowdtallyError, UsageError

_NOTHING = "Nothing was imported."


def import_record(origin: Place, to: Place, anchor: Head | None) -> None:
    """Bring the whole record at ``origin`` into ``to``, which must hold no entries."""
    if _same(origin, to):
        raise UsageError(f"{origin} cannot be imported into itself. {_NOTHING}")
    source = Store(origin, create=False)
    ledger = source.inspect(lambda connection: standing(connection, origin))
    ended = _ended(origin, ledger)
    require_whole(verify(source, anchor), _NOTHING)
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
        raise UsageError(f"the ledger {origin} has no entries to import{said} {_NOTHING}")
    if ledger.closed is None:
        return None
    ended = Closing.of(ledger.closed)
    if ended.backup_of is None and ended.ticket is None:
        raise LedgerError(f"the ledger {origin} cannot be imported: {ledger.closed} {_NOTHING}")
    if ended.backup_of is not None:
        _require_out_of_use(ended.backup_of, ledger.id)
    return ended


def _require_out_of_use(original: str, ledger_id: str) -> None:
    """Refuse a backup while the file that it was made of can be charged: one of them is enough.

    Also where that file was moved since, as far as its way can be followed.
    """
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
                f"if it is damaged, rename that file, and try again. {_NOTHING}"
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
        f"knows nothing of what was charged there. {_NOTHING}"
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
            f"records cannot be merged. Import into a new place, --ledger PATH|URL. {_NOTHING}"
        )
    if ticket is not None and ticket != found.id:
        raise _elsewhere(origin, ledger)
    waiting = closing.waiting(ledger.id, origin)
    if found.closed not in {None, waiting}:
        raise UsageError(f"the ledger {to} can take no other entries: {found.closed} {_NOTHING}")
    if found.closed is None:
        there.execute(tables.CLOSE, {"new_closed": waiting})
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
        here.execute(tables.CLOSE, {"new_closed": closing.moved(to, ticket)})
    elif Closing.of(found.closed).ticket != ticket:
        raise _elsewhere(origin, found)
    return found


def _fill(there: Connection, to: Place, source: Store, ledger: Standing) -> None:
    """Step 3: every entry, verified, and open; all of it or nothing."""
    found = standing(there, to, hold=True)
    if found.head.number:
        if found.id == ledger.id:
            return  # by the same import in another process, meanwhile
        raise LedgerError(f"the ledger {to} got other entries meanwhile. {_NOTHING}")
    pour(source, ledger, there, closed=None)
    require_whole(audited(there, to), _NOTHING, ledger.head)
