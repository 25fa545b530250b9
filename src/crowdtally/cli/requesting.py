"""The options that describe a release, put together: what ``release`` and ``plan`` share.

Those that say where the records are stand here; those of the method and the form come from their
one declaration, ``curator/request/options.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer

from crowdtally.cli import syntax
from crowdtally.cli.completing import one_of
from crowdtally.cli.options import (
    AttributesOption,
    BoundedToOption,
    CellsOnceOption,
    ContextOption,
    DeltaOption,
    ItemOption,
    ItemsOption,
    JoinOption,
    MaxQuantityOption,
    PerhapsEpsilonOption,
    PerRowOption,
    QuantityOption,
    RecordIdOption,
    RecordsArgument,
    SamePersonOption,
    SplitOption,
    TimezoneOption,
    TypeOption,
    UserOption,
    ValuesOption,
    WeightOption,
    WhereOption,
    typed_whole,
)
from crowdtally.core.row_files import file_and_column
from crowdtally.curator.request.options import Option, declared, flag_of

if TYPE_CHECKING:
    from crowdtally.core.privacy import Delta, Epsilon
    from crowdtally.curator.request.request import Request, Subject
    from crowdtally.records.locate import Sources

    Check = Callable[[Sources, Epsilon, Delta], None]


Value = TypeVar("Value")


def request_of(
    records: RecordsArgument,
    epsilon: PerhapsEpsilonOption,
    user: UserOption = None,
    user_per_row: PerRowOption = False,
    weight: WeightOption = None,
    bounded_to: BoundedToOption = None,
    cells_once: CellsOnceOption = False,
    item: ItemOption = None,
    attributes: AttributesOption = None,
    items: ItemsOption = None,
    context: ContextOption = None,
    values: ValuesOption = None,
    where: WhereOption = None,
    timezone: TimezoneOption = "UTC",
    type_: TypeOption = None,
    join: JoinOption = None,
    same_person: SamePersonOption = None,
    quantity: QuantityOption = None,
    max_quantity: MaxQuantityOption = None,
    record_id: RecordIdOption = None,
    split: SplitOption = None,
    delta: DeltaOption = "0",
    *,
    check: Check | None,
    **options: Any,
) -> Request | Subject:
    """The request that the options describe; every command that makes one takes these.

    Without ``epsilon``, where a command does not need it, what the request would count.
    """
    from crowdtally.cli.domains import domain_of
    from crowdtally.core.privacy import Delta, Epsilon
    from crowdtally.curator.request.declare import declare
    from crowdtally.curator.request.request import check_options, make_request, make_subject
    from crowdtally.records.locate import Sources

    # Public parameters first: a slip in one should not cost the reading of a long list.
    exact_epsilon = Epsilon.of(epsilon) if epsilon is not None else None
    exact_delta = Delta.of(delta)
    shares = _given(split, syntax.shares)
    declaration = declare(
        records,
        user=_given(user, lambda text: syntax.names(text, "--user")),
        user_per_row=user_per_row,
        weight=weight,
        bounded_to=bounded_to,
        cells_once=cells_once,
        item=_given(item, syntax.item),
        contexts=syntax.once_each(syntax.definition(text) for text in context or []),
        where=where,
        timezone=timezone,
        types=syntax.types(type_ or []),
        record_id=record_id,
        joins=[syntax.joined(text) for text in join or []],
        same_person=_given(same_person, file_and_column),
        quantity=quantity,
        max_quantity=max_quantity,
        attributes=_given(attributes, lambda text: syntax.names(text, "--attributes")) or [],
    )
    check_options(declaration, options)
    sources = Sources(declaration)
    if check is not None and exact_epsilon is not None:
        check(sources, exact_epsilon, exact_delta)
    discovers = bool(options["discover_items"] or options["discover"])
    domain = domain_of(sources, items, values, discover=discovers)
    if exact_epsilon is None:
        return make_subject(declaration, domain, sources=sources, **options)
    return make_request(
        declaration, domain, epsilon=exact_epsilon, delta=exact_delta, split=shares,
        sources=sources, **options,
    )  # fmt: skip


def subject_of(**given: Any) -> Subject:
    """What the options would count. No ledger is asked: nothing is charged."""
    from crowdtally.curator.request.request import Subject

    made = request_of(**given, check=None)
    return made if isinstance(made, Subject) else made.subject


def takes_subject(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command all options of a request, of which ``--epsilon`` may be left out.

    The command's first parameter receives a function that says what would be counted.
    """
    shared = _shared()
    shared["epsilon"] = shared["epsilon"].replace(default=None)
    return _taking(command, shared, lambda options: lambda: subject_of(**options))


