"""``crowdtally release``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from crowdtally.cli import options
from crowdtally.cli.options import remark, request_of


def release(
    records: options.RecordsArgument,
    epsilon: options.EpsilonOption,
    user: options.UserOption = None,
    user_per_row: options.PerRowOption = False,
    weight: options.WeightOption = None,
    item: options.ItemOption = None,
    attributes: options.AttributesOption = None,
    items: options.ItemsOption = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="The folder to write.")
    ] = None,
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
    ledger: options.LedgerOption = None,
    dataset: options.DatasetOption = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop, uncharged, if a row would be dropped.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check and show the cost; read and charge nothing.")
    ] = False,
    as_json: options.JsonOption = False,
    quiet: options.QuietOption = False,
    debug: options.DebugOption = False,
) -> None:
    """Make a differentially private release from RECORDS, and charge it to the ledger."""
    from crowdtally.cli.planning import show_plan
    from crowdtally.curator.plan import make_plan
    from crowdtally.errors import UsageError
    from crowdtally.facade import dataset_of, run
    from crowdtally.published import refuse_existing

    if output is None and not dry_run:
        raise UsageError("say where to write the release: -o DIR.")
    if output is not None:
        refuse_existing(output)
    request = request_of(
        records=records, user=user, user_per_row=user_per_row, weight=weight, item=item,
        attributes=attributes, items=items, context=context, values=values,
        join=join, record_id=record_id, split=split, epsilon=epsilon, bounding=bounding,
        max_records=max_records, choose=choose, count=count,
        popularity_records=popularity_records, temper=temper, cap=cap, scalings=scalings,
        pairs=pairs, discover_items=discover_items, delta=delta,
        publishing=publishing, sides=sides, size=size, cut=cut, threshold=threshold, guess_total=guess_total,
        transform=transform, ordered=ordered, buckets=buckets, sketch_rows=sketch_rows, strict=strict,
    )  # fmt: skip
    if dry_run:
        name = dataset or dataset_of(request.records)
        show_plan(make_plan(request), as_json, request, ledger, name)
        return
    made = run(request, output=output, ledger=ledger, dataset=dataset, tell=remark(quiet))
    say = remark(quiet)
    say(f"Released to {made.folder}: {made.metadata['guarantee']['words']}")
    charged = made.metadata["charged"]
    limit = f" of {charged['limit']}" if charged["limit"] else "; no limit is set"
    say(f"Charged epsilon {charged['epsilon']}; spent so far {charged['spent_after']}{limit}.")
    if not charged["limit"]:
        name = dataset or dataset_of(request.records)
        say(f"Set a limit with: crowdtally ledger create {name!r} --epsilon E")
    print(json.dumps(made.metadata, ensure_ascii=False) if as_json else made.folder)
