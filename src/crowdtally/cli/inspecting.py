"""``crowdtally inspect``."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any

import typer

from crowdtally.cli import options, syntax
from crowdtally.cli.requesting import takes_subject


def _unused(*flags: str) -> Any:
    """An option of a release, so that its command can be inspected as it is."""
    return typer.Option(*flags, hidden=True, rich_help_panel="output", help="Taken and not used.")


@takes_subject
def inspect(
    make_subject: Callable[[], Any],
    output: Annotated[str | None, _unused("--output", "-o")] = None,
    ledger: Annotated[str | None, _unused("--ledger")] = None,
    dataset: Annotated[str | None, _unused("--dataset")] = None,
    new_dataset: Annotated[bool, _unused("--new-dataset")] = False,
    strict: Annotated[bool, _unused("--strict")] = False,
    most_dropped: Annotated[str | None, _unused("--most-dropped")] = None,
    yes: Annotated[bool, _unused("--yes", "-y")] = False,
    engine: options.EngineOption = None,
    engine_setting: options.EngineSettingOption = None,
    as_json: options.JsonOption = False,
    quiet: options.QuietOption = False,
    debug: options.DebugOption = False,
) -> None:
    """Show, for your eyes only, what a release would drop and keep. Charges and writes nothing."""
    from crowdtally.cli.progress import Progress
    from crowdtally.curator.inspect import inspect as look_into
    from crowdtally.curator.inspect import lines, wrapped
    from crowdtally.records.start import starter

    settings = syntax.settings(engine_setting or [])
    subject = make_subject()
    start = starter(engine, settings, subject.sources.every)
    with Progress.on_terminal(quiet=quiet) as progress:
        found = look_into(subject, start, progress.stage).to_dict()
    print(json.dumps(found, ensure_ascii=False) if as_json else wrapped("\n".join(lines(found))))
