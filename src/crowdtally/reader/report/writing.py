"""A report is written whole or not at all, and never over a file that is there."""

from __future__ import annotations

import os
from pathlib import Path

from crowdtally.core.files import refuse_taken, write_new
from crowdtally.errors import UsageError
from crowdtally.reader.report.facts import Facts
from crowdtally.reader.report.page import page
from crowdtally.web.extras import needs

SUFFIXES = (".html", ".json", ".pdf")
"""What a file's name may end in."""


def write(facts: Facts, path: str | os.PathLike[str]) -> Path:
    """Write the report; the file's ending says as what.

    Args:
        facts: of a release.
        path: a new file: ``.html``, ``.json`` or ``.pdf``.
    """
    target = Path(path)
    check_target(target)
    write_new(target, _content(facts, target.suffix.lower()))
    return target


def check_target(target: Path) -> None:
    """Refuse what cannot be written there, before anything is computed."""
    if target.suffix.lower() not in SUFFIXES:
        raise UsageError(
            f"a report is a file that ends in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}: "
            f"received {target.name!r}. Type -o report.html."
        )
    refuse_taken(target)
    if target.suffix.lower() == ".pdf":
        needs("weasyprint", "a report as PDF", "pdf")


def _content(facts: Facts, suffix: str) -> bytes:
    match suffix:
        case ".json":
            return (facts.to_json() + "\n").encode()
        case ".pdf":
            return pdf(facts)
    return page(facts).encode()


def pdf(facts: Facts) -> bytes:
    """The report on paper, by WeasyPrint."""
    needs("weasyprint", "a report as PDF", "pdf")
    import weasyprint

    # Nothing is fetched: what is needed stands in the page.
    made = weasyprint.HTML(string=page(facts, fixed_colours=True), url_fetcher=_refuse)
    return bytes(made.write_pdf())


def _refuse(url: str, *_: object, **__: object) -> dict[str, object]:
    raise ValueError("a report has nothing from outside")
