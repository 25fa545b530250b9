"""Commands that read records: release, inspect; and plan, which reads none."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdtally.cli import options, syntax
from crowdtally.cli import request as requesting
from crowdtally.cli.options import remark

if TYPE_CHECKING:
    from crowdtally.curator.plan.plan import Plan
    from crowdtally.curator.publish import Outside
    from crowdtally.curator.request.request import Request
    from crowdtally.format import Published
    from crowdtally.ledger import Charged


@requesting.takes_request
def release(
    make_request: Callable[[Any], Any],
    output: Path | None = None,
    ledger: str | None = None,
    dataset: options.Dataset = None,
    new_dataset: bool = False,
    purpose: str | None = None,
    request_id: str | None = None,
    strict: bool = False,
    most_dropped: str | None = None,
    yes: bool = False,
    dry_run: bool = False,
    engine: options.Engine = None,
    engine_setting: list[str] | None = None,
    as_json: bool = False,
    quiet: bool = False,
) -> None:
    """Make a differentially private release from RECORDS, and charge it to the ledger.

    What everyone needs:
        output (-o DIR): The folder to write; it must not exist.

    Budget:
        purpose (TEXT): What for, in your words; the ledger keeps it.
        request_id (KEY): With it the same request is charged once.

    Before the charge:
        strict: Stop, uncharged, if a row would be dropped.
        most_dropped (SHARE): Stop, uncharged, if more than this share of rows would be: 0.1, 1/10.
            Readers see whether there is a release.
        yes (-y): Do not ask where more than half of all rows would be.
        dry_run: Check all and show the plan; charge nothing.
    """
    from crowdtally.api import surroundings
    from crowdtally.cli.output import Progress, asker, somebody_is_there
    from crowdtally.curator.publish import publish
    from crowdtally.curator.request.request import share_dropped

    settings = syntax.settings(engine_setting or [])
    first_use = requesting.is_first_use(ledger)
    account = requesting.Account(ledger, dataset, new_dataset or first_use, looks_only=dry_run)
    look_up = partial(requesting.made_before, ledger, request_id)
    earlier = look_up()
    with _together(requesting.unless_known(look_up, lambda: _check_output(output, dry_run))):
        most = share_dropped(most_dropped, strict=strict)
        request = make_request(requesting.unless_known(look_up, account.check))
        request = replace(request, most_dropped=most)
    say = remark(quiet)
    if dry_run:
        _look(request, earlier, account, as_json, say)
        return
    with Progress.on_terminal(quiet=quiet) as progress:
        asked = somebody_is_there() and not yes
        outside, _ = surroundings(
            request.sources, output=output, ledger=ledger, dataset=dataset,
            tell=progress.between(say), confirm=asker(progress.clear) if asked else None,
            stage=progress.stage, engine=engine, engine_settings=settings,
            new_dataset=account.new, purpose=purpose, request_id=request_id,
        )  # fmt: skip
        if first_use:
            progress.between(say)(requesting.first_use_words(outside.ledger, outside.dataset.name))
        made = publish(request, outside)
    for words in (*_made(made), *_charged(made, earlier, outside, ledger)):
        say(words)
    print(json.dumps(made.metadata, ensure_ascii=False) if as_json else made.folder)


def _look(
    request: Request,
    earlier: Charged | None,
    account: requesting.Account,
    as_json: bool,
    say: Callable[[str], None],
) -> None:
    """Show the plan of a release that is not made."""
    from crowdtally.curator.inspect import check_columns
    from crowdtally.curator.plan.plan import make_plan

    if earlier is not None:
        say(requesting.used_before(earlier))
        return
    unseen = check_columns(request.sources, request.lists)
    show_plan(make_plan(request, unseen=unseen), as_json, account)


def _made(made: Published) -> Iterator[str]:
    """What there is to know of a release that was made, all of it public."""
    from crowdtally.format.load import counting_remarks

    yield f"Released to {made.folder}: {made.metadata['guarantee']['words']}"
    yield from _found(made.metadata)
    yield from counting_remarks(made)


def _charged(
    made: Published, earlier: Charged | None, outside: Outside, ledger: str | None
) -> Iterator[str]:
    """What was charged to what; ``ledger`` is the one that was typed."""
    if earlier is not None and earlier.state == "published":
        return
    if earlier is not None:
        yield requesting.taken_up(earlier)
    from crowdtally.core.numbers import show

    charged, dataset = made.charged, outside.dataset.name
    balance = outside.ledger.balance(dataset)
    delta = f", delta {show(charged.delta)}" if charged.delta else ""
    paid = f" (rho {show(charged.rho)})" if charged.rho is not None else ""
    yield (
        f"Charged epsilon {show(charged.epsilon)}{delta}{paid} to dataset {dataset!r} of the "
        f"ledger {outside.ledger.location}; spent so far {balance.standing_words()}."
    )
    if charged.limit is None:
        yield f"Set a limit with: {balance.how_to_limit(ledger)}"


def _check_output(output: Path | None, dry_run: bool) -> None:
    from crowdtally.errors import UsageError
    from crowdtally.format import check_target

    if output is None and not dry_run:
        raise UsageError("say where to write the release: -o DIR.")
    if output is not None:
        check_target(output)


@contextmanager
def _together(check: Callable[[], None]) -> Iterator[None]:
    """Make a check too, and report both what it found and what else is wrong.

    A wrong option comes first, and decides the exit code: it needs no reading to be seen.
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
        found = [
            f"{table['cells']} {_KINDS_OF_CELLS[table['name']]} whose noisy number of users is at "
            f"least {table['threshold']}"
            for table in metadata["tables"]
            if "threshold" in table
        ]
        yield (
            f"Discovered {', and '.join(found)}; all others together: "
            f"{metadata['other']['count']} ({metadata['other']['counts']})."
        )


