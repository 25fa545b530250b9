"""``crowdtally release``."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdtally.cli import options, syntax
from crowdtally.cli.options import remark
from crowdtally.cli.requesting import takes_request

if TYPE_CHECKING:
    from crowdtally.budget import Charged


@takes_request
def release(
    make_request: Callable[[Any], Any],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            rich_help_panel="first",
            help="The folder to write; it must not exist, the folder around it must.",
        ),
    ] = None,
    ledger: options.LedgerOption = None,
    dataset: options.DatasetOption = None,
    purpose: Annotated[
        str | None,
        typer.Option(
            "--purpose",
            metavar="TEXT",
            rich_help_panel="budget",
            help="What the release is for, in your words; the ledger keeps it.",
        ),
    ] = None,
    request_id: Annotated[
        str | None,
        typer.Option(
            "--request-id",
            metavar="KEY",
            rich_help_panel="budget",
            help="A name for this one request: made again with it, it is charged once, and the "
            "release that it made is shown.",
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            rich_help_panel="stop",
            help="Stop, uncharged, if a row would be dropped: --most-dropped 0.",
        ),
    ] = False,
    most_dropped: Annotated[
        str | None,
        typer.Option(
            "--most-dropped",
            metavar="SHARE",
            rich_help_panel="stop",
            help="Stop, uncharged, if more than this share of all rows would be dropped, exact: "
            "0.1, 1/10. Readers see whether there is a release.",
        ),
    ] = None,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes",
            "-y",
            rich_help_panel="stop",
            help="Do not ask, on a terminal, where more than half of all rows would be dropped.",
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            rich_help_panel="stop",
            help="Check parameters, columns and budget, and show the plan; read no record, charge "
            "and write nothing.",
        ),
    ] = False,
    engine: options.EngineOption = None,
    engine_setting: options.EngineSettingOption = None,
    as_json: options.JsonOption = False,
    quiet: options.QuietOption = False,
    debug: options.DebugOption = False,
) -> None:
    """Make a differentially private release from RECORDS, and charge it to the ledger."""
    from crowdtally.cli.asking import asker, somebody_is_there
    from crowdtally.cli.planning import check_budget, show_plan
    from crowdtally.cli.progress import Progress
    from crowdtally.curator.inspecting.schema import check_columns
    from crowdtally.curator.planning.plan import make_plan
    from crowdtally.curator.publish import publish
    from crowdtally.curator.request.request import share_dropped
    from crowdtally.facade import surroundings
    from crowdtally.published.what_counts import counting_remarks

    settings = syntax.settings(engine_setting or [])
    earlier = _made_before(ledger, request_id)
    with _together(lambda: _check_output(output, dry_run, is_new=request_id is None)):
        most = share_dropped(most_dropped, strict=strict)
        # With an id it may be charged already, and its folder there: that is looked up first.
        check = None if request_id else check_budget(ledger, dataset)
        request = replace(make_request(check), most_dropped=most)
    if dry_run and earlier is not None:
        remark(quiet)(_used_before(earlier))
        return
    if dry_run:
        unseen = check_columns(request.sources, request.domain)
        show_plan(make_plan(request, unseen=unseen), as_json, ledger, dataset)
        return
    say = remark(quiet)
    with Progress.on_terminal(quiet=quiet) as progress:
        asked = somebody_is_there() and not yes
        outside, _ = surroundings(
            request.sources, output=output, ledger=ledger, dataset=dataset,
            tell=progress.between(say), confirm=asker(progress.clear) if asked else None,
            stage=progress.stage, engine=engine, engine_settings=settings, purpose=purpose,
            request_id=request_id,
        )  # fmt: skip
        made = publish(request, outside)
    say(f"Released to {made.folder}: {made.metadata['guarantee']['words']}")
    cost = made.metadata["charged"]
    charged = _charged(cost, outside.dataset.name, request, ledger, earlier)
    for words in (*_found(made.metadata), *counting_remarks(made), *charged):
        say(words)
    print(json.dumps(made.metadata, ensure_ascii=False) if as_json else made.folder)


def _made_before(ledger: str | None, request_id: str | None) -> Charged | None:
    """The charge of a request id that was used before; looking makes no ledger."""
    from crowdtally.budget import Ledger, MissingLedgerError

    if request_id is None:
        return None
    try:
        with Ledger.open(ledger) as books:
            return books.request(request_id)
    except MissingLedgerError:
        return None


def _used_before(earlier: Charged) -> str:
    return (
        f"The request id was used before: its charge is entry {earlier.id}, {earlier.state}. The "
        "same request is not charged again."
    )


def _charged(
    charged: Mapping[str, Any],
    dataset: str,
    request: Any,
    ledger: str | None,
    earlier: Charged | None,
) -> Iterator[str]:
    """What the release cost now, and how to set a limit where there is none."""
    if earlier is not None and earlier.state == "published":
        return
    limit = f" of {charged['limit']}" if charged["limit"] else "; no limit is set"
    yield f"Charged epsilon {charged['epsilon']}; spent so far {charged['spent_after']}{limit}."
    if not charged["limit"]:
        delta = " --delta D" if request.delta.value else ""
        where = f" --ledger {shlex.quote(ledger)}" if ledger else ""
        create = f"crowdtally ledger create {shlex.quote(dataset)} --epsilon E{delta}{where}"
        yield f"Set a limit with: {create}"


def _check_output(output: Path | None, dry_run: bool, *, is_new: bool) -> None:
    """Where the request may have been made before, its folder may rightly be there."""
    from crowdtally.errors import UsageError
    from crowdtally.published import check_target

    if output is None and not dry_run:
        raise UsageError("say where to write the release: -o DIR.")
    if output is not None and is_new:
        check_target(output)


@contextmanager
def _together(check: Callable[[], None]) -> Iterator[None]:
    """Make a check too, and tell what it found beside what else is wrong: one slip hides no other.

    A wrong option is told first, and decides the exit code: it needs no reading to be seen.
    """
    from crowdtally.errors import CrowdtallyError, UsageError

    found: UsageError | None = None
    try:
        check()
    except UsageError as error:
        found = error
    try:
        yield
    except CrowdtallyError as error:
        if found is None:
            raise
        first, second = (error, found) if isinstance(error, UsageError) else (found, error)
        raise UsageError(f"{first}\nBeside that, {second}") from error
    if found is not None:
        raise found


def _found(metadata: Mapping[str, Any]) -> Iterator[str]:
    """What the release itself found out, all of it public: bounds that were chosen, and items."""
    method = metadata["method"]
    if method["chosen_by"]:
        for table, chosen in method["bounds"].items():
            scaling = "" if chosen["scaling"] == "1" else f", scaling {chosen['scaling']}"
            say = f"Chosen privately for {table}: a bound of {chosen['bound']}{scaling}"
            yield f"{say} (at most {method['largest_candidate']})."
    if "other" in metadata:
        items, threshold = metadata["domain"]["items"]["size"], metadata["tables"][0]["threshold"]
        yield (
            f"Discovered {items} items whose noisy number of users is at least {threshold}; all "
            f"others together: {metadata['other']['count']} ({metadata['other']['counts']})."
        )
