"""The options that describe a release, put together: what ``release`` and ``plan`` share.

Those that say where the records are stand here; those of the method and the form come from their
one declaration, ``curator/request/options.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from crowdtally.cli import syntax
from crowdtally.cli.options import (
    AttributesOption,
    ContextOption,
    DeltaOption,
    EpsilonOption,
    ItemOption,
    ItemsOption,
    JoinOption,
    PerRowOption,
    RecordIdOption,
    RecordsArgument,
    SplitOption,
    UserOption,
    ValuesOption,
    WeightOption,
    typed_whole,
)
from crowdtally.curator.request.options import Option, declared

if TYPE_CHECKING:
    from crowdtally.curator.engine.located import Sources
    from crowdtally.curator.request.request import Request
    from crowdtally.values.epsilon import Delta, Epsilon

    Check = Callable[[Sources, Epsilon, Delta], None]


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
    delta: DeltaOption = "0",
    *,
    check: Check,
    **options: Any,
) -> Request:
    """The request that the options describe; every command that makes one takes these."""
    from crowdtally.cli.domains import domain_of
    from crowdtally.curator.engine.located import Sources
    from crowdtally.curator.request.declaring import declare
    from crowdtally.curator.request.request import check_options, make_request
    from crowdtally.values.epsilon import Delta, Epsilon

    # Public parameters first: a slip in one should not cost the reading of a long list.
    exact_epsilon, exact_delta = Epsilon.of(epsilon), Delta.of(delta)
    shares = syntax.shares(split) if split is not None else None
    declaration = declare(
        records, user=user, user_per_row=user_per_row, weight=weight, item=item,
        contexts=syntax.once_each(syntax.definition(text) for text in context or []),
        record_id=record_id, joins=[syntax.joined(text) for text in join or []],
        attributes=syntax.names(attributes, "--attributes") if attributes is not None else [],
    )  # fmt: skip
    check_options(declaration, options)
    sources = Sources(declaration)
    check(sources, exact_epsilon, exact_delta)
    domain = domain_of(sources, items, values, discover=options["discover_items"])
    return make_request(
        declaration, domain, epsilon=exact_epsilon, delta=exact_delta, split=shares,
        sources=sources, **options,
    )  # fmt: skip


def takes_request(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command all options of a request beside its own.

    The command's first parameter receives a function that makes the request, so that it can check
    its own options before any list is read; that function takes a check of the budget.
    """
    *given_by_options, _, _ = signature(request_of).parameters.values()
    _, *mine = signature(command).parameters.values()
    own = {parameter.name for parameter in mine}
    # What a command takes itself, such as an epsilon that may be missing, it hands over itself.
    shared = {one.name: one for one in given_by_options if one.name not in own}
    formed = {name: _parameter(name, *option) for name, option in declared().items()}

    @wraps(command)
    def run(**given: Any) -> None:
        options = {name: given.pop(name) for name in (*shared, *formed)}
        command(lambda check, **more: request_of(**options, **more, check=check), **given)

    # The request's own type would import the engine, and the command line does not need it.
    known = {**globals(), "Request": object, "Check": object}
    hints = get_type_hints(request_of, known, include_extras=True)
    hints |= get_type_hints(command, include_extras=True)
    together = [p.replace(annotation=hints[p.name]) for p in (*shared.values(), *mine)]
    together[len(shared) : len(shared)] = formed.values()
    together.sort(key=lambda parameter: parameter.default is not Parameter.empty)
    run.__annotations__ = {p.name: p.annotation for p in together}
    run.__signature__ = Signature(  # type: ignore[attr-defined]
        [p.replace(kind=Parameter.KEYWORD_ONLY) for p in together]
    )
    return run


def _parameter(name: str, kind: Any, option: Option) -> Parameter:
    """A declared option as the command line's: whole numbers are parsed, all else is text."""
    flag = f"--{name.replace('_', '-')}"
    if option.metavar is None:
        shown: Any = Annotated[bool, typer.Option(flag, help=option.help)]
        return Parameter(name, Parameter.KEYWORD_ONLY, default=option.default, annotation=shown)
    parser = typed_whole if option.is_whole else None
    typed = typer.Option(flag, metavar=option.metavar, help=option.help, parser=parser)
    default = None if option.default == () else option.default
    kind = int if option.is_whole else str
    shown = Annotated[kind if default is not None else kind | None, typed]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=shown)
