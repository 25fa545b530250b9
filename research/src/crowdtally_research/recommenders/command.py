"""``crowdtally lab recommend``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crowdtally.cli import options

if TYPE_CHECKING:
    from crowdtally_research.recommenders.running import Found


def _number(flag: str, metavar: str, words: str) -> typer.models.OptionInfo:
    made: typer.models.OptionInfo = typer.Option(
        flag, metavar=metavar, parser=options.typed_whole, help=words
    )
    return made


def recommend(
    records: options.RecordsArgument,
    user: Annotated[str, typer.Option(metavar="COL", help="Whose record it is.")],
    item: Annotated[str, typer.Option(metavar="COL", help="Which item the record is of.")],
    catalogue: Annotated[
        str,
        typer.Option(
            metavar="FILE[:COL]",
            help="The public catalogue, with a row for each item and each of its categories; COL "
            "holds the items, by default the column called as in the records.",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="DIR", help="A new folder for tables, pictures and a page."
        ),
    ],
    category: Annotated[
        str | None,
        typer.Option(metavar="COL", help="The catalogue's categories; else its only other column."),
    ] = None,
    separator: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="Between categories, where a row of the catalogue has several."
        ),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(metavar="EXPR", help="Take only rows for which this SQL condition holds."),
    ] = None,
    epsilon: Annotated[
        str, typer.Option(metavar="E[,E…]", help="What one item of a history may lose, exact.")
    ] = "0.1,0.3,1,2,4,8",
    people: Annotated[int, _number("--people", "N", "People to hold out and recommend to.")] = 500,
    hidden: Annotated[int, _number("--hidden", "N", "Items of each of them to hide.")] = 5,
    length: Annotated[int, _number("--length", "K", "How long lists are.")] = 10,
    draws: Annotated[int, _number("--draws", "N", "How often to perturb at each epsilon.")] = 20,
    seed: Annotated[int, _number("--seed", "N", "Decides who is held out and what is hidden.")] = 1,
    as_json: options.JsonOption = False,
    quiet: options.QuietOption = False,
    debug: options.DebugOption = False,
) -> None:
    """Try whether histories perturbed on the person's own device still recommend."""
    from crowdtally.cli.lab import typed
    from crowdtally.cli.output import Progress
    from crowdtally.curator.request.declare import declare
    from crowdtally.errors import check_libraries
    from crowdtally.lab.methods import NOT_PRIVATE

    print(NOT_PRIVATE, file=sys.stderr)
    check_libraries()  # before what is imported below, which cannot do without them
    from crowdtally_research.recommenders.experiment import (
        Question,
        catalogue_of,
        check_implicit,
        read_visits,
        tried,
    )
    from crowdtally_research.recommenders.writing import check_folder, write

    check_implicit()
    question = Question.of(
        epsilon, people=people, hidden=hidden, length=length, draws=draws, seed=seed
    )
    check_folder(output)
    declared = declare(records, user=user, item=item, where=where)
    with _interrupted(), Progress.on_terminal(quiet=quiet) as stages:

        def told(done: int, total: int) -> None:
            words = f"perturbing and recommending, {done} of {total} draws done"
            (stages.going_on if done else stages.stage)(words)

        stages.stage("reading the records")
        listed = catalogue_of(catalogue, item, category, separator)
        visits = read_visits(declared, listed)
        found = tried(visits, listed, question, called=typed(), stage=stages.stage, progress=told)
        stages.stage("drawing the pictures")
        write(found, output)
    _show(found, output, as_json)


@contextmanager
def _interrupted() -> Iterator[None]:
    """An interruption says that nothing is left."""
    from crowdtally.errors import StoppedError

    try:
        yield
    except KeyboardInterrupt as error:
        raise StoppedError(
            "interrupted: nothing was written, and nothing was charged. Fewer --people, --draws or "
            "epsilons end sooner."
        ) from error


def _show(found: Found, output: Path, as_json: bool) -> None:
    from crowdtally.lab.methods import NOT_PRIVATE
    from crowdtally_research.recommenders.writing import as_json as in_json
    from crowdtally_research.recommenders.writing import lines

    if as_json:
        print(json.dumps(in_json(found), ensure_ascii=False))
        return
    print(f"{NOT_PRIVATE}\n")
    for line in lines(found):
        print(line)
    print(f"\nThe page: {output / 'recommend.md'}")
