"""``crowdtally plan``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdtally.cli import options
from crowdtally.cli.options import request_of

if TYPE_CHECKING:
    from crowdtally.curator.plan import Plan
    from crowdtally.curator.request import Request


def plan(
    records: options.RecordsArgument,
    epsilon: options.EpsilonOption,
    user: options.UserOption = None,
    user_per_row: options.PerRowOption = False,
    weight: options.WeightOption = None,
    item: options.ItemOption = None,
    attributes: options.AttributesOption = None,
    items: options.ItemsOption = None,
    context: options.ContextOption = None,
    values: options.ValuesOption = None,
    join: options.JoinOption = None,
    record_id: options.RecordIdOption = None,
    count: options.CountOption = "records",
    bounding: options.BoundingOption = "sra",
    max_records: options.MaxRecordsOption = 10,
    choose: options.ChooseOption = None,
    popularity_records: options.PopularityOption = None,
    temper: options.TemperOption = None,
    cap: options.CapOption = None,
    scalings: options.ScalingsOption = None,
    pairs: options.PairsOption = False,
    discover_items: options.DiscoverOption = False,
    delta: options.DeltaOption = "0",
    publishing: options.PublishingOption = "dense",
    sides: options.SidesOption = "two",
    size: options.SizeOption = None,
    cut: options.CutOption = None,
    threshold: options.ThresholdOption = None,
    guess_total: options.GuessTotalOption = 0,
    transform: options.TransformOption = "none",
    ordered: options.OrderedOption = None,
    buckets: options.BucketsOption = None,
    sketch_rows: options.SketchRowsOption = 5,
    split: options.SplitOption = None,
    guess_users: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="A public guess.")
    ] = None,
    guess_records: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="A public guess.")
    ] = None,
    query_cells: Annotated[
        int | None, typer.Option(metavar="R", min=1, help="Cells that a question will sum over.")
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
        records=records, user=user, user_per_row=user_per_row, weight=weight, item=item,
        attributes=attributes, items=items, context=context, values=values,
        join=join, record_id=record_id, split=split, epsilon=epsilon, bounding=bounding,
        max_records=max_records, choose=choose, count=count,
        popularity_records=popularity_records, temper=temper, cap=cap, scalings=scalings,
        pairs=pairs, discover_items=discover_items, delta=delta,
        publishing=publishing, sides=sides, size=size, cut=cut, threshold=threshold, guess_total=guess_total,
        transform=transform, ordered=ordered, buckets=buckets, sketch_rows=sketch_rows,
    )  # fmt: skip
    made = make_plan(
        request, guess_users=guess_users, guess_records=guess_records, query_cells=query_cells
    )
    name = dataset or dataset_of(request.records)
    show_plan(made, as_json, request, ledger, name)


def show_plan(
    plan: Plan, as_json: bool, request: Request, ledger: str | None, dataset: str
) -> None:
    """Print a plan and what the ledger says of it; raises where the budget does not allow it."""
    from crowdtally.budget import Ledger

    books = Ledger.open(ledger)
    balance = books.check(dataset, request.records.unit, request.epsilon, request.delta)
    facts = plan.as_dict()
    if as_json:
        print(json.dumps(facts, ensure_ascii=False))
        return
    delta = f", delta {request.delta}" if request.delta.value else ""
    print(f"Cost: epsilon {request.epsilon}{delta} per user. {balance.describe()}")
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
    print(
        f"A sum over {advice['query_cells']} cells of {advice['table']} has, from noise and "
        f"sampling of empty cells, an error of about: {errors}. "
        f"For it choose --publishing {advice['choose']}: {advice['why']}."
    )
