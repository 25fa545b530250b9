"""``crowdtally top`` and ``crowdtally sum``: questions to a release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from crowdtally.cli import options, syntax

if TYPE_CHECKING:
    from crowdtally.reader.release import Release

ReleaseArgument = Annotated[str, typer.Argument(metavar="RELEASE", help="A release's folder.")]


def top(
    release: ReleaseArgument,
    k: Annotated[
        int,
        typer.Option(
            "-k", "--top", metavar="K", parser=options.typed_whole, help="How many items."
        ),
    ] = 10,
    context: Annotated[
        list[str] | None,
        typer.Option("--context", metavar="NAME=VALUE", help="In this context. Repeatable."),
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Rank by noisy counts alone, without estimates.")
    ] = False,
    as_json: options.JsonOption = False,
    debug: options.DebugOption = False,
) -> None:
    """Print the most popular items of a release, overall or in a context."""
    chosen: dict[str, object] = {"raw": True} if raw else {}
    found = _opened(release).top(k, **(chosen | syntax.chosen_values(context or [])))
    print(found.to_json() if as_json else found)


def sum_cells(
    release: ReleaseArgument,
    where: Annotated[
        str | None,
        typer.Option(
            metavar="CONDITION", help="Such as \"age between 30 and 40 and sex = 'F'\"; else all."
        ),
    ] = None,
    as_json: options.JsonOption = False,
    debug: options.DebugOption = False,
) -> None:
    """Print the sum over the cells that satisfy a condition, and how far off it may be."""
    found = _opened(release).sum(where)
    print(found.to_json() if as_json else found)


def _opened(release: str) -> Release:
    """The release; what is to be said of an older one goes to stderr."""
    from crowdtally import published
    from crowdtally.reader.release import Release

    return Release(published.load(release, options.remark(quiet=False)))
