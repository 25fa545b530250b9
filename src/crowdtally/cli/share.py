"""Report, serve, export, withdraw."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from crowdtally.cli import options
from crowdtally.cli import output as answering
from crowdtally.cli.ask import ReleaseArgument
from crowdtally.errors import UsageError

# ``crowdtally report``: a release as one printable page.


def report(
    release: ReleaseArgument,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", rich_help_panel="output",
            help="A new file that ends in .html, .json or .pdf.",
        ),
    ] = None,
    pdf: Annotated[
        bool,
        typer.Option(
            "--pdf", rich_help_panel="output",
            help="Write a PDF too, beside FILE; it needs WeasyPrint.",
        ),
    ] = False,
    labels: answering.LabelsOption = None,
    as_json: options.JsonOption = False,
    debug: options.DebugOption = False,
) -> None:  # fmt: skip
    """Write what a release promises, what that rests on and what it says, as one page to print."""
    from crowdtally.reader.report.page import check_target, write

    targets = _targets(output, pdf, as_json)
    for target in targets:
        check_target(target)
    facts = answering.opened(release, labels).report_facts()
    if as_json:
        print(facts.to_json())
    for target in targets:
        write(facts, target)
        if not as_json:
            print(target)


def _targets(output: Path | None, pdf: bool, as_json: bool) -> list[Path]:
    """The files to write, each once."""
    if output is None and (pdf or not as_json):
        also = " --pdf" if pdf else ""
        raise UsageError(f"say where to write the report: -o report.html{also}, or --json alone.")
    if output is None:
        return []
    return list(dict.fromkeys([output, output.with_suffix(".pdf")] if pdf else [output]))


# ``crowdtally serve``: releases as pages to explore, on this machine.


def serve(
    releases: Annotated[
        list[str], typer.Argument(metavar="RELEASE…", help="Folders of releases.")
    ],
    port: Annotated[
        int,
        typer.Option(
            "--port", metavar="PORT", parser=options.typed_whole,
            help="Where to listen; 0 takes one that is free.",
        ),
    ] = 8765,
    host: Annotated[
        str,
        typer.Option(
            "--host", metavar="ADDRESS",
            help="Listen at another address of this machine, which others can reach.",
        ),
    ] = "127.0.0.1",
    name: Annotated[
        list[str] | None,
        typer.Option(
            "--name", metavar="HOST",
            help="A further name by which browsers reach it, such as a proxy's. Repeatable.",
        ),
    ] = None,
    open_browser: Annotated[
        bool, typer.Option("--open", help="Open the first page in a browser.")
    ] = False,
    labels: answering.LabelsOption = None,
    debug: options.DebugOption = False,
) -> None:  # fmt: skip
    """Serve releases as pages to explore, on this machine, until stopped with Ctrl-C."""
    from crowdtally.reader.server.app import serve as run

    options.check_port(port)
    opened = [answering.opened(one, labels) for one in releases]

    def ready(url: str) -> None:
        print(url, flush=True)
        print("Press Ctrl-C to stop.", file=sys.stderr)
        if open_browser:
            import webbrowser

            webbrowser.open(url)

    def tell(words: str) -> None:
        print(f"crowdtally: {words}", file=sys.stderr)

    run(opened, host=host, port=port, names=name or (), ready=ready, tell=tell)
    print("stopped.", file=sys.stderr)


# ``crowdtally export``: what a release says about itself, for others.

_REGISTRY = typer.Option(
    "--registry", metavar="FILE",
    help="YAML: an entry of the public registry of differential privacy deployments; comments "
    "name what the curator must add.",
)  # fmt: skip
_CROISSANT = typer.Option(
    "--croissant", metavar="FILE", help="JSON-LD: Croissant metadata, to be put beside the tables."
)
_SITE = typer.Option(
    "--site", metavar="DIR",
    help="A new folder of plain pages, for any web server or none: overview, lists, contexts, "
    "search, report, downloads.",
)  # fmt: skip


def export(
    release: ReleaseArgument,
    registry: Annotated[str | None, _REGISTRY] = None,
    croissant: Annotated[str | None, _CROISSANT] = None,
    site: Annotated[str | None, _SITE] = None,
    labels: answering.LabelsOption = None,
    quiet: options.QuietOption = False,
    debug: options.DebugOption = False,
) -> None:
    """Write a release for others: as metadata, or as pages. Exactly one of these is given."""
    from crowdtally.reader.export import FORMS, SITE, Export

    asked = Export.of({"registry": registry, "croissant": croissant, SITE: site}, "--{} {}")
    if labels is not None and asked.form != SITE:
        raise UsageError(f"--labels goes with --site DIR: --{asked.form} names no item.")
    print(answering.opened(release, labels).export(**{asked.form: asked.target}))
    if asked.form in FORMS:
        options.remark(quiet)(FORMS[asked.form].to_add)


# ``crowdtally withdraw``: call a published release back.


def withdraw(
    release: ReleaseArgument,
    reason: Annotated[
        str,
        typer.Option(
            "--reason", metavar="TEXT", help="Why, for its readers; the ledger keeps it too."
        ),
    ],
    ledger: options.LedgerOption = None,
    debug: options.DebugOption = False,
) -> None:
    """Mark a release as withdrawn, in the ledger and for its readers; the charge stays."""
    from crowdtally.api import call_back

    print(call_back(release, reason, ledger))
