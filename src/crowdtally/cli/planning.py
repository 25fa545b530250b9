"""``crowdtally plan``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from crowdtally.cli import options
from crowdtally.cli.options import request_of

if TYPE_CHECKING:
    from crowdtally.curator.plan import Plan
    from crowdtally.curator.request import Request


def plan(
    records: options.RecordsArgument,
    user: options.UserOption,
    item: options.ItemOption,
    items: options.ItemsOption,
    epsilon: options.EpsilonOption,
    context: options.ContextOption = None,
    values: options.ValuesOption = None,
    join: options.JoinOption = None,
    record_id: options.RecordIdOption = None,
    count: options.CountOption = "records",
    bounding: options.BoundingOption = "sra",
    max_records: options.MaxRecordsOption = 10,
    split: options.SplitOption = None,
    guess_users: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="A public guess.")
    ] = None,
    guess_records: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="A public guess.")
    ] = None,
    ledger: options.LedgerOption = None,
    dataset: options.DatasetOption = None,
    as_json: options.JsonOption = False,
    debug: options.DebugOption = False,
) -> None:
    """Show noise, size and cost of a release before anything is spent. Reads no record."""
    from crowdtally.curator.plan import make_plan
    from crowdtally.facade import dataset_of

    request = request_of(
        records=records, user=user, item=item, items=items, context=context, values=values,
        join=join, record_id=record_id, split=split, epsilon=epsilon, bounding=bounding,
        max_records=max_records, count=count,
    )  # fmt: skip
    made = make_plan(request, guess_users=guess_users, guess_records=guess_records)
    name = dataset or dataset_of(request.records)
    show_plan(made, as_json, request, ledger, name)


def show_plan(
    plan: Plan, as_json: bool, request: Request, ledger: str | None, dataset: str
) -> None:
    """Print a plan and what the ledger says of it; raises where the budget does not allow it."""
    from crowdtally.budget import Ledger
    from crowdtally.values.epsilon import Delta

    books = Ledger.open(ledger)
    balance = books.check(dataset, request.records.unit, request.epsilon, Delta())
    if as_json:
        print(json.dumps(plan.as_dict(), ensure_ascii=False))
        return
    print(f"Cost: epsilon {request.epsilon} per user. {balance.describe()}")
    for table in plan.as_dict()["tables"]:
        print(
            f"Table {table['table']} ({' × '.join(table['columns'])}): {table['cells']} cells, "
            f"epsilon {table['epsilon']}, sensitivity {table['sensitivity']}, noise scale "
            f"{table['noise_scale']} (standard deviation {table['noise_std']:.4g}; 95% of the "
            f"noise within ±{table['noise_interval_half_width']})."
        )
    if plan.kept_share is not None:
        print(
            f"At most about {float(plan.kept_share):.1%} of the records are counted if users have "
            f"{float(plan.records_per_user or 0):.4g} records each; fewer where users differ."
        )
    for words in plan.as_dict()["unknown"]:
        print(f"Not known: {words}.")
