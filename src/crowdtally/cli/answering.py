"""Answers on the command line: as a table, CSV or JSON on stdout, or as a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from crowdtally.cli import completing, options
from crowdtally.cli.printing import spelled_out
from crowdtally.errors import UsageError

if TYPE_CHECKING:
    from crowdtally.reader.release import Release

FORMATS = ("table", "csv", "json")
"""How an answer is printed."""


def _format(text: object) -> str:
    if text not in FORMATS:
        raise typer.BadParameter(f"{str(text)!r} is none of {', '.join(FORMATS)}.")
    return str(text)


HowManyOption = Annotated[
    int,
    typer.Option("-k", "--top", metavar="K", parser=options.typed_whole, help="How many items."),
]
RawOption = Annotated[
    bool, typer.Option("--raw", help="Rank by noisy counts alone, without estimates.")
]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format", metavar="table|csv|json", parser=_format, rich_help_panel="output",
        autocompletion=completing.one_of(FORMATS),
        help="How to print the answer: a table for people (default), CSV or JSON.",
    ),
]  # fmt: skip
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FILE", rich_help_panel="output",
        help="Write the answer to a new file instead: .csv, .json, .parquet or .xlsx.",
    ),
]  # fmt: skip
LabelsOption = Annotated[
    str | None,
    typer.Option(
        "--labels", metavar="FILE[:LABEL[,CATEGORY]]", rich_help_panel="output",
        help="A public catalogue (CSV, Parquet, JSON lines): each item's label, and perhaps its "
        "category.",
    ),
]  # fmt: skip


class Answered(Protocol):
    """What any answer can do."""

    def to_csv(self) -> str:
        """As CSV."""

    def to_json(self) -> str:
        """As JSON."""

    def write(self, path: Path) -> Path:
        """As a file."""


class Showing:
    """How an answer is to be shown; what is wrong with that is told before anything is read."""

    def __init__(self, wanted: str | None, as_json: bool, output: Path | None) -> None:
        if as_json and wanted not in (None, "json"):
            raise UsageError(f"--json is --format json: leave it out, or --format {wanted}.")
        if output is not None and (wanted is not None or as_json):
            raise UsageError(
                "-o FILE writes as the file's suffix says, and prints no answer: leave out "
                "--format and --json, or -o."
            )
        if output is not None:
            from crowdtally.reader.answers.files import checked_target

            checked_target(output)
        self._format = "json" if as_json else wanted or "table"
        self._output = output

    def show(self, answer: Answered) -> None:
        """Print the answer, or write it; what is to be said beside a file goes to stderr."""
        if self._output is not None:
            written = answer.write(self._output)
            print(f"wrote {str(written)!r}", *getattr(answer, "notes", ()), sep="\n",
                  file=sys.stderr)  # fmt: skip
        elif self._format == "csv":
            text = answer.to_csv()
            print(spelled_out(text) if sys.stdout.isatty() else text, end="")
        else:
            print(answer.to_json() if self._format == "json" else answer)


def opened(release: str, labels: str | None = None) -> Release:
    """The release, with its labels; that it was withdrawn is said on stderr."""
    from crowdtally import format
    from crowdtally.reader.release import Release

    found = Release(format.load(release, options.remark(quiet=False)))
    return found if labels is None else found.with_labels(labels)
