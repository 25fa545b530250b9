"""``crowdtally plan``."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdtally.cli import options
from crowdtally.cli.options import positive, takes_request

if TYPE_CHECKING:
    from crowdtally.budget import Balance
    from crowdtally.cli.options import Check
    from crowdtally.curator.plan import Plan
    from crowdtally.values.epsilon import Delta, Epsilon
    from crowdtally.values.records import Records
    from crowdtally.values.unit import PrivacyUnit


@takes_request
def plan(
    make_request: Callable[[Any], Any],
    guess_users: Annotated[
        int | None, typer.Option(metavar="N", parser=positive, help="A public guess.")
    ] = None,
    guess_records: Annotated[
        int | None, typer.Option(metavar="N", parser=positive, help="A public guess.")
    ] = None,
    query_cells: Annotated[
        int | None,
        typer.Option(metavar="R", parser=positive, help="Cells that a question will sum over."),
    ] = None,
    ledger: options.LedgerOption = None,
    dataset: options.DatasetOption = None,
    as_json: options.JsonOption = False,
    debug: options.DebugOption = False,
) -> None:
    """Show noise, size and cost of a release before anything is spent. Reads no record."""
    from crowdtally.curator.plan import make_plan
    from crowdtally.facade import dataset_of

    request = make_request(check_budget(ledger, dataset))
    made = make_plan(
        request, guess_users=guess_users, guess_records=guess_records, query_cells=query_cells
    )
    name = dataset if dataset is not None else dataset_of(request.records)
    show_plan(made, as_json, ledger, name)


def check_budget(ledger: str | None, dataset: str | None) -> Check:
    """What refuses a request that the budget does not allow, before any list is read."""
    from crowdtally.facade import dataset_of

    def check(records: Records, epsilon: Epsilon, delta: Delta) -> None:
        name = dataset if dataset is not None else dataset_of(records)
        _balance(ledger, name, records.unit, epsilon, delta)

    return check


def _balance(
    ledger: str | None, dataset: str, unit: PrivacyUnit, epsilon: Epsilon, delta: Delta
) -> Balance:
    """Where a dataset stands, if the request fits; looking makes no ledger."""
    from crowdtally.budget import Balance, Ledger, MissingLedgerError

    try:
        return Ledger.open(ledger, create=False).check(dataset, unit, epsilon, delta)
    except MissingLedgerError:
        return Balance(dataset)


def show_plan(plan: Plan, as_json: bool, ledger: str | None, dataset: str) -> None:
    """Print a plan and what the ledger says of it; raises where the budget does not allow it."""
    request = plan.request
    balance = _balance(ledger, dataset, request.records.unit, request.epsilon, request.delta)
    facts = plan.as_dict()
    if as_json:
        print(json.dumps(facts, ensure_ascii=False))
        return
    delta = f", delta {request.delta}" if request.delta.value else ""
    who = request.records.unit.who
    print(f"Cost: epsilon {request.epsilon}{delta} per {who}. {balance.describe()}")
    print("Split: " + ", ".join(f"{name} {share}" for name, share in facts["split"].items()) + ".")
    for table in facts["tables"]:
        cells = "cells not known" if table["cells"] is None else f"{table['cells']} cells"
        print(
            f"Table {table['table']} ({' × '.join(table['columns'])}): {cells}, "
            f"epsilon {table['epsilon']}, sensitivity {table['sensitivity']}, noise scale "
            f"{table['noise_scale']} (standard deviation {table['noise_std']:.4g}; 95% of the "
            f"noise within ±{table['noise_interval_half_width']})."
        )
        if table["summary"]:
            _show_summary(table["summary"])
    _show_advice(facts["advice"])
    if "threshold" in facts:
        print(f"Items are released whose noisy number of users is at least {facts['threshold']}.")
    _show_trade(facts["trade_off"], facts["max_records"])
    for words in facts["unknown"]:
        print(f"Not known: {words}.")


def _show_trade(trade: dict[str, Any] | None, limit: int) -> None:
    if trade is None:
        return
    print(
        f"If each user had {trade['records_per_user']} records, at random over the items, "
        f"{trade['kept_share']:.1%} would be counted at --max-records {limit}: an item's count "
        f"would miss about {trade['rmse_from_bounding']:.4g} from bounding and "
        f"{trade['rmse_from_noise']:.4g} from noise; the least total error is at --max-records "
        f"{trade['best_max_records']}."
    )


def _show_summary(summary: dict[str, Any]) -> None:
    cut = f"cut {summary['cut']:.6g}" if summary["cut"] else "no cut"
    tau = f", threshold {summary['threshold']:.6g}" if summary["threshold"] else ""
    size = f", at most {summary['size_at_most']} published" if summary["size_at_most"] else ""
    print(
        f"  {summary['publishing']}, {summary['sides']}-sided: {cut}{tau}; empty cells kept by "
        f"chance {summary['cells_from_noise_alone']:.4g} on average{size}."
    )


def _show_advice(advice: dict[str, Any] | None) -> None:
    if advice is None:
        return
    errors = ", ".join(f"{name} {error:.4g}" for name, error in advice["errors"].items())
    lost = ""
    if advice["cut_loses_at_most"] is not None:
        most = f"{advice['cut_loses_at_most']:.4g}"
        lost = f" Of the guessed total it holds {most}, of which a cut may lose half, or all."
    print(
        f"A sum over {advice['query_cells']} cells of {advice['table']} has, from noise and "
        f"sampling of empty cells, an error of about: {errors} (summaries of {advice['size']} "
        f"cells).{lost} For it choose --publishing {advice['choose']}: {advice['why']}."
    )