_KINDS_OF_CELLS = {"items": "items", "edges": "items in context", "cells": "cells"}


@requesting.takes_request
def plan(
    make_request: Callable[..., Any],
    guess_users: options.Positive = None,
    guess_records: options.Positive = None,
    guess_total: options.Positive = None,
    query_cells: options.Positive = None,
    epsilon: str | None = None,
    half_width: str | None = None,
    accuracy_of: str | None = None,
    ledger: str | None = None,
    dataset: options.Dataset = None,
    new_dataset: bool = False,
    as_json: bool = False,
) -> None:
    """Show noise, size and cost of a release before anything is spent. Reads no record.

    Budget:
        half_width (N): Instead of --epsilon: find the smallest one whose noise interval is at most
            ±N.
        accuracy_of (item|cell|sum:R): With --half-width: of one item's count (the default), of one
            cell of the contexts' table, or of a sum of R cells of it.

    Public guesses:
        guess_users (N): A public guess of the number of users.
        guess_records (N): A public guess of the number of records.
        guess_total (N): A public guess of the total count.
        query_cells (R): Cells that a question will sum over: compares ways of publishing for it.
    """
    from crowdtally.curator.inspect import check_columns
    from crowdtally.curator.plan.accuracy import LARGEST, Target, check_either
    from crowdtally.curator.plan.plan import make_plan

    check_either(epsilon, half_width, accuracy_of)
    account = requesting.Account(ledger, dataset, new_dataset, looks_only=True)
    if epsilon is None:
        target = Target.of(half_width, accuracy_of)
        request = make_request(lambda *_: None, epsilon=str(LARGEST))
    else:
        target, request = None, make_request(account.check, epsilon=epsilon)
    made = make_plan(
        request, guess_users=guess_users, guess_records=guess_records, guess_total=guess_total,
        query_cells=query_cells, target=target,
        unseen=check_columns(request.sources, request.lists),
    )  # fmt: skip
    show_plan(made, as_json, account)


def show_plan(plan: Plan, as_json: bool, account: requesting.Account) -> None:
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
    print(f"Cost: epsilon {request.epsilon}{delta} per {who}. {' '.join(standing.sentences())}")
    for line in lines(facts):
        print(line)


def _unused(*flags: str) -> Any:
    """An option of a release, so that its command can be inspected as it is."""
    return typer.Option(*flags, hidden=True, rich_help_panel="output", help="Taken and not used.")


@requesting.takes_subject
def inspect(
    make_subject: Callable[[], Any],
    output: Annotated[str | None, _unused("--output", "-o")] = None,
    ledger: Annotated[str | None, _unused("--ledger")] = None,
    dataset: Annotated[str | None, _unused("--dataset")] = None,
    new_dataset: Annotated[bool, _unused("--new-dataset")] = False,
    strict: Annotated[bool, _unused("--strict")] = False,
    most_dropped: Annotated[str | None, _unused("--most-dropped")] = None,
    yes: Annotated[bool, _unused("--yes", "-y")] = False,
    engine: options.Engine = None,
    engine_setting: list[str] | None = None,
    as_json: bool = False,
    quiet: bool = False,
) -> None:
    """Show, for your eyes only, what a release would drop and keep. Charges and writes nothing."""
    from crowdtally.cli.output import Progress
    from crowdtally.curator.inspect import inspect as look_into
    from crowdtally.curator.inspect import lines, wrapped
    from crowdtally.records.start import starter

    settings = syntax.settings(engine_setting or [])
    subject = make_subject()
    start = starter(engine, settings, subject.sources.every)
    with Progress.on_terminal(quiet=quiet) as progress:
        found = look_into(subject, start, progress.stage).to_dict()
    print(json.dumps(found, ensure_ascii=False) if as_json else wrapped("\n".join(lines(found))))
