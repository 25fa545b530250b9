"""Commands that ask a release: top, sum, recommend, changes, describe."""

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

ReleaseArgument = Annotated[str, typer.Argument(metavar="RELEASE", help="A release's folder.")]


@options.command
def top(
    release: ReleaseArgument,
    k: int = 10,
    context: list[str] | None = None,
    raw: bool = False,
    labels: str | None = None,
    wanted: answering.Format = None,
    as_json: bool = False,
    output: Path | None = None,
) -> None:
    """Print the most popular items of a release, overall or in a context.

    Options:
        context (NAME=VALUE): In this context. Repeatable.
    """
    showing = answering.Showing(wanted, as_json, output)
    chosen: dict[str, object] = {"raw": True} if raw else {}
    found = answering.opened(release, labels)
    showing.show(found.top(k, **(chosen | syntax.chosen_values(context or []))))


@options.command
def sum_cells(
    release: ReleaseArgument,
    where: str | None = None,
    labels: str | None = None,
    wanted: answering.Format = None,
    as_json: bool = False,
    output: Path | None = None,
) -> None:
    """Print the sum over the cells that satisfy a condition, and how far off it may be.

    Options:
        where (CONDITION): Such as "age between 30 and 40 and sex = 'F'"; else all.
    """
    answering.Showing(wanted, as_json, output).show(answering.opened(release, labels).sum(where))


_BY = ("popular", "special")


@options.command
def recommend(
    release: ReleaseArgument,
    k: int = 10,
    context: list[str] | None = None,
    by: Annotated[str, options.words(_BY)] = "popular",
    without: list[str] | None = None,
    like: str | None = None,
    raw: bool = False,
    labels: str | None = None,
    wanted: answering.Format = None,
    as_json: bool = False,
    output: Path | None = None,
) -> None:
    """Print what to recommend: popular or special in a context, or used together with an item.

    Options:
        context (NAME=VALUE): In this context. Repeatable: values of one context are taken together.
        by (popular|special): What most have there, or what has a larger share there than overall.
        without (ITEM|@FILE): Leave out this item, or those of a file, one on each line. Repeatable.
        like (ITEM): Instead of --context: what users of this item also used, from pairs.
    """
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


OF = ("counts", "shares")


@options.command
def changes(
    earlier: Annotated[
        str, typer.Argument(metavar="EARLIER", help="The earlier release's folder.")
    ],
    later: Annotated[str, typer.Argument(metavar="LATER", help="The later release's folder.")],
    context: list[str] | None = None,
    of: Annotated[str, {"autocompletion": options.one_of(OF)}] = "counts",
    fdr: str = "0.05",
    k: int | None = None,
    labels: str | None = None,
    wanted: answering.Format = None,
    as_json: bool = False,
    output: Path | None = None,
) -> None:
    """Print which items rose and fell between two releases, beyond noise and sampling.

    Options:
        context (NAME=VALUE): In this context; several values of one count together. Repeatable.
        of (counts|shares): Compare counts, or shares of the totals: twice the users are no change
            then.
        fdr (SHARE): The false discovery rate: the share of the list that may be wrong on average.
        k (-k, --top K): How many items at most, the surest first; all by default.
    """
    from crowdtally.reader.changes.changes import changes as compare

    showing = answering.Showing(wanted, as_json, output)
    before, after = answering.opened(earlier), answering.opened(later, labels)
    contexts = syntax.several_values(context or [])
    showing.show(compare(before, after, fdr=fdr, of=of, k=k, context=contexts))


_WIDEST = 100


@options.command
def describe(
    release: ReleaseArgument,
    as_json: bool = False,
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
