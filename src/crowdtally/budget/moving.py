"""A record brought into another place, so that at no moment two ledgers with it can be charged.

1. The new place, empty, is closed: it waits for this record. Its own random id is the *ticket*.
2. The old ledger, if it is in use, is closed: it was moved, with this ticket. From here on nothing
   can be added to it, and its head stays.
3. In one transaction the new place gets the id and every entry, is verified, and is opened.

After a crash between two steps no ledger with the record is open, or the old one alone is; the same
import again finishes it. Another place has another id, so that the ticket does not open it.
"""

from __future__ import annotations

from sqlalchemy import Connection

from crowdtally.budget import closing, tables
from crowdtally.budget.audit import verify
from crowdtally.budget.chain import Head
from crowdtally.budget.closing import Closing
from crowdtally.budget.copying import Standing, audited, pour, require_whole, standing
from crowdtally.budget.errors import LedgerError, MissingLedgerError
from crowdtally.budget.places import File, Place
from crowdtally.budget.store import Store
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
    if ended is None:  # before anything is made: whether it may be closed
        source.alter(lambda here: standing(here, origin, hold=True))
    destination = _destination(to, ended)
    ticket = destination.alter(lambda there: _await(there, to, ledger, origin, ended))
    if ticket is None:
        require_whole(verify(destination, ledger.head), "It was imported before.")
        return
    if ended is None or ended.ticket is not None:
        ledger = source.alter(lambda here: _close(here, origin, to, ticket))
    try:
        destination.alter(lambda there: _fill(there, to, source, ledger))
        require_whole(verify(destination, ledger.head), f"So is the copy {to}.")
    except CrowdtallyError as error:
        if ended is not None and ended.is_backup:
            raise
        raise LedgerError(
            f"{error} Nothing can be charged to {origin} any more, and its entries are not in use "
            f"at {to} yet. When that is mended, run the same import again to finish it."
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
    if ledger.version != tables.SCHEMA_VERSION:
        raise LedgerError(
            f"the ledger {origin} has format {ledger.version}, of an earlier version of "
            f"Crowdtally. First `crowdtally ledger upgrade --ledger {origin}`, or make a backup "
            f"of it and import that. {_NOTHING}"
        )
    if ledger.closed is None:
        return None
    ended = Closing.of(ledger.closed)
    if not ended.is_backup and ended.ticket is None:
        raise LedgerError(f"the ledger {origin} cannot be imported: {ledger.closed} {_NOTHING}")
    return ended


def _destination(to: Place, ended: Closing | None) -> Store:
    moved = ended is not None and ended.ticket is not None
    try:
        return Store(to, create=not moved)
    except MissingLedgerError as error:
        raise UsageError(f"{_elsewhere()} There is no ledger at {to}. {_NOTHING}") from error


def _elsewhere() -> str:
    return (
        "what you import was moved to another place already, and may be in use there. If that "
        "place is lost, make a backup of it (`crowdtally ledger backup FILE`) and import that."
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
        raise UsageError(f"{_elsewhere()} {_NOTHING}")
    if found.version != tables.SCHEMA_VERSION:
        raise LedgerError(
            f"the ledger {to} has format {found.version}. First `crowdtally ledger upgrade`. "
            f"{_NOTHING}"
        )
    waiting = closing.waiting(ledger.id, origin)
    if found.closed not in {None, waiting}:
        raise UsageError(f"the ledger {to} can take no other entries: {found.closed} {_NOTHING}")
    if found.closed is None:
        there.execute(tables.CLOSE, {"new_closed": waiting})
    return found.id


def _close(here: Connection, origin: Place, to: Place, ticket: str) -> Standing:
    """Step 2: nothing can be added to the old ledger any more; where it stands."""
    found = standing(here, origin, hold=True)
    if found.closed is None:
        here.execute(tables.CLOSE, {"new_closed": closing.moved(to, ticket)})
    elif Closing.of(found.closed).ticket != ticket:
        raise UsageError(f"{_elsewhere()} {_NOTHING}")
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
