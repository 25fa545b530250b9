"""The tables and the statements, in SQLAlchemy Core, alike for SQLite and PostgreSQL."""

from __future__ import annotations

import secrets

import sqlalchemy as sa

from crowdtally.ledger.chain import genesis

FORMAT = 3
"""Of the tables and of the entries in them: ledgers of another format are refused."""
_Number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_tables = sa.MetaData()
LEDGER = sa.Table(
    "crowdtally_ledger",
    _tables,
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("id", sa.Text, nullable=False),
    sa.Column("number", _Number, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
    sa.Column("closed", sa.Text),
)
ENTRIES = sa.Table(
    "crowdtally_entries",
    _tables,
    sa.Column("number", _Number, primary_key=True, autoincrement=False),
    sa.Column("dataset", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("about", _Number),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
    sa.Column("key", sa.Text),
)
sa.Index("crowdtally_by_dataset", ENTRIES.c.dataset, ENTRIES.c.number)
_has_key = ENTRIES.c.key.is_not(None)
sa.Index(
    "crowdtally_by_key", ENTRIES.c.key, unique=True, sqlite_where=_has_key,
    postgresql_where=_has_key,
)  # fmt: skip
_has_about = ENTRIES.c.about.is_not(None)
sa.Index(
    "crowdtally_by_about", ENTRIES.c.about, sqlite_where=_has_about, postgresql_where=_has_about
)
DATASETS = sa.Table(
    "crowdtally_datasets",
    _tables,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("last", _Number, nullable=False),
)

# Statements are built once: building one costs more than SQLite takes to run it.
HEADER = sa.text(f"SELECT * FROM {LEDGER.name}")
CLOSED = sa.select(LEDGER.c.closed)
HOLD_ROW = sa.select(LEDGER.c.number).with_for_update()
"""Writers wait for whoever holds the one row; it takes the owner's rights on a server."""


_in_order = sa.select(ENTRIES).order_by(ENTRIES.c.number)
NUMBERED = _in_order.where(ENTRIES.c.number.in_(sa.bindparam("numbers", expanding=True)))
FOLLOWING = _in_order.where(ENTRIES.c.number > sa.bindparam("start")).limit(sa.bindparam("most"))
ABOUT = _in_order.where(ENTRIES.c.about.in_(sa.bindparam("these", expanding=True)))
"""Those about some reservations, or on some shelves."""
ROW_OF_KEY = sa.select(ENTRIES).where(ENTRIES.c.key == sa.bindparam("of"))
_said = sa.select(DATASETS.c.last).where(DATASETS.c.name == sa.bindparam("of"))
_found = sa.select(sa.func.max(ENTRIES.c.number)).where(ENTRIES.c.dataset == sa.bindparam("of"))
LAST_OF = sa.select(_said.scalar_subquery(), _found.scalar_subquery())
NAMED = sa.select(DATASETS.c.name).where(DATASETS.c.name.in_(sa.bindparam("names", expanding=True)))
ADD_ENTRY = sa.insert(ENTRIES)
SET_HEAD = sa.update(LEDGER).values(
    number=sa.bindparam("new_number"), hash=sa.bindparam("new_hash")
)
SET_LEDGER = sa.update(LEDGER).values(
    id=sa.bindparam("new_id"), number=sa.bindparam("new_number"), hash=sa.bindparam("new_hash"),
    closed=sa.bindparam("new_closed"),
)  # fmt: skip
CLOSE = sa.update(LEDGER).values(closed=sa.bindparam("new_closed"))
ADD_DATASET = sa.insert(DATASETS)
SET_LAST = (
    sa.update(DATASETS)
    .where(DATASETS.c.name == sa.bindparam("of"))
    .values(last=sa.bindparam("new_last"))
)


def is_ledger(connection: sa.Connection) -> bool:
    return sa.inspect(connection).has_table(LEDGER.name)


def make_tables(connection: sa.Connection) -> None:
    _tables.create_all(connection)
    ledger_id = secrets.token_hex(16)
    header = {"version": FORMAT, "id": ledger_id, "number": 0}
    connection.execute(sa.insert(LEDGER).values(**header, hash=genesis(ledger_id)))
