"""``crowdtally top`` and ``crowdtally sum``: questions to a release."""

from __future__ import annotations

from typing import Annotated

import typer

from crowdtally.cli import answering, options, syntax

ReleaseArgument = Annotated[str, typer.Argument(metavar="RELEASE", help="A release's folder.")]


def top(
    release: ReleaseArgument,
    k: answering.HowManyOption = 10,
    context: Annotated[
        list[str] | None,
        typer.Option("--context", metavar="NAME=VALUE", help="In this context. Repeatable."),
    ] = None,
    raw: answering.RawOption = False,
    labels: answering.LabelsOption = None,
    wanted: answering.FormatOption = None,
    as_json: options.JsonOption = False,
    output: answering.OutputOption = None,
    debug: options.DebugOption = False,
) -> None:
    """Print the most popular items of a release, overall or in a context."""
    showing = answering.Showing(wanted, as_json, output)
    chosen: dict[str, object] = {"raw": True} if raw else {}
    found = answering.opened(release, labels)
    showing.show(found.top(k, **(chosen | syntax.chosen_values(context or []))))


def sum_cells(
    release: ReleaseArgument,
    where: Annotated[
        str | None,
        typer.Option(
            metavar="CONDITION", help="Such as \"age between 30 and 40 and sex = 'F'\"; else all."
        ),
    ] = None,
    labels: answering.LabelsOption = None,
    wanted: answering.FormatOption = None,
    as_json: options.JsonOption = False,
    output: answering.OutputOption = None,
    debug: options.DebugOption = False,
) -> None:
    """Print the sum over the cells that satisfy a condition, and how far off it may be."""
    showing = answering.Showing(wanted, as_json, output)
    showing.show(answering.opened(release, labels).sum(where))
