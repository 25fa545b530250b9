"""``crowdtally ledger limits-file``: limits that only an officer can change, on SQLite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from crowdtally.cli import options

if TYPE_CHECKING:
    from crowdtally.budget import Ledger, Loss


def limits_file(
    path: Annotated[
        str, typer.Argument(metavar="PATH", help="The file, in TOML: a table for each dataset.")
    ],
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; it is recorded.")],
    ledger: options.LedgerOption = None,
    debug: options.DebugOption = False,
) -> None:
    """Keep the limits in a file that only its owner can write; it is read at every charge."""
    from crowdtally.budget import Ledger
    from crowdtally.budget.wording import amount

    books = Ledger.open(ledger)
    file = books.use_limits_file(path, reason=reason)
    print(books.limits_file_notice())
    for name, allowed in file.datasets.items():
        each = "" if allowed.each is None else f"; a single release {amount(allowed.each)}"
        print(f"  {name}: {amount(allowed.total)}{each} ({allowed.reason})")
    print(
        "From now on, only whoever can write that file can change limits (in the file), void, make "
        "a dataset or name another file. This stops slips, not a hostile writer: whoever can write "
        f"{books.location} can rebuild its chain."
    )


def require_limit(books: Ledger, total: Loss | None) -> None:
    """Refuse to make a dataset without a limit, unless a file says what its limit is."""
    from crowdtally.errors import UsageError

    if total is None and books.limits_file() is None:
        raise UsageError(
            "say what may ever be spent: --epsilon E, such as --epsilon 1 (or --rho R). (Only "
            "where a limits file is in use does it say that.)"
        )
