"""``crowdtally changes``: what rose and fell between two releases."""

from __future__ import annotations

from typing import Annotated

import typer

from crowdtally.cli import answering, completing, options, syntax

OF = ("counts", "shares")
"""What can be compared."""


def changes(
    earlier: Annotated[
        str, typer.Argument(metavar="EARLIER", help="The earlier release's folder.")
    ],
    later: Annotated[str, typer.Argument(metavar="LATER", help="The later release's folder.")],
    context: Annotated[
        list[str] | None,
        typer.Option(
            "--context", metavar="NAME=VALUE",
            help="In this context; several values of one count together. Repeatable.",
        ),
    ] = None,
    of: Annotated[
        str,
        typer.Option(
            "--of", metavar="counts|shares", autocompletion=completing.one_of(OF),
            help="Compare counts, or shares of the totals: twice the users are no change then.",
        ),
    ] = "counts",
    fdr: Annotated[
        str,
        typer.Option(
            "--fdr", metavar="SHARE",
            help="The false discovery rate: the share of the list that may be wrong on average.",
        ),
    ] = "0.05",
    k: Annotated[
        int | None,
        typer.Option(
            "-k", "--top", metavar="K", parser=options.typed_whole,
            help="How many items at most, the surest first; all by default.",
        ),
    ] = None,
    labels: answering.LabelsOption = None,
    wanted: answering.FormatOption = None,
    as_json: options.JsonOption = False,
    output: answering.OutputOption = None,
    debug: options.DebugOption = False,
) -> None:  # fmt: skip
    """Print which items rose and fell between two releases, beyond noise and sampling."""
    from crowdtally.reader.changes.changes import changes as compare

    showing = answering.Showing(wanted, as_json, output)
    before, after = answering.opened(earlier), answering.opened(later, labels)
    found = compare(
        before, after, fdr=fdr, of=of, k=k, context=syntax.several_values(context or [])
    )
    showing.show(found)
