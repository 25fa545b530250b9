"""Commands that share a release: report, serve, export, withdraw."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from crowdtally.cli import options
from crowdtally.cli import output as answering
from crowdtally.cli.ask import ReleaseArgument
from crowdtally.errors import UsageError


@options.command
def report(
    release: ReleaseArgument,
    output: Path | None = None,
    pdf: bool = False,
    labels: str | None = None,
    as_json: bool = False,
) -> None:
    """Write what a release promises, what that rests on and what it says, as one page to print.

    Engine and output:
        output (-o, --output FILE): A new file that ends in .html, .json or .pdf.
        pdf: Write a PDF too, beside FILE; it needs WeasyPrint.
    """
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
    if output is None and (pdf or not as_json):
        also = " --pdf" if pdf else ""
        raise UsageError(f"say where to write the report: -o report.html{also}, or --json alone.")
    if output is None:
        return []
    return list(dict.fromkeys([output, output.with_suffix(".pdf")] if pdf else [output]))


@options.command
def serve(
    releases: Annotated[list[str], typer.Argument(metavar="RELEASE…", help="Folders of releases.")],
    port: int = 8765,
    host: str = "127.0.0.1",
    name: list[str] | None = None,
    open_browser: bool = False,
    labels: str | None = None,
) -> None:
    """Serve releases as pages to explore, on this machine, until stopped with Ctrl-C.

    Options:
        port (PORT): Where to listen; 0 takes one that is free.
        host (ADDRESS): Listen at another address of this machine, which others can reach.
        name (HOST): A further name by which browsers reach it, such as a proxy's. Repeatable.
        open_browser (--open): Open the first page in a browser.
    """
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


@options.command
def export(
    release: ReleaseArgument,
    registry: str | None = None,
    croissant: str | None = None,
    site: str | None = None,
    labels: str | None = None,
    quiet: bool = False,
) -> None:
    """Write a release for others: as metadata, or as pages. Exactly one of these is given.

    Options:
        registry (FILE): YAML: an entry of the public registry of differential privacy deployments;
            comments name what the curator must add.
        croissant (FILE): JSON-LD: Croissant metadata, to be put beside the tables.
        site (DIR): A new folder of plain pages, for any web server or none: overview, lists,
            contexts, search, report, downloads.
    """
    from crowdtally.reader.export import FORMS, SITE, Export

    asked = Export.of({"registry": registry, "croissant": croissant, SITE: site}, "--{} {}")
    if labels is not None and asked.form != SITE:
        raise UsageError(f"--labels goes with --site DIR: --{asked.form} names no item.")
    print(answering.opened(release, labels).export(**{asked.form: asked.target}))
    if asked.form in FORMS:
        options.remark(quiet)(FORMS[asked.form].to_add)


@options.command
def withdraw(
    release: ReleaseArgument,
    reason: str,
    ledger: str | None = None,
) -> None:
    """Mark a release as withdrawn, in the ledger and for its readers; the charge stays.

    Options:
        reason (TEXT): Why, for its readers; the ledger keeps it too.
    """
    from crowdtally.api import call_back

    print(call_back(release, reason, ledger))
