"""``crowdtally ledger backup`` and ``import``: keeping the record over the years."""

from __future__ import annotations

from typing import Annotated

import typer

from crowdtally.cli import options


def backup(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A new file.")],
    ledger: options.LedgerOption = None,
    debug: options.DebugOption = False,
) -> None:
    """Copy the whole record into a new file, which can be read and verified, not charged."""
    from crowdtally.ledger import Ledger

    books = Ledger.open(ledger)
    head = books.backup(file)
    print(f"{file} is a whole copy of {books.location}: {head.number} entries, head {head}")
    print("Keep that head elsewhere too: `crowdtally ledger verify --anchor` compares with it.")


def bring(
    source: Annotated[
        str, typer.Argument(metavar="FROM", help="A backup or a ledger: a file or a URL.")
    ],
    anchor: Annotated[
        str | None,
        typer.Option(
            "--anchor", metavar="HEAD", help="What `show --head` printed; refuses an older copy."
        ),
    ] = None,
    ledger: options.LedgerOption = None,
    debug: options.DebugOption = False,
) -> None:
    """Bring a backup or a ledger to the place that --ledger names; the old one is closed for it."""
    from crowdtally.ledger import Head, Ledger

    books = Ledger.import_from(source, ledger, anchor=Head.of(anchor) if anchor else None)
    head = books.head()
    print(f"{books.location} holds the whole record: {head.number} entries, head {head}")
    origin = Ledger.open(source)
    print(f"Nothing can be charged to {origin.location}: {origin.closed()}")
    print("Two ledgers with one record are two budgets: let no other copy be charged.")


def add_to(app: typer.Typer) -> None:
    """Make them commands of ``crowdtally ledger``."""
    app.command("backup")(backup)
    app.command("import")(bring)
