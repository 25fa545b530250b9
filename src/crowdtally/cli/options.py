"""Options that several commands share."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer


def typed_whole(text: object) -> int:
    """A whole number as typed; the option's own range is checked with the others."""
    try:
        return int(str(text))
    except ValueError:
        raise typer.BadParameter(f"{str(text)!r} is not a whole number, such as 10.") from None


def positive(text: object) -> int:
    """A whole number of at least 1."""
    number = typed_whole(text)
    if number < 1:
        raise typer.BadParameter(f"{number} is not a whole number of 1 or more.")
    return number


RecordsArgument = Annotated[
    str,
    typer.Argument(
        metavar="RECORDS", help="Path, glob, file.duckdb#table, file.sqlite#table or URL#table."
    ),
]
UserOption = Annotated[
    str | None, typer.Option("--user", metavar="COL", help="Whose record it is.")
]
PerRowOption = Annotated[
    bool, typer.Option("--user-per-row", help="Each row is one person (instead of --user).")
]
WeightOption = Annotated[
    str | None,
    typer.Option("--weight", metavar="COL", help="With --user-per-row: persons a row stands for."),
]
ItemOption = Annotated[str | None, typer.Option("--item", metavar="COL", help="What is counted.")]
AttributesOption = Annotated[
    str | None,
    typer.Option("--attributes", metavar="A,B,…", help="A table of attributes (not --item)."),
]
ItemsOption = Annotated[
    str | None, typer.Option("--items", metavar="FILE[:COL]", help="The public list of items.")
]
EpsilonOption = Annotated[
    str, typer.Option("--epsilon", metavar="E", help="Privacy loss, exact: 0.1, 1/3, 2.")
]
ContextOption = Annotated[
    list[str] | None,
    typer.Option(
        "--context", metavar="COL|NAME=EXPR", help="Count items in this context too. Repeatable."
    ),
]
ValuesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--values", metavar="NAME=a,b|0..9|@FILE[:COL]", help="A context's public values."
    ),
]
JoinOption = Annotated[
    list[str] | None,
    typer.Option("--join", metavar="FILE:KEY", help="Look up a table by a key. Repeatable."),
]
RecordIdOption = Annotated[
    str | None,
    typer.Option("--record-id", metavar="COL", help="A stored id of each record (quicker)."),
]
DeltaOption = Annotated[
    str, typer.Option("--delta", metavar="D", help="Only with --discover-items, e.g. 1e-9.")
]
SplitOption = Annotated[
    str | None,
    typer.Option("--split", metavar="NAME=SHARE,…", help="Shares of epsilon."),
]
LedgerOption = Annotated[
    str | None,
    typer.Option(
        "--ledger", metavar="PATH|URL", help="The ledger; else $CROWDTALLY_LEDGER, else your own."
    ),
]
DatasetOption = Annotated[
    str | None,
    typer.Option("--dataset", metavar="NAME", help="The name to charge under; else the source."),
]
EngineOption = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="ENGINE",
        help="duckdb (default), spark, or Spark's spark://…, sc://…, yarn, local[N].",
    ),
]
EngineSettingOption = Annotated[
    list[str] | None,
    typer.Option("--engine-setting", metavar="KEY=VALUE", help="A setting of Spark's. Repeatable."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]
QuietOption = Annotated[bool, typer.Option("--quiet", help="Print no remarks on stderr.")]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show a traceback on failure.")]


def remark(quiet: bool) -> Any:
    """A function that prints remarks for the curator on stderr, or not at all."""
    return (lambda _: None) if quiet else (lambda words: print(words, file=sys.stderr))
