"""Who may do what on a PostgreSQL server: analysts charge and read, officers do the rest.

An officer is a member of the role that owns the ledger's tables. An analyst has no right to write
any table: only to call the functions of ``postgres_functions.sql``, which judge what they add.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection, text

from crowdtally.errors import UsageError
from crowdtally.ledger.database.failures import in_words
from crowdtally.ledger.database.location import File
from crowdtally.ledger.database.postgres import SCHEMA, SIGNATURES
from crowdtally.ledger.database.schema import DATASETS, ENTRIES, LEDGER
from crowdtally.ledger.errors import LedgerError, NotAllowedError

if TYPE_CHECKING:
    from crowdtally.ledger.database.store import Store

_TABLES = (LEDGER.name, ENTRIES.name, DATASETS.name)
_OWNER_ROLE = text(
    "SELECT rolname AS name, quote_ident(rolname) AS quoted, rolsuper AS super,"
    " pg_has_role(session_user, pg_roles.oid, 'MEMBER') AS mine,"
    " pg_has_role(session_user, pg_roles.oid, 'MEMBER WITH ADMIN OPTION') AS passes_on"
    " FROM pg_class JOIN pg_roles"
    " ON relowner = pg_roles.oid WHERE pg_class.oid = to_regclass('crowdtally_ledger')"
)
_ROLE = text("SELECT quote_ident(rolname) FROM pg_roles WHERE rolname = :role")
# Whatever the role is, or can become by SET ROLE, with which no function holds it back. Rights that
# were granted to the role itself, or to everybody, are revoked by the statements below.
_PAST_THE_FUNCTIONS = text(
    """
    WITH ledger AS (
        SELECT oid, relowner, relnamespace, relacl FROM pg_class WHERE oid IN (
            to_regclass('crowdtally_ledger'), to_regclass('crowdtally_entries'),
            to_regclass('crowdtally_datasets'))
    ), space AS (
        SELECT nspowner, nspacl FROM pg_namespace WHERE oid IN (SELECT relnamespace FROM ledger)
    ), able (oid, why, revoked) AS (
        SELECT oid, 'is a superuser', false FROM pg_roles WHERE rolsuper
        UNION ALL SELECT relowner, 'owns the tables of the ledger', false FROM ledger
        UNION ALL SELECT nspowner, 'owns the schema of the ledger', false FROM space
        UNION ALL SELECT datdba, 'owns the database', false FROM pg_database
            WHERE datname = current_database()
        UNION ALL SELECT oid, 'may write everything on the server', false FROM pg_roles
            WHERE rolname IN
                ('pg_write_all_data', 'pg_write_server_files', 'pg_execute_server_program')
        UNION ALL SELECT oid, 'may make itself a member of any role', false FROM pg_roles
            WHERE rolcreaterole AND current_setting('server_version_num')::int < 160000
        UNION ALL SELECT oid, 'may make schemas in the database, where an officer could be led to '
            'tables and functions of its own', false FROM pg_roles
            WHERE has_database_privilege(oid, current_database(), 'CREATE')
        UNION ALL SELECT grantee, 'may write the tables of the ledger', true
            FROM ledger, aclexplode(relacl) WHERE privilege_type <> 'SELECT'
        UNION ALL SELECT grantee, 'may write the tables of the ledger', true
            FROM ledger JOIN pg_attribute ON attrelid = ledger.oid, aclexplode(attacl)
            WHERE privilege_type <> 'SELECT'
        UNION ALL SELECT grantee, 'may make objects in the schema of the ledger', true
            FROM space, aclexplode(nspacl) WHERE privilege_type = 'CREATE'
    )
    SELECT rolname AS name, why FROM able JOIN pg_roles USING (oid)
    WHERE pg_has_role(:role, oid, 'MEMBER') AND NOT (revoked AND rolname = :role)
    ORDER BY rolname <> :role, revoked, starts_with(why, 'may make schemas'), rolname
    """
)


@dataclass(frozen=True)
class _Names:
    """What the statements name, quoted by the server."""

    schema: str
    owner: str
    role: str

    @property
    def tables(self) -> str:
        return ", ".join(f"{self.schema}.{name}" for name in _TABLES)

    @property
    def functions(self) -> str:
        return ", ".join(f"{self.schema}.{name}" for name in SIGNATURES)

    def using(self) -> tuple[str, ...]:
        """What everybody needs who reads the ledger and charges to it."""
        return (
            f"GRANT USAGE ON SCHEMA {self.schema} TO {self.role}",
            f"GRANT SELECT ON {self.tables} TO {self.role}",
            f"GRANT EXECUTE ON FUNCTION {self.functions} TO {self.role}",
        )

    def nothing_else(self) -> tuple[str, ...]:
        """What nobody but the owner may have; who could make objects there could shadow ours."""
        return (
            f"REVOKE CREATE ON SCHEMA {self.schema} FROM PUBLIC, {self.role}",
            f"REVOKE ALL ON {self.tables} FROM PUBLIC, {self.role}",
            f"REVOKE ALL ON FUNCTION {self.functions} FROM PUBLIC",
        )


def grants(store: Store, role: str, *, officer: bool, run: bool) -> tuple[str, ...]:
    """The statements that make a role an analyst or an officer; with ``run``, carried out."""
    if isinstance(store.place, File):
        raise UsageError(
            f"the ledger {store.place} is a file, which knows no roles: whoever may write the file "
            "may write all of it. Limits that only an officer can change need a ledger on "
            "PostgreSQL."
        )
    if not role.isprintable() or not role:
        raise UsageError(f"a role's name is one line of printable text: received {role[:80]!r}.")
    with in_words(store.place), store.engine.begin() as connection:
        statements = _statements(connection, role, officer=officer)
        if run:
            _require_able(connection, officer=officer)
            for statement in statements:
                connection.exec_driver_sql(statement, execution_options={"no_parameters": True})
    return statements


def _statements(connection: Connection, role: str, *, officer: bool) -> tuple[str, ...]:
    quoted = connection.scalar(_ROLE, {"role": role})
    if quoted is None:
        raise UsageError(
            f"the server has no role {role!r}. Roles are made by whoever runs the server, for "
            f"instance with `createuser --pwprompt NAME`; upper and lower case are different."
        )
    owner = connection.execute(_OWNER_ROLE).one()
    names = _Names(str(connection.scalar(SCHEMA)), owner.quoted, quoted)
    if not officer:
        _require_held_back(connection, role)
        return (*names.nothing_else(), *names.using())
    if owner.super:
        raise LedgerError(
            f"the ledger's tables are owned by {owner.name!r}, a superuser: whoever became an "
            "officer would be one too. Let a role of their own own the ledger: open it as that "
            "role the first time, or have the server's keeper run CREATE ROLE ledger_officers and "
            "ALTER TABLE … OWNER TO, ALTER FUNCTION … OWNER TO for all that begins with "
            "crowdtally_."
        )
    if role == owner.name:
        raise UsageError(f"{role!r} owns the ledger's tables, and is an officer already.")
    return (f"GRANT {names.owner} TO {names.role}", *names.using())


def _require_held_back(connection: Connection, role: str) -> None:
    """Refuse a role that could write the tables anyway."""
    found = connection.execute(_PAST_THE_FUNCTIONS, {"role": role}).first()
    if found is None:
        return
    who = "it" if found.name == role else f"it is a member of {found.name!r}, which"
    raise UsageError(
        f"the limits would not hold {role!r} back: {who} {found.why}. Nothing was granted. Give "
        "the analyst a role without that, and grant to it."
    )


def _require_able(connection: Connection, *, officer: bool) -> None:
    """PostgreSQL itself would only warn, and grant nothing."""
    owner = connection.execute(_OWNER_ROLE).one()
    if not owner.mine:
        raise NotAllowedError(
            f"only an officer may grant rights on this ledger: a member of the role "
            f"{owner.name!r}, and this role is none. Nothing was changed. Ask an officer to run "
            "the same command, or what it prints without --run."
        )
    if officer and not owner.passes_on:
        raise NotAllowedError(
            f"to make officers, a role needs the ADMIN OPTION on the role {owner.name!r}, which "
            "this one has not. Nothing was changed. Ask the server's keeper, a superuser, to run "
            "what this prints without --run."
        )
