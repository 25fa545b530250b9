"""A ledger of an earlier format brought to the newest, with every entry, hash and sum as it was.

======  ==============================================================================
format  what is new
======  ==============================================================================
1       entries, a list of datasets, a head
2       ``closed`` of the ledger, ``key`` of entries and its index; on PostgreSQL also
        the functions that write, which ``upgrade`` also renews by themselves
======  ==============================================================================
"""

from __future__ import annotations

from sqlalchemy import Connection, text

from crowdtally.budget.database import postgres, tables
from crowdtally.budget.database.places import Server
from crowdtally.budget.database.postgres_functions import are_current, make_functions
from crowdtally.budget.database.store import Store
from crowdtally.budget.keeping.copying import audited, require_whole, standing

_LOCK = text("LOCK TABLE crowdtally_ledger, crowdtally_entries IN ACCESS EXCLUSIVE MODE")
_NOTHING = "It was not upgraded, and is as it was."


def upgrade(store: Store) -> bool:
    """Bring the ledger to the newest format, in one transaction; False if it has it already."""
    found = store.inspect(lambda connection: standing(connection, store.place))
    if found.version < tables.SCHEMA_VERSION:
        return store.alter(lambda connection: _upgrade(connection, store))
    place = store.place
    if not isinstance(place, Server) or store.inspect(are_current):
        return False
    return store.alter(lambda connection: _renew(connection, place))


def _renew(connection: Connection, place: Server) -> bool:
    """The functions of this version in the place of an earlier one's; tables and grants stay."""
    postgres.require_owner(place, connection)
    make_functions(connection)
    return True


def _upgrade(connection: Connection, store: Store) -> bool:
    if isinstance(store.place, Server):
        # Whoever waits for the row holds a lock on its table, and would wait for this for ever.
        postgres.require_owner(store.place, connection)
        connection.execute(_LOCK)
    before = standing(connection, store.place)
    if before.version == tables.SCHEMA_VERSION:
        return False  # by another process, meanwhile
    connection.execute(text("ALTER TABLE crowdtally_ledger ADD COLUMN closed TEXT"))
    connection.execute(text("ALTER TABLE crowdtally_entries ADD COLUMN key TEXT"))
    tables.BY_KEY.create(connection)
    if isinstance(store.place, Server):
        make_functions(connection)
    connection.execute(tables.SET_VERSION, {"new_version": tables.SCHEMA_VERSION})
    require_whole(audited(connection, store.place), _NOTHING, before.head)
    return True
