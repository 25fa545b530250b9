"""Writing on a PostgreSQL server: two functions with the owner's rights, and nothing else.

Whoever may call them can charge without having any right to change a table.
"""

from __future__ import annotations

from sqlalchemy import Connection, text

HOLD = text("SELECT id, number, hash, closed, role FROM crowdtally_hold()")
"""Lock the ledger's one row until the transaction ends, and read it."""
APPEND = text("SELECT crowdtally_append(:number, :dataset, :kind, :about, :body, :hash, :key)")
"""Add an entry, and move the head and the dataset's last entry to it."""

SIGNATURES = (
    "crowdtally_hold()",
    "crowdtally_append(bigint, text, text, bigint, text, text, text)",
)
"""How GRANT and REVOKE call them."""
_FUNCTIONS = (
    """
    CREATE OR REPLACE FUNCTION {schema}.crowdtally_hold(
        OUT id text, OUT number bigint, OUT hash text, OUT closed text, OUT role text
    ) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
        SELECT l.id, l.number, l.hash, l.closed, session_user
        INTO STRICT id, number, hash, closed, role
        FROM {schema}.crowdtally_ledger AS l FOR UPDATE;
    END $$
    """,
    """
    CREATE OR REPLACE FUNCTION {schema}.crowdtally_append(
        number bigint, dataset text, kind text, about bigint, body text, hash text, key text
    ) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    #variable_conflict use_column
    BEGIN
        INSERT INTO {schema}.crowdtally_entries (number, dataset, kind, about, body, hash, key)
        VALUES ($1, $2, $3, $4, $5, $6, $7);
        UPDATE {schema}.crowdtally_ledger SET number = $1, hash = $6;
        INSERT INTO {schema}.crowdtally_datasets (name, last) VALUES ($2, $1)
        ON CONFLICT (name) DO UPDATE SET last = excluded.last;
    END $$
    """,
)


def make_functions(connection: Connection) -> None:
    """Make or replace the functions, beside the tables; nobody but the owner may call them yet."""
    schema = connection.scalar(text("SELECT quote_ident(current_schema())"))
    for function in _FUNCTIONS:
        connection.exec_driver_sql(function.format(schema=schema))
    for signature in SIGNATURES:
        connection.exec_driver_sql(f"REVOKE ALL ON FUNCTION {schema}.{signature} FROM PUBLIC")
