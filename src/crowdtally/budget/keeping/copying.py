"""A whole record carried from one store into another, with the same id and the same hashes."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from crowdtally.budget.audit import Audit, Verification
from crowdtally.budget.database import postgres, tables
from crowdtally.budget.database.page import Page
from crowdtally.budget.database.places import Place, Server
from crowdtally.budget.database.store import Store
from crowdtally.budget.errors import DamagedLedgerError
from crowdtally.budget.record.chain import Head, Row, damaged

_PORTION = 1000


@dataclass(frozen=True)
class Standing:
    """What a ledger says of itself, also where it is closed."""

    id: str
    """Its random name."""
    head: Head
    """Its last entry."""
    closed: str | None
    """Why nothing may be added; ``None`` where something may."""


def standing(connection: Connection, place: Place, *, hold: bool = False) -> Standing:
    """What the ledger says of itself; held, nobody adds to it until the transaction ends."""
    if hold:
        if isinstance(place, Server):
            postgres.require_owner(place, connection)
        connection.execute(tables.HOLD_ROW).all()
    found = Page(connection, place, writes=False).header()
    return Standing(found.id, found.head, connection.scalar(tables.CLOSED))


def pour(source: Store, ledger: Standing, into: Connection, closed: str | None) -> None:
    """Write the ledger's entries up to its head, as they are stored, into empty tables."""
    done, last_of = 0, dict[str, int]()
    while done < ledger.head.number:
        rows = _following(source, done, ledger.head.number)
        if not rows:
            raise damaged(done + 1, "is missing")
        into.execute(tables.ADD_ENTRY, [vars(row) for row in rows])
        last_of.update((row.dataset, row.number) for row in rows)
        done = rows[-1].number
    if last_of:
        into.execute(
            tables.ADD_DATASET, [{"name": name, "last": last} for name, last in last_of.items()]
        )
    new = {"new_id": ledger.id, "new_number": ledger.head.number, "new_hash": ledger.head.hash}
    into.execute(tables.SET_LEDGER, {**new, "new_closed": closed})


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
