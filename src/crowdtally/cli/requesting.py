"""The options that describe a release, put together: what ``release`` and ``plan`` share."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Any, get_type_hints

from crowdtally.cli.options import (
    AttributesOption,
    BoundingOption,
    BucketsOption,
    CapOption,
    ChooseOption,
    ContextOption,
    CountOption,
    CutOption,
    DeltaOption,
    DiscoverOption,
    EpsilonOption,
    GuessTotalOption,
    ItemOption,
    ItemsOption,
    JoinOption,
    MaxRecordsOption,
    OrderedOption,
    PairsOption,
    PerRowOption,
    PopularityOption,
    PublishingOption,
    RecordIdOption,
    RecordsArgument,
    ScalingsOption,
    SidesOption,
    SizeOption,
    SketchRowsOption,
    SplitOption,
    TemperOption,
    ThresholdOption,
    TransformOption,
    UserOption,
    ValuesOption,
    WeightOption,
)

if TYPE_CHECKING:
    from crowdtally.curator.request.request import Request
    from crowdtally.values.domain import Domain
    from crowdtally.values.epsilon import Delta, Epsilon
    from crowdtally.values.records import Records

    Check = Callable[[Records, Epsilon, Delta], None]


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
    from crowdtally.curator.request.request import make_request
    from crowdtally.curator.request.split import parse_split
    from crowdtally.facade import read
    from crowdtally.values.epsilon import Delta, Epsilon

    # Public parameters first: a slip in one should not cost the reading of a long list.
    exact_epsilon, exact_delta = Epsilon.of(epsilon), Delta.of(delta)
    shares = parse_split(split) if split is not None else None
    contexts = _contexts([split_definition(text) for text in context or []])
    named = _names(attributes) if attributes is not None else []
    declared = read(
        records, user=user, user_per_row=user_per_row, weight=weight, item=item,
        contexts=contexts, record_id=record_id, joins=[_join(text) for text in join or []],
        attributes=named,
    )  # fmt: skip
    check(declared, exact_epsilon, exact_delta)
    domain = _domain(declared, items, values, discover_items)
    return make_request(
        declared, domain, epsilon=exact_epsilon, delta=exact_delta, split=shares,
        bounding=bounding, max_records=max_records, choose=choose, count=count,
        popularity_records=popularity_records, temper=temper, cap=cap, scalings=scalings,
        pairs=pairs, discover_items=discover_items, publishing=publishing, sides=sides,
        size=size, cut=cut, threshold=threshold, guess_total=guess_total, transform=transform,
        ordered=ordered or (), buckets=buckets, sketch_rows=sketch_rows,
    )  # fmt: skip


def _contexts(given: list[tuple[str, str | None]]) -> dict[str, str | None]:
    from crowdtally.errors import UsageError

    contexts = dict(given)
    if len(contexts) != len(given):
        names = [name for name, _ in given]
        twice = next(name for name in names if names.count(name) > 1)
        raise UsageError(f"context {twice!r} is given twice: give each --context once.")
    return contexts


def _names(text: str) -> list[str]:
    from crowdtally.errors import UsageError

    names = [name.strip() for name in text.split(",")]
    if "" in names:
        raise UsageError(f"--attributes is A,B,C, the names of columns: received {text!r}.")
    return names


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
    records: Records, items: str | None, values: list[str] | None, discover: bool | None
) -> Domain | None:
    """The public lists that --items and --values name."""
    from crowdtally.curator.request.lists import parse_values, read_list, split_file
    from crowdtally.errors import UsageError
    from crowdtally.values.domain import Domain

    item, attributes, contexts = records.item, records.attributes, records.contexts
    axes = {axis.name: axis for axis in (parse_values(text, records) for text in values or [])}
    if len(axes) != len(values or []):
        raise UsageError("two --values options name the same list: give each once.")
    if attributes:
        if items is not None:
            raise UsageError("--items goes with --item; attributes have --values NAME=… each.")
        if not axes:
            raise UsageError(
                f"give the public values of each attribute: --values {attributes[0]}=a,b,c, or "
                "NAME=0..120, or NAME=@FILE."
            )
        return Domain(attributes={n: axes.pop(n) for n in attributes if n in axes} | axes)
    if items is None or item is None:
        if axes and not discover:
            raise UsageError("give the public list of items with --items FILE.")
        return None
    file, column = split_file(items)
    ordered = {name: axes.pop(name) for name in contexts if name in axes} | axes
    return Domain(read_list(file, item, column, apart_from=records), ordered, item=item)


def _join(text: str) -> tuple[str, str]:
    from crowdtally.errors import UsageError

    file, colon, key = text.rpartition(":")
    if not colon or not file or not key:
        raise UsageError(f"a join is FILE:KEY: received {text!r}.")
    return file, key
