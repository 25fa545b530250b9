"""A ledger on PostgreSQL, and the two functions that write to it."""

from __future__ import annotations

import re
from functools import cache
from hashlib import sha256
from importlib.resources import files

from sqlalchemy import Connection, Engine, create_engine, event, make_url, text

from crowdtally.ledger.database.location import Server
from crowdtally.ledger.errors import LedgerError, NotAllowedError

LOCK_SECONDS = 30
"""How long to wait for another session before giving up."""

_CREATION_LOCK = 0x43544C4C  # any number that no other program takes


def engine_for(place: Server) -> Engine:
    """An engine whose write transactions wait for each other and are flushed when they return."""
    try:
        engine = create_engine(
            make_url(place.url),
            isolation_level="READ COMMITTED",
            pool_size=1,
            pool_pre_ping=True,
            use_native_hstore=False,
            # Named statements would outlive a transaction, which poolers such as PgBouncer refuse.
            # Without an encoding of its own, a database in SQL_ASCII answers in bytes.
            connect_args={
                "connect_timeout": 10,
                "prepare_threshold": None,
                "client_encoding": "UTF8",
            },
        )
    except ModuleNotFoundError as error:
        raise LedgerError(
            "a ledger on PostgreSQL needs the driver psycopg: pip install 'crowdtally[postgres]'."
        ) from error

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if connection.get_execution_options().get("writes"):
            connection.execute(_WRITING, {"lock": f"{LOCK_SECONDS}s"})

    return engine


# A server may be set to answer before it has flushed; a charge may not. Other settings are
# stronger or equal, and stay.
_WRITING = text(
    "SELECT set_config('lock_timeout', :lock, true), "
    "CASE WHEN current_setting('synchronous_commit') = 'off' "
    "THEN set_config('synchronous_commit', 'on', true) END"
)


def require_durable(place: Server, connection: Connection) -> None:
    """Refuse a server that never flushes: a power cut there forgets charges."""
    if connection.scalar(text("SELECT current_setting('fsync')")) != "on":
        raise LedgerError(
            f"the PostgreSQL server of the ledger {place} runs with fsync = off: a power cut could "
            "make it forget what was spent. Set fsync = on in postgresql.conf."
        )


_OWNER = text(
    "SELECT pg_get_userbyid(relowner) AS owner, pg_has_role(relowner, 'MEMBER') AS may, "
    "session_user AS role FROM pg_class WHERE oid = to_regclass('crowdtally_ledger')"
)


def require_owner(place: Server, connection: Connection) -> None:
    """Refuse, before anything is changed, whoever does not own the ledger's tables."""
    found = connection.execute(_OWNER).one()
    if not found.may:
        raise NotAllowedError(
            f"the ledger {place} belongs to the role {found.owner}, and this is {found.role}: only "
            "its owner can move it. Nothing was changed. Connect as the owner, or ask "
            "whoever can."
        )


def lock_creation(connection: Connection) -> None:
    """Let one session at a time make the tables; released with the transaction."""
    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _CREATION_LOCK})


# Writing on a PostgreSQL server: two functions with the owner's rights, and nothing else.
#
# Whoever may call them can charge without having any right to change a table. What they refuse is
# in ``postgres_functions.sql``.

HOLD = text("SELECT id, number, hash, closed, role FROM crowdtally_hold()")
"""Lock the ledger's one row until the transaction ends, and read it."""
APPEND = text("SELECT crowdtally_append(:number, :dataset, :kind, :about, :body, :hash, :key)")
"""Add an entry, and move the head and the dataset's last entry to it."""

SIGNATURES = (
    "crowdtally_hold()",
    "crowdtally_append(bigint, text, text, bigint, text, text, text)",
)
SCHEMA = text(
    "SELECT quote_ident(nspname) FROM pg_class JOIN pg_namespace ON relnamespace = pg_namespace.oid"
    " WHERE pg_class.oid = to_regclass('crowdtally_ledger')"
)
_ENCODING = text("SELECT current_setting('server_encoding')")
_MARK = text("SELECT obj_description(to_regprocedure(:name), 'pg_proc')")
_NAME = re.compile(r"FUNCTION @schema@\.(\w+)")


@cache
def _source() -> str:
    return files(__package__).joinpath("postgres_functions.sql").read_text(encoding="utf-8")


def _mark() -> str:
    """A mark by which the functions of this version are recognised."""
    return f"crowdtally {sha256(_source().encode()).hexdigest()[:16]}"


def are_current(connection: Connection) -> bool:
    return bool(connection.scalar(_MARK, {"name": SIGNATURES[1]}) == _mark())


def make_functions(connection: Connection) -> None:
    """Make or replace the functions, beside the tables; nobody but the owner may call them yet."""
    _require_unicode(str(connection.scalar(_ENCODING)))
    schema = connection.scalar(SCHEMA)
    source = _source()
    names = ", ".join(f"{schema}.{name}" for name in dict.fromkeys(_NAME.findall(source)))
    mark = f"COMMENT ON FUNCTION {schema}.{SIGNATURES[1]} IS '{_mark()}'"
    # Without parameters the driver takes several statements at once, and % needs no escape.
    plain = {"no_parameters": True}
    for statements in (
        source.replace("@schema@", str(schema)),
        f"REVOKE ALL ON FUNCTION {names} FROM PUBLIC",
        mark,
    ):
        connection.exec_driver_sql(statements, execution_options=plain)


def _require_unicode(encoding: str) -> None:
    """Names of datasets and columns are of any script, and their order is that of Unicode."""
    if encoding != "UTF8":
        raise LedgerError(
            "a ledger needs a database whose encoding is UTF8, and that of this one is "
            f"{encoding}. Nothing was changed. Make another one (`createdb --encoding UTF8 "
            "--template template0 NAME`) and name it with --ledger."
        )
