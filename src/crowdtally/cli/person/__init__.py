"""``crowdtally person …``: for one person, on their own device. Nobody else is trusted."""

from __future__ import annotations

import typer

from crowdtally.cli.person.levels import levels
from crowdtally.cli.person.perturb import perturb
from crowdtally.cli.person.show import show

app = typer.Typer(
    help="For one person, on their own device: perturb a history before anything of it leaves.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def person() -> None:
    """For one person, on their own device: perturb a history before anything of it leaves."""


app.command()(perturb)
app.command()(levels)
app.command()(show)
