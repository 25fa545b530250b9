"""Options that several commands share, and what turns them into library values."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from crowdtally.curator.request import Request
    from crowdtally.values.domain import Domain
    from crowdtally.values.epsilon import Delta, Epsilon
    from crowdtally.values.records import Records

    Check = Callable[[Records, Epsilon, Delta], None]


def whole(text: object) -> int:
    """A whole number as typed; the option's own range is checked with the others."""
    try:
        return int(str(text))
    except ValueError:
        raise typer.BadParameter(f"{str(text)!r} is not a whole number, such as 10.") from None


def positive(text: object) -> int:
    """A whole number of at least 1."""
    number = whole(text)
    if number < 1:
        raise typer.BadParameter(f"{number} is not a whole number of 1 or more.")
    return number


RecordsArgument = Annotated[
    str, typer.Argument(metavar="RECORDS", help="Path, glob, file.duckdb#table or URL#table.")
]
UserOption = Annotated[
    str | None, typer.Option("--user", metavar="COL", help="Whose record it is.")
]
PerRowOption = Annotated[
    bool, typer.Option("--user-per-row", help="Each row is one person (in place of --user).")
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
PublishingOption = Annotated[
    str,
    typer.Option(
        "--publishing",
        metavar="WAY",
        help="Which cells: dense, filter, threshold, priority or filter-priority.",
    ),
]
SidesOption = Annotated[
    str, typer.Option("--sides", metavar="one|two", help="Keep positive counts only, or both.")
]
SizeOption = Annotated[
    int | None,
    typer.Option("--size", metavar="S", parser=whole, help="How many cells to publish, about."),
]
CutOption = Annotated[
    int | None,
    typer.Option("--cut", metavar="K", parser=whole, help="filter: drop noisy counts below it."),
]
ThresholdOption = Annotated[
    str | None, typer.Option("--threshold", metavar="T", help="threshold: sample below it.")
]
GuessTotalOption = Annotated[
    int,
    typer.Option(
        "--guess-total", metavar="N", parser=whole, help="A public guess of the total count."
    ),
]
TransformOption = Annotated[
    str, typer.Option("--transform", metavar="T", help="none, dyadic, haar or sketch.")
]
OrderedOption = Annotated[
    str | None,
    typer.Option("--ordered", metavar="A,B", help="dyadic, haar: whose ranges will be asked."),
]
BucketsOption = Annotated[
    int | None,
    typer.Option("--buckets", metavar="B", parser=whole, help="sketch: buckets in a row."),
]
SketchRowsOption = Annotated[
    int, typer.Option("--sketch-rows", metavar="R", parser=whole, help="sketch: rows.")
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
        "--popularity-records",
        metavar="D",
        parser=whole,
        help="hpa, tempered: records per user to rank by.",
    ),
]
TemperOption = Annotated[
    str | None,
    typer.Option("--temper", metavar="G", help="tempered: 0 is sra; larger is nearer to hpa."),
]
CapOption = Annotated[
    int | None,
    typer.Option(
        "--cap", metavar="R", parser=whole, help="dpsense with --count records: most in one cell."
    ),
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
    int, typer.Option("--max-records", metavar="L", parser=whole, help="The bound per user.")
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


def request_of(
    records: RecordsArgument,
    epsilon: EpsilonOption,
    user: UserOption = None,
    user_per_row: PerRowOption = False,
    weight: WeightOption = None,
    item: ItemOption = None,
    attributes: AttributesOption = None,
    items: ItemsOption = None,
    context: ContextOption = None,
    values: ValuesOption = None,
    join: JoinOption = None,
    record_id: RecordIdOption = None,
    split: SplitOption = None,
    ordered: OrderedOption = None,
    count: CountOption = "records",
    bounding: BoundingOption = "sra",
    max_records: MaxRecordsOption = 10,
    choose: ChooseOption = None,
    popularity_records: PopularityOption = None,
    temper: TemperOption = None,
    cap: CapOption = None,
    scalings: ScalingsOption = None,
    pairs: PairsOption = False,
    discover_items: DiscoverOption = False,
    delta: DeltaOption = "0",
    publishing: PublishingOption = "dense",
    sides: SidesOption = "two",
    size: SizeOption = None,
    cut: CutOption = None,
    threshold: ThresholdOption = None,
    guess_total: GuessTotalOption = 0,
    transform: TransformOption = "none",
    buckets: BucketsOption = None,
    sketch_rows: SketchRowsOption = 5,
    *,
    check: Check,
) -> Request:
    """The request that the options describe; every command that makes one takes these."""
    from crowdtally.curator.engine.expressions import split_definition
    from crowdtally.curator.request import make_request
    from crowdtally.curator.split import parse_split
    from crowdtally.facade import read
    from crowdtally.values.epsilon import Delta, Epsilon

    # Public parameters first: a slip in one should not cost the reading of a long list.
    exact_epsilon, exact_delta = Epsilon.of(epsilon), Delta.of(delta)
    shares = parse_split(split) if split is not None else None
    contexts = dict(split_definition(text) for text in context or [])
    named = [name.strip() for name in attributes.split(",")] if attributes else []
    declared = read(
        records, user=user, user_per_row=user_per_row, weight=weight, item=item,
        contexts=contexts, record_id=record_id, joins=[_join(text) for text in join or []],
        attributes=named,
    )  # fmt: skip
    check(declared, exact_epsilon, exact_delta)
    domain = _domain(item, named, contexts, items, values, discover_items)
    return make_request(
        declared, domain, epsilon=exact_epsilon, delta=exact_delta, split=shares,
        bounding=bounding, max_records=max_records, choose=choose, count=count,
        popularity_records=popularity_records, temper=temper, cap=cap, scalings=scalings,
        pairs=pairs, discover_items=discover_items, publishing=publishing, sides=sides,
        size=size, cut=cut, threshold=threshold, guess_total=guess_total, transform=transform,
        ordered=ordered or (), buckets=buckets, sketch_rows=sketch_rows,
    )  # fmt: skip


def takes_request(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command all options of :func:`request_of` beside its own.

    The command's first parameter receives a function that makes the request, so that it can check
    its own options before any list is read; that function takes a check of the budget.
    """
    *given_by_options, _ = signature(request_of).parameters.values()
    shared = {parameter.name: parameter for parameter in given_by_options}
    _, *mine = signature(command).parameters.values()

    @wraps(command)
    def run(**given: Any) -> None:
        options = {name: given.pop(name) for name in shared}
        command(lambda check: request_of(**options, check=check), **given)

    together = [*shared.values(), *mine]
    together.sort(key=lambda parameter: parameter.default is not Parameter.empty)
    # The request's own type would import the engine, and the command line does not need it.
    known = {**globals(), "Request": object, "Check": object}
    hints = get_type_hints(request_of, known, include_extras=True)
    hints |= get_type_hints(command, include_extras=True)
    run.__annotations__ = {p.name: hints[p.name] for p in together}
    run.__signature__ = Signature(  # type: ignore[attr-defined]
        [p.replace(annotation=hints[p.name], kind=Parameter.KEYWORD_ONLY) for p in together]
    )
    return run


def _domain(
    item: str | None,
    attributes: list[str],
    contexts: Mapping[str, str | None],
    items: str | None,
    values: list[str] | None,
    discover: bool | None,
) -> Domain | None:
    """The public lists that --items and --values name."""
    from crowdtally.curator.engine.lists import parse_values, read_list, split_file
    from crowdtally.errors import UsageError
    from crowdtally.values.domain import Domain

    axes = {axis.name: axis for axis in map(parse_values, values or [])}
    if len(axes) != len(values or []):
        raise UsageError("two --values options name the same list: give each once.")
    if attributes:
        if items is not None:
            raise UsageError("--items goes with --item; attributes have --values NAME=… each.")
        return Domain(attributes={n: axes.pop(n) for n in attributes if n in axes} | axes)
    if items is None or item is None:
        if axes and not discover:
            raise UsageError("give the public list of items with --items FILE.")
        return None
    file, column = split_file(items)
    ordered = {name: axes.pop(name) for name in contexts if name in axes} | axes
    return Domain(read_list(file, item, column), ordered, item=item)


def _join(text: str) -> tuple[str, str]:
    from crowdtally.errors import UsageError

    file, colon, key = text.rpartition(":")
    if not colon or not file or not key:
        raise UsageError(f"a join is FILE:KEY: received {text!r}.")
    return file, key


def remark(quiet: bool) -> Any:
    """A function that prints remarks for the curator on stderr, or not at all."""
    return (lambda _: None) if quiet else (lambda words: print(words, file=sys.stderr))
