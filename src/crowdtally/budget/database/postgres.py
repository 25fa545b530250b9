"""The ledger on a PostgreSQL server."""

from __future__ import annotations

from sqlalchemy import Connection, Engine, create_engine, event, make_url, text

from crowdtally.budget.database.places import Server
from crowdtally.budget.errors import LedgerError, NotAllowedError

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
