"""Options that several commands share, and what turns them into library values."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from crowdtally.curator.request import Request

RecordsArgument = Annotated[
    str, typer.Argument(metavar="RECORDS", help="Path, glob, file.duckdb#table or URL#table.")
]
UserOption = Annotated[str, typer.Option("--user", metavar="COL", help="Whose record it is.")]
ItemOption = Annotated[str, typer.Option("--item", metavar="COL", help="What is counted.")]
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
CountOption = Annotated[
    str, typer.Option("--count", metavar="records|users", help="What a count counts.")
]
BoundingOption = Annotated[
    str,
    typer.Option(
        "--bounding",
        metavar="RULE",
        help="How a user is bounded: sra, hpa, tempered, declared, dpsense or dpsense-s.",
    ),
]
ChooseOption = Annotated[
    str | None,
    typer.Option(
        "--choose",
        metavar="rank|dpsense",
        help="Choose the bound privately, up to --max-records.",
    ),
]
PopularityOption = Annotated[
    int | None,
    typer.Option(
        "--popularity-records", metavar="D", help="hpa, tempered: records per user to rank by."
    ),
]
TemperOption = Annotated[
    str | None,
    typer.Option("--temper", metavar="G", help="tempered: 0 is sra; larger is nearer to hpa."),
]
CapOption = Annotated[
    int | None,
    typer.Option("--cap", metavar="R", help="dpsense with --count records: most in one cell."),
]
ScalingsOption = Annotated[
    str | None,
    typer.Option("--scalings", metavar="S,…", help="dpsense-s: factors within 1 … 2."),
]
PairsOption = Annotated[bool, typer.Option("--pairs", help="Count pairs of items of one user too.")]
DiscoverOption = Annotated[
    bool,
    typer.Option("--discover-items", help="Release items that enough users have (needs --delta)."),
]
DeltaOption = Annotated[
    str, typer.Option("--delta", metavar="D", help="Only with --discover-items, e.g. 1e-9.")
]
MaxRecordsOption = Annotated[
    int, typer.Option("--max-records", metavar="L", help="The bound per user.")
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
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]
QuietOption = Annotated[bool, typer.Option("--quiet", help="Print no remarks on stderr.")]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show a traceback on failure.")]


def request_of(
    *,
    records: str,
    user: str,
    item: str,
    items: str | None,
    context: list[str] | None,
    values: list[str] | None,
    join: list[str] | None,
    record_id: str | None,
    split: str | None,
    **parameters: Any,
) -> Request:
    """The request that the shared options describe."""
    from crowdtally.curator.engine.expressions import split_definition
    from crowdtally.curator.engine.lists import parse_values, read_list, split_file
    from crowdtally.curator.request import make_request
    from crowdtally.curator.split import parse_split
    from crowdtally.errors import UsageError
    from crowdtally.facade import read
    from crowdtally.values.domain import Domain
    from crowdtally.values.epsilon import Epsilon

    # Public parameters first: a slip in one should not cost the reading of a long list.
    parameters["epsilon"] = Epsilon.of(parameters["epsilon"])
    shares = parse_split(split) if split is not None else None
    contexts = dict(split_definition(text) for text in context or [])
    declared = read(
        records, user=user, item=item, contexts=contexts, record_id=record_id,
        joins=[_join(text) for text in join or []],
    )  # fmt: skip
    axes = {axis.name: axis for axis in map(parse_values, values or [])}
    if len(axes) != len(values or []):
        raise UsageError("two --values options name the same context: give each once.")
    ordered = {name: axes.pop(name) for name in contexts if name in axes} | axes
    domain = None
    if items is not None:
        file, column = split_file(items)
        domain = Domain(read_list(file, item, column), ordered, item=item)
    elif ordered and not parameters.get("discover_items"):
        raise UsageError("give the public list of items with --items FILE.")
    return make_request(declared, domain, split=shares, **parameters)


def _join(text: str) -> tuple[str, str]:
    from crowdtally.errors import UsageError

    file, colon, key = text.rpartition(":")
    if not colon or not file or not key:
        raise UsageError(f"a join is FILE:KEY: received {text!r}.")
    return file, key


def remark(quiet: bool) -> Any:
    """A function that prints remarks for the curator on stderr, or not at all."""
    return (lambda _: None) if quiet else (lambda words: print(words, file=sys.stderr))
