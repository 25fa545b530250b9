"""``crowdtally plan``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdtally.cli import options
from crowdtally.cli.accounts import Account
from crowdtally.cli.options import positive
from crowdtally.cli.requesting import takes_request

if TYPE_CHECKING:
    from crowdtally.curator.plan.plan import Plan


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
            "--accuracy-of",
            metavar="item|cell|sum:R",
            rich_help_panel="budget",
            help="With --half-width: of one item's count (the default), of one cell of the "
            "contexts' table, or of a sum of R cells of it.",
        ),
    ] = None,
    ledger: options.LedgerOption = None,
    dataset: options.DatasetOption = None,
    new_dataset: options.NewDatasetOption = False,
    as_json: options.JsonOption = False,
    debug: options.DebugOption = False,
) -> None:
    """Show noise, size and cost of a release before anything is spent. Reads no record."""
    from crowdtally.curator.inspect import check_columns
    from crowdtally.curator.plan.accuracy import LARGEST, Target, check_either
    from crowdtally.curator.plan.plan import make_plan

    check_either(epsilon, half_width, accuracy_of)
    account = Account(ledger, dataset, new_dataset, looks_only=True)
    if epsilon is None:
        target = Target.of(half_width, accuracy_of)
        request = make_request(lambda *_: None, epsilon=str(LARGEST))
    else:
        target, request = None, make_request(account.check, epsilon=epsilon)
    made = make_plan(
        request, guess_users=guess_users, guess_records=guess_records, query_cells=query_cells,
        target=target, unseen=check_columns(request.sources, request.lists),
    )  # fmt: skip
    show_plan(made, as_json, account)


def show_plan(plan: Plan, as_json: bool, account: Account) -> None:
    """Print a plan and what the ledger says of it; raises where the budget does not allow it."""
    from crowdtally.curator.plan.words import first_lines, lines

    request = plan.request
    standing = account.standing(request.sources, request.epsilon, request.delta, request.paid.rho)
    facts = plan.as_dict()
    if as_json:
        if standing.is_new:
            print(standing.new_words(), file=sys.stderr)
        print(json.dumps(facts, ensure_ascii=False))
        return
    for line in first_lines(facts):
        print(line)
    delta = f", delta {request.delta}" if request.delta.value else ""
    who = request.records.unit.who
    said = " ".join(standing.sentences())
    print(f"Cost: epsilon {request.epsilon}{delta} per {who}. {said}")
    for line in lines(facts):
        print(line)
