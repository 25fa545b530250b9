"""``crowdtally plan``."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdtally.cli import options
from crowdtally.cli.options import positive
from crowdtally.cli.requesting import takes_request

if TYPE_CHECKING:
    from crowdtally.budget import Balance
    from crowdtally.cli.requesting import Check
    from crowdtally.curator.engine.located import Sources
    from crowdtally.curator.planning.plan import Plan
    from crowdtally.values.epsilon import Delta, Epsilon


@takes_request
def plan(
    make_request: Callable[..., Any],
    guess_users: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=positive,
            rich_help_panel="guess",
            help="A public guess of the number of users.",
        ),
    ] = None,
    guess_records: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=positive,
            rich_help_panel="guess",
            help="A public guess of the number of records.",
        ),
    ] = None,
    query_cells: Annotated[
        int | None,
        typer.Option(
            metavar="R",
            parser=positive,
            rich_help_panel="guess",
            help="Cells that a question will sum over: compares ways of publishing for it.",
        ),
    ] = None,
    epsilon: options.PerhapsEpsilonOption = None,
    half_width: Annotated[
        str | None,
        typer.Option(
            "--half-width",
            metavar="N",
            rich_help_panel="budget",
            help="Instead of --epsilon: find the smallest one whose noise interval is at most ±N.",
        ),
    ] = None,
    accuracy_of: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="item|cell|sum:R",
            rich_help_panel="budget",
            help="With --half-width: of one item's count (the default), of one cell of the "
            "contexts' table, or of a sum of R cells of it.",
        ),
    ] = None,
    ledger: options.LedgerOption = None,
    dataset: options.DatasetOption = None,
    as_json: options.JsonOption = False,
    debug: options.DebugOption = False,
) -> None:
    """Show noise, size and cost of a release before anything is spent. Reads no record."""
    from crowdtally.curator.inspecting.schema import check_columns
    from crowdtally.curator.planning.accuracy import LARGEST, Target, check_either
    from crowdtally.curator.planning.plan import make_plan

    check_either(epsilon, half_width, accuracy_of)
    if epsilon is None:
        target = Target.of(half_width, accuracy_of)
        request = make_request(lambda *_: None, epsilon=str(LARGEST))
    else:
        target, request = None, make_request(check_budget(ledger, dataset), epsilon=epsilon)
    made = make_plan(
        request, guess_users=guess_users, guess_records=guess_records, query_cells=query_cells,
        target=target, unseen=check_columns(request.sources, request.domain),
    )  # fmt: skip
    show_plan(made, as_json, ledger, dataset)


def check_budget(ledger: str | None, dataset: str | None) -> Check:
    """What refuses a request that the budget does not allow, before any list is read."""

    def check(sources: Sources, epsilon: Epsilon, delta: Delta) -> None:
        _balance(ledger, dataset, sources, epsilon, delta)

    return check


def _balance(
    ledger: str | None, given: str | None, sources: Sources, epsilon: Epsilon, delta: Delta
) -> Balance:
    """Where a dataset stands, if the request fits; looking makes no ledger."""
    from crowdtally.budget import Balance, Ledger, MissingLedgerError
    from crowdtally.curator.dataset import dataset_of

    try:
        books = Ledger.open(ledger, create=False)
    except MissingLedgerError:
        return Balance(dataset_of(sources, given, ()).name)
    found = dataset_of(sources, given, books.names())
    return books.check(
        found.name,
        sources.declared.unit,
        epsilon,
        delta,
        sources=found.sources,
        chosen=found.chosen,
    )


def show_plan(plan: Plan, as_json: bool, ledger: str | None, dataset: str | None) -> None:
    """Print a plan and what the ledger says of it; raises where the budget does not allow it."""
    from crowdtally.curator.planning.words import first_lines, lines

    request = plan.request
    balance = _balance(ledger, dataset, request.sources, request.epsilon, request.delta)
    facts = plan.as_dict()
    if as_json:
        print(json.dumps(facts, ensure_ascii=False))
        return
    for line in first_lines(facts):
        print(line)
    delta = f", delta {request.delta}" if request.delta.value else ""
    who = request.records.unit.who
    print(f"Cost: epsilon {request.epsilon}{delta} per {who}. {balance.describe(ledger)}")
    for line in lines(facts):
        print(line)
