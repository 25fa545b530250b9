"""Top, sum, recommend, changes, describe."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from crowdtally.cli import options, syntax
from crowdtally.cli import output as answering
from crowdtally.errors import InputError

# ``crowdtally top`` and ``crowdtally sum``: questions to a release.

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
    answering.Showing(wanted, as_json, output).show(answering.opened(release, labels).sum(where))


# ``crowdtally recommend``: what to show, in a context or beside an item.

_BY = ("popular", "special")


def recommend(
    release: ReleaseArgument,
    k: answering.HowManyOption = 10,
    context: Annotated[
        list[str] | None,
        typer.Option(
            "--context", metavar="NAME=VALUE",
            help="In this context. Repeatable: values of one context are taken together.",
        ),
    ] = None,
    by: Annotated[
        str,
        typer.Option(
            "--by", metavar="popular|special", parser=options.word_of(_BY),
            autocompletion=options.one_of(_BY),
            help="What most have there, or what has a larger share there than overall.",
        ),
    ] = "popular",
    without: Annotated[
        list[str] | None,
        typer.Option(
            "--without", metavar="ITEM|@FILE",
            help="Leave out this item, or those of a file, one on each line. Repeatable.",
        ),
    ] = None,
    like: Annotated[
        str | None,
        typer.Option(
            "--like", metavar="ITEM",
            help="Instead of --context: what users of this item also used, from pairs.",
        ),
    ] = None,
    raw: answering.RawOption = False,
    labels: answering.LabelsOption = None,
    wanted: answering.FormatOption = None,
    as_json: options.JsonOption = False,
    output: answering.OutputOption = None,
    debug: options.DebugOption = False,
) -> None:  # fmt: skip
    """Print what to recommend: popular or special in a context, or used together with an item."""
    showing = answering.Showing(wanted, as_json, output)
    contexts = syntax.several_values(context or [])
    left_out = list(_items(without or []))
    found = answering.opened(release, labels)
    showing.show(found.recommend(k, by=by, without=left_out, item=like, raw=raw, context=contexts))


def _items(texts: Iterable[str]) -> Iterable[str]:
    """Items as typed, and those of files; ``@@`` begins an item that begins with ``@``."""
    for text in texts:
        if text.startswith("@@"):
            yield text[1:]
        elif text.startswith("@"):
            yield from _lines(Path(text[1:]))
        else:
            yield text


def _lines(path: Path) -> Iterable[str]:
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{str(path)!r} is not UTF-8 text with an item on each line.") from None
    except OSError as error:
        raise InputError(
            f"{str(path)!r} cannot be read ({error.strerror}). --without @FILE names a text file "
            "with an item on each line; an item that begins with @ is typed @@…."
        ) from None
    except ValueError:
        raise InputError(f"{str(path)!r} is not the name of a file.") from None
    return [line.removesuffix("\r") for line in text.split("\n") if line.strip()]


# ``crowdtally changes``: what rose and fell between two releases.

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
            "--of", metavar="counts|shares", autocompletion=options.one_of(OF),
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
    contexts = syntax.several_values(context or [])
    showing.show(compare(before, after, fdr=fdr, of=of, k=k, context=contexts))


# ``crowdtally describe``: a release in plain words.

_WIDEST = 100


def describe(
    release: ReleaseArgument,
    as_json: options.JsonOption = False,
    debug: options.DebugOption = False,
) -> None:
    """Say in plain words what a release counts, whom it protects and how far, and what not."""
    from crowdtally import format
    from crowdtally.reader.describe.description import WIDTH
    from crowdtally.reader.describe.description import describe as described

    found = described(format.load(release, options.remark(quiet=False)))
    if as_json:
        print(found.to_json())
        return
    # On a terminal as wide as that, within what can be read; elsewhere always the same.
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH
    print(found.text(min(columns, _WIDEST)))
