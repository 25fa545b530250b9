"""The tables and the statements, in SQLAlchemy Core, alike for SQLite and PostgreSQL."""

from __future__ import annotations

import secrets

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    bindparam,
    func,
    insert,
    inspect,
    select,
    text,
    update,
)

from crowdtally.ledger.chain import genesis

FORMAT = 3
"""Of the tables and of the entries in them: ledgers of another format are refused."""
_Number = BigInteger().with_variant(Integer, "sqlite")
_tables = MetaData()
LEDGER = Table(
    "crowdtally_ledger",
    _tables,
    Column("version", Integer, nullable=False),
    Column("id", Text, nullable=False),
    Column("number", _Number, nullable=False),
    Column("hash", Text, nullable=False),
    Column("closed", Text),
)
ENTRIES = Table(
    "crowdtally_entries",
    _tables,
    Column("number", _Number, primary_key=True, autoincrement=False),
    Column("dataset", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("about", _Number),
    Column("body", Text, nullable=False),
    Column("hash", Text, nullable=False),
    Column("key", Text),
)
Index("crowdtally_by_dataset", ENTRIES.c.dataset, ENTRIES.c.number)
_has_key = ENTRIES.c.key.is_not(None)
Index(
    "crowdtally_by_key", ENTRIES.c.key, unique=True, sqlite_where=_has_key,
    postgresql_where=_has_key,
)  # fmt: skip
_has_about = ENTRIES.c.about.is_not(None)
Index("crowdtally_by_about", ENTRIES.c.about, sqlite_where=_has_about, postgresql_where=_has_about)
DATASETS = Table(
    "crowdtally_datasets",
    _tables,
    Column("name", Text, primary_key=True),
    Column("last", _Number, nullable=False),
)

# Statements are built once: building one costs more than SQLite takes to run it.
HEADER = text(f"SELECT * FROM {LEDGER.name}")
"""What the ledger says of itself."""
CLOSED = select(LEDGER.c.closed)
HOLD_ROW = select(LEDGER.c.number).with_for_update()
"""Writers wait for whoever holds the one row; it takes the owner's rights on a server."""


_in_order = select(ENTRIES).order_by(ENTRIES.c.number)
NUMBERED = _in_order.where(ENTRIES.c.number.in_(bindparam("numbers", expanding=True)))
"""The entries of some numbers."""
FOLLOWING = _in_order.where(ENTRIES.c.number > bindparam("start")).limit(bindparam("most"))
"""Those after a number, at most so many."""
ABOUT = _in_order.where(ENTRIES.c.about.in_(bindparam("these", expanding=True)))
"""Those about some reservations, or on some shelves."""
ROW_OF_KEY = select(ENTRIES).where(ENTRIES.c.key == bindparam("of"))
_said = select(DATASETS.c.last).where(DATASETS.c.name == bindparam("of"))
_found = select(func.max(ENTRIES.c.number)).where(ENTRIES.c.dataset == bindparam("of"))
LAST_OF = select(_said.scalar_subquery(), _found.scalar_subquery())
NAMED = select(DATASETS.c.name).where(DATASETS.c.name.in_(bindparam("names", expanding=True)))
ADD_ENTRY = insert(ENTRIES)
SET_HEAD = update(LEDGER).values(number=bindparam("new_number"), hash=bindparam("new_hash"))
SET_LEDGER = update(LEDGER).values(
    id=bindparam("new_id"), number=bindparam("new_number"), hash=bindparam("new_hash"),
    closed=bindparam("new_closed"),
)  # fmt: skip
CLOSE = update(LEDGER).values(closed=bindparam("new_closed"))
ADD_DATASET = insert(DATASETS)
SET_LAST = (
    update(DATASETS).where(DATASETS.c.name == bindparam("of")).values(last=bindparam("new_last"))
)


def is_ledger(connection: Connection) -> bool:
    """Whether the database has a ledger's tables."""
    return inspect(connection).has_table(LEDGER.name)


def make_tables(connection: Connection) -> None:
    """A ledger without entries."""
    _tables.create_all(connection)
    ledger_id = secrets.token_hex(16)
    header = {"version": FORMAT, "id": ledger_id, "number": 0}
    connection.execute(insert(LEDGER).values(**header, hash=genesis(ledger_id)))
