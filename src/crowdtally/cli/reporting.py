"""``crowdtally report``: a release as one printable page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crowdtally.cli import answering, options
from crowdtally.cli.reading import ReleaseArgument
from crowdtally.errors import UsageError


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
