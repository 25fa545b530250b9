"""Writing on a PostgreSQL server: two functions with the owner's rights, and nothing else.

Whoever may call them can charge without having any right to change a table. What they refuse is in
``postgres_functions.sql``.
"""

from __future__ import annotations

import re
from functools import cache
from hashlib import sha256
from importlib.resources import files

from sqlalchemy import Connection, text

from crowdtally.budget.errors import LedgerError

HOLD = text("SELECT id, number, hash, closed, role FROM crowdtally_hold()")
"""Lock the ledger's one row until the transaction ends, and read it."""
APPEND = text("SELECT crowdtally_append(:number, :dataset, :kind, :about, :body, :hash, :key)")
"""Add an entry, and move the head and the dataset's last entry to it."""

SIGNATURES = (
    "crowdtally_hold()",
    "crowdtally_append(bigint, text, text, bigint, text, text, text)",
)
"""How GRANT and REVOKE call them."""
SCHEMA = text(
    "SELECT quote_ident(nspname) FROM pg_class JOIN pg_namespace ON relnamespace = pg_namespace.oid"
    " WHERE pg_class.oid = to_regclass('crowdtally_ledger')"
)
"""The schema that the ledger's tables are in."""
_ENCODING = text("SELECT current_setting('server_encoding')")
_MARK = text("SELECT obj_description(to_regprocedure(:name), 'pg_proc')")
_NAME = re.compile(r"FUNCTION @schema@\.(\w+)")


@cache
def _source() -> str:
    return files(__package__).joinpath("postgres_functions.sql").read_text(encoding="utf-8")


def _mark() -> str:
    """What tells these functions from those of another version."""
    return f"crowdtally {sha256(_source().encode()).hexdigest()[:16]}"


def are_current(connection: Connection) -> bool:
    """Whether the functions on the server are those of this version."""
    return bool(connection.scalar(_MARK, {"name": SIGNATURES[1]}) == _mark())


def make_functions(connection: Connection) -> None:
    """Make or replace the functions, beside the tables; nobody but the owner may call them yet."""
    _require_unicode(str(connection.scalar(_ENCODING)))
    schema = connection.scalar(SCHEMA)
    source = _source()
    names = ", ".join(f"{schema}.{name}" for name in dict.fromkeys(_NAME.findall(source)))
    mark = f"COMMENT ON FUNCTION {schema}.{SIGNATURES[1]} IS '{_mark()}'"
    # Without parameters the driver takes several statements at once, and % for itself.
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
