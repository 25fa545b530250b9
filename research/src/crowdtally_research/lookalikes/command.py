"""``crowdtally lab lookalike``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from crowdtally.cli import options


def lookalike(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="gowalla, foursquare, netflix, movielens, movielens-10m, transaction, document, "
            "aol or kosarak.",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The Parquet file to write; it must not exist. The list of items is written "
            "beside it.",
        ),
    ],
    scale: Annotated[
        str,
        typer.Option(metavar="S", help="The share of users and records, at most 1: 0.1, 1/100."),
    ] = "1",
    seed: Annotated[
        int,
        typer.Option(
            metavar="N", parser=options.typed_whole, help="The same seed makes the same records."
        ),
    ] = 1,
    quiet: options.QuietOption = False,
    debug: options.DebugOption = False,
) -> None:
    """Make up records with the statistics that papers print of a dataset."""
    from crowdtally.cli.output import Progress
    from crowdtally.errors import StoppedError
    from crowdtally_research.lookalikes.writing import MADE_UP, plan, write

    planned = plan(name, output, scale, seed)
    say = options.remark(quiet)
    say(MADE_UP)
    try:
        with Progress.on_terminal(quiet=quiet) as progress:
            progress.stage(f"making {planned.statistics.records:,} records")
            write(planned, progress.going_on)
    except KeyboardInterrupt as error:
        raise StoppedError("interrupted: nothing was written.") from error
    print(planned.records)
    say(planned.statistics.sentence)
    if planned.statistics.note:
        say(planned.statistics.note)
    say(f"The list of items: {planned.items}. To release them:")
    say(f"  {shlex.join(['crowdtally', *planned.release_arguments()])}")
