"""``crowdtally lab …``: what a researcher with the true data does. Nothing of it is private."""

from __future__ import annotations

import typer

from crowdtally.cli.grouping import GroupedCommand
from crowdtally.cli.lab.audit import audit, audit_request
from crowdtally.cli.lab.compare import compare
from crowdtally.cli.plugins import PluggableGroup

app = typer.Typer(
    cls=PluggableGroup,
    help="For researchers who hold the true data: nothing that it prints is private.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def lab() -> None:
    """For researchers who hold the true data: nothing that it prints is private."""


app.command("compare", cls=GroupedCommand)(compare)
app.command("audit")(audit)
app.command("audit-request", cls=GroupedCommand)(audit_request)
