"""``crowdtally withdraw``: call a published release back."""

from __future__ import annotations

from typing import Annotated

import typer

from crowdtally.cli import options
from crowdtally.cli.reading import ReleaseArgument


def withdraw(
    release: ReleaseArgument,
    reason: Annotated[
        str,
        typer.Option(
            "--reason", metavar="TEXT", help="Why, for its readers; the ledger keeps it too."
        ),
    ],
    ledger: options.LedgerOption = None,
    debug: options.DebugOption = False,
) -> None:
    """Mark a release as withdrawn, in the ledger and for its readers; the charge stays."""
    from crowdtally.withdrawing import call_back

    print(call_back(release, reason, ledger))
