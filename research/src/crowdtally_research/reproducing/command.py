"""``crowdtally lab reproduce``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crowdtally.cli import options

if TYPE_CHECKING:
    from crowdtally_research.reproducing.results import Result


def reproduce(
    paper: Annotated[
        str | None,
        typer.Argument(metavar="[PAPER]", help="fan-jin, day-li, cormode or shen-jin."),
    ] = None,
    figure: Annotated[
        str | None,
        typer.Argument(metavar="[FIGURE]", help="A figure of it, such as 7; else all of them."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All figures of all papers.")] = False,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="DIR",
            help="The folder for the page, the pictures and the numbers; it keeps every finished "
            "part, so that the same command goes on where it was interrupted.",
        ),
    ] = Path("reproduction"),
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The folder of real files; else $CROWDTALLY_DATA. A look-alike stands in for what "
            "is missing.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option(help="Only try it: a hundredth of the data and two runs.")
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option(
            metavar="N", parser=options.typed_whole, help="Processes; else one for each core."
        ),
    ] = None,
    as_json: options.JsonOption = False,
    quiet: options.QuietOption = False,
    debug: options.DebugOption = False,
) -> None:  # fmt: skip
    """Make the tables and figures of the papers in our numbers, beside what the papers state."""
    from crowdtally.cli.lab import gone_on_with
    from crowdtally.cli.output import Progress
    from crowdtally.errors import UsageError, check_libraries

    check_libraries()  # before what is imported below, which cannot do without them
    from crowdtally_research.reproducing.reproduction import Question, listing, reproduced
    from crowdtally_research.reproducing.results import check_folder

    if every and paper is not None:
        raise UsageError(f"--all makes every figure: remove {paper}, or --all.")
    if not every and paper is None:
        print(f"{listing()}\n\nName a paper, and a figure if one is enough; or give --all.")
        return
    question = Question.of(paper, figure, data=data, quick=quick, jobs=jobs)
    check_folder(output)
    with gone_on_with(output, "*/*.json"), Progress.on_terminal(quiet=quiet) as stages:

        def told(done: int, total: int, words: str) -> None:
            stages.stage(f"{words} ({done} of {total} parts done)")

        found = reproduced(question, output, tell=told, stage=stages.stage)
    _show(found, output, as_json)


def _show(found: Sequence[Result], output: Path, as_json: bool) -> None:
    from crowdtally.lab.methods import NOT_PRIVATE
    from crowdtally_research.reproducing.writing import PAGE, heading
    from crowdtally_research.reproducing.writing import as_json as in_json

    if any(one.is_real for one in found):
        print(NOT_PRIVATE, file=sys.stderr)
    if as_json:
        document = {"warning": NOT_PRIVATE, "page": str(output / PAGE), "figures": in_json(found)}
        print(json.dumps(document, ensure_ascii=False))
        return
    for one in found:
        print(f"{one.paper.name}, {heading(one)}")
        print(f"  data: {'; '.join(one.data) or 'made up for this figure'}")
        for claim, judged in one.judged:
            print(f"  {judged.verdict + ':':<19}{claim.words}")
            print(f"  {'':<19}{judged.found}")
        print()
    print(f"The page: {output / PAGE}")
