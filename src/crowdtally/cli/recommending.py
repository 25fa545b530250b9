"""``crowdtally recommend``: what to show, in a context or beside an item."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from crowdtally.cli import answering, completing, options, syntax
from crowdtally.cli.reading import ReleaseArgument
from crowdtally.errors import InputError

_BY = ("popular", "special")


def _by(text: object) -> str:
    if text not in _BY:
        raise typer.BadParameter(f"{str(text)!r} is none of {', '.join(_BY)}.")
    return str(text)


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
            "--by", metavar="popular|special", parser=_by, autocompletion=completing.one_of(_BY),
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
    showing.show(
        found.recommend(k, by=by, without=left_out, item=like, raw=raw, context=contexts)
    )  # fmt: skip


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
