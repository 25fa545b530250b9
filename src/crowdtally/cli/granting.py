"""``crowdtally ledger grant``: who may do what on a PostgreSQL server."""

from __future__ import annotations

from typing import Annotated

import typer

from crowdtally.cli import options


def grant(
    role: Annotated[str, typer.Argument(metavar="ROLE", help="A role of the PostgreSQL server.")],
    officer: Annotated[
        bool,
        typer.Option("--officer", help="Let it change limits, make datasets and void, too."),
    ] = False,
    run: Annotated[
        bool, typer.Option("--run", help="Carry the statements out, not only print them.")
    ] = False,
    ledger: options.LedgerOption = None,
    debug: options.DebugOption = False,
) -> None:
    """Let a role charge to a ledger on PostgreSQL and read it, and nothing more."""
    from crowdtally.ledger import Ledger

    with Ledger.open(ledger) as books:
        statements = books.grants(role, officer=officer, run=run)
    for statement in statements:
        print(f"{statement};")
    if run:
        print(
            f"-- Done: {role} is {'an officer' if officer else 'an analyst'} of {books.location}."
        )
    else:
        print("-- Nothing was changed. As an officer, run this with psql, or add --run.")
