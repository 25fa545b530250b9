"""The public options that all commands of a person share: catalogue, ε and levels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from crowdtally.errors import UsageError

if TYPE_CHECKING:
    from crowdtally.core.privacy import Epsilon
    from crowdtally.person.catalogue import Catalogue, Popularity
    from crowdtally.person.history import History
    from crowdtally.person.levels import Levels
    from crowdtally.person.plan import Plan, Policy

HistoryArgument = Annotated[
    str,
    typer.Argument(
        metavar="HISTORY",
        help="The item ids: FILE[:COLUMN], a .txt with an id on each line, or - for such lines "
        "from standard input.",
    ),
]
StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store", metavar="DIR",
        help="Your own folder of draws and their ledger; else $CROWDTALLY_PERSON_STORE, else one "
        "in your data folder.",
    ),
]  # fmt: skip
PopularityOption = Annotated[
    str | None,
    typer.Option(
        "--popularity", metavar="FILE[:COL]",
        help="Public weights of the items: which of those with the same categories are taken; "
        "else chance decides evenly.",
    ),
]  # fmt: skip
DropUnknownOption = Annotated[
    bool,
    typer.Option(
        "--drop-unknown", help="Leave out items that the catalogue does not have; else refused."
    ),
]


def plan_from(
    catalogue: Annotated[
        str,
        typer.Option(
            "--catalogue", metavar="FILE",
            help="The public catalogue, CSV, Parquet or JSON lines: a row for each item and "
            "category.",
        ),
    ],
    item: Annotated[
        str | None,
        typer.Option(
            "--item", metavar="COL",
            help="The catalogue's column of items; else item, or the first of two columns.",
        ),
    ] = None,
    category: Annotated[
        str | None,
        typer.Option(
            "--category", metavar="COL",
            help="Its column of categories; else category, or the second of two columns.",
        ),
    ] = None,
    separator: Annotated[
        str | None,
        typer.Option(
            "--separator", metavar="TEXT",
            help="What stands between categories, where a row has all of an item's.",
        ),
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            "--epsilon", metavar="E",
            help="What one item of the history may lose, exact: 0.1, 1/3, 2.",
        ),
    ] = None,
    quantify: Annotated[
        bool,
        typer.Option(
            "--quantify",
            help="Instead of --epsilon: find it by a public policy (S-PBQ, a reconstruction).",
        ),
    ] = False,
    eta: Annotated[
        str | None,
        typer.Option(
            "--eta", metavar="N",
            help="With --quantify: by how much one more unit of epsilon must lower the mean error "
            "of a count; else 1.",
        ),
    ] = None,
    least: Annotated[
        str | None,
        typer.Option("--least", metavar="E", help="With --quantify: none below it; else 0.1."),
    ] = None,
    most: Annotated[
        str | None,
        typer.Option("--most", metavar="E", help="With --quantify: none above it; else 3."),
    ] = None,
    level: Annotated[
        list[str] | None,
        typer.Option(
            "--level", metavar="CATEGORY=no|all|E",
            help="What may leave of a category: nothing, everything as it is, or perturbed with "
            "an epsilon of its own. Repeatable.",
        ),
    ] = None,
    levels_file: Annotated[
        str | None,
        typer.Option(
            "--levels", metavar="FILE",
            help="Levels from a table with the columns category and level.",
        ),
    ] = None,
) -> Plan:  # fmt: skip
    """The plan that the options describe: all of it public."""
    from crowdtally.person.device import plan_of

    # Public parameters first: a slip in one should not cost the reading of a long catalogue.
    wanted = _either(epsilon, _policy(quantify, eta=eta, least=least, most=most))
    chosen = _levels(level, levels_file)
    return plan_of(_read(catalogue, item, category, separator), wanted, chosen)


@dataclass(frozen=True)
class Public:
    """What the same options say where nothing needs to be chosen yet."""

    catalogue: Catalogue
    """The public items and their categories."""
    epsilon: Epsilon | None
    """What one item may lose, if that was typed."""
    policy: Policy | None
    """What finds it instead, if that was asked for."""
    levels: Levels
    """Of categories that have one of their own."""


def public_from(
    *, epsilon: str | None, quantify: bool, eta: str | None, least: str | None, most: str | None,
    level: list[str] | None, levels_file: str | None, **catalogue: Any,
) -> Public:  # fmt: skip
    """The same options, of which neither --epsilon nor --quantify is needed."""
    policy = _policy(quantify, eta=eta, least=least, most=most)
    wanted = None if epsilon is None and policy is None else _either(epsilon, policy)
    chosen = _levels(level, levels_file)
    read = _read(catalogue["catalogue"], *(catalogue[n] for n in ("item", "category", "separator")))
    chosen.require_known(read.categories)
    return Public(read, None if policy is not None else wanted, policy, chosen)


def takes_plan(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the public options beside its own.

    The command's first parameter receives a function that makes the plan.
    """
    return _takes(command, plan_from)