def takes_counted(without: Collection[str]) -> Callable[..., Any]:
    """Give a command the options that say what is counted, and of the others all but some.

    Those that it has itself, or that are ``without``, are for it to decide. Its first parameter
    receives a function that takes options and says what would be counted, and second the options.
    """

    def taking(command: Callable[..., None]) -> Callable[..., None]:
        def maker(options: Mapping[str, Any]) -> Any:
            usual = {name: option.default or None for name, (_, option) in declared().items()}
            asked = {name: options[name] for name in options if name in usual}
            about = {name: options[name] for name in options if name not in usual}
            kind = {name: asked[name] for name in _COUNTED if name in asked}
            return lambda: subject_of(**about, epsilon=None, **(usual | kind)), asked

        return _taking(command, _shared(), maker, without)

    return taking


_COUNTED = ("count", "discover_items", "discover", "pairs")
"""The options of a release that say what is counted."""


def _given(text: str | None, parse: Callable[[str], Value]) -> Value | None:
    """What was typed, parsed; None where nothing was."""
    return None if text is None else parse(text)


def takes_request(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command all options of a request beside its own.

    The command's first parameter receives a function that makes the request, so that it can check
    its own options before any list is read; that function takes a check of the budget.
    """

    def maker(options: Mapping[str, Any]) -> Callable[..., Any]:
        return lambda check, **more: request_of(**options, **more, check=check)

    return _taking(command, _shared(), maker)


def _shared() -> dict[str, Parameter]:
    *given_by_options, _, _ = signature(request_of).parameters.values()
    return {parameter.name: parameter for parameter in given_by_options}


def _taking(
    command: Callable[..., None],
    shared: Mapping[str, Parameter],
    maker: Callable[[Mapping[str, Any]], Any],
    without: Collection[str] = (),
) -> Callable[..., None]:
    _, *mine = signature(command).parameters.values()
    # What a command takes itself, such as an epsilon that may be missing, it hands over itself.
    own = {*(parameter.name for parameter in mine), *without}
    shared = {name: one for name, one in shared.items() if name not in own}
    formed = {n: _parameter(n, *option) for n, option in declared().items() if n not in own}

    @wraps(command)
    def run(**given: Any) -> None:
        options = {name: given.pop(name) for name in (*shared, *formed)}
        command(maker(options), **given)

    # The request's own type would import the engine, and the command line does not need it.
    known = {**globals(), "Request": object, "Subject": object, "Check": object}
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
    flag = flag_of(name)
    told: dict[str, Any] = {"help": option.help, "rich_help_panel": option.group}
    if option.metavar is None:
        shown: Any = Annotated[bool, typer.Option(flag, **told)]
        return Parameter(name, Parameter.KEYWORD_ONLY, default=option.default, annotation=shown)
    parser = typed_whole if option.is_whole else None
    offered = one_of(option.names) if option.names else None
    typed = typer.Option(
        flag, metavar=option.metavar, parser=parser, autocompletion=offered, **told
    )
    default = None if option.default == () else option.default
    kind = int if option.is_whole else str
    shown = Annotated[kind if default is not None else kind | None, typed]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=shown)