def takes_public(command: Callable[..., None]) -> Callable[..., None]:
    """The same for a command that lets a person choose later: it receives a :class:`Public`."""
    return _takes(command, public_from)


def _takes(command: Callable[..., None], make: Callable[..., Any]) -> Callable[..., None]:
    _, *mine = signature(command).parameters.values()
    shared = signature(plan_from).parameters

    @wraps(command)
    def run(**given: Any) -> None:
        options = {name: given.pop(name) for name in shared}
        command(lambda: make(**options), **given)

    # The plan's own type would import the solver, and the command line does not need it.
    hints = get_type_hints(plan_from, {**globals(), "Plan": object}, include_extras=True)
    hints |= get_type_hints(command, include_extras=True)
    together = [p.replace(annotation=hints[p.name]) for p in (*shared.values(), *mine)]
    together.sort(key=lambda parameter: parameter.default is not Parameter.empty)
    run.__annotations__ = {p.name: p.annotation for p in together}
    run.__signature__ = Signature(  # type: ignore[attr-defined]
        [p.replace(kind=Parameter.KEYWORD_ONLY) for p in together]
    )
    return run


def history_from(source: str, catalogue: Catalogue, *, drop_unknown: bool) -> History:
    """The history that was named; what was left out of it is for the person's own eyes."""
    from crowdtally.person.history import History, read_history

    ids = read_history(source, catalogue.item_axis.name)
    return History.of(ids, catalogue, drop_unknown=drop_unknown)


def popularity_from(source: str | None, catalogue: Catalogue) -> Popularity | None:
    """The public weights that were named, if any were."""
    from crowdtally.person.catalogue import read_popularity

    return None if source is None else read_popularity(source, catalogue)


def left_out(history: History) -> list[str]:
    """What was not counted of a history as it was given, for stderr."""
    said = []
    if history.unknown:
        said.append(f"{history.unknown} items that the catalogue does not have were left out.")
    if history.repeated:
        said.append(f"Items that were named again, {history.repeated} times, count once.")
    return said


def _levels(typed: list[str] | None, file: str | None) -> Levels:
    from crowdtally.person.levels import read_levels, together, typed_levels

    options = typed_levels(typed or [])
    return together(None if file is None else read_levels(file), options)


def _policy(quantify: bool, **given: str | None) -> Policy | None:
    from crowdtally.person.plan import Policy

    typed = {name: text for name, text in given.items() if text is not None}
    if not quantify:
        if typed:
            names = ", ".join(f"--{name}" for name in typed)
            raise UsageError(f"{names} goes with --quantify, which finds an epsilon by a policy.")
        return None
    return Policy.of(**typed)


def _either(epsilon: str | None, policy: Policy | None) -> Any:
    if (epsilon is None) == (policy is None):
        raise UsageError(
            "say how much may be lost: either --epsilon E, such as --epsilon 1, or --quantify, "
            "which finds one by a public policy."
        )
    if policy is not None:
        return policy
    from crowdtally.core.privacy import Epsilon
    from crowdtally.person.levels import checked

    return checked(Epsilon.of(epsilon))


def _read(file: str, item: str | None, category: str | None, separator: str | None) -> Catalogue:
    from crowdtally.person.catalogue import read_catalogue

    return read_catalogue(file, item=item, category=category, separator=separator)
