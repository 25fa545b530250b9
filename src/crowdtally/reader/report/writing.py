"""A report is written whole or not at all, and never over a file that is there."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from crowdtally import durable
from crowdtally.errors import CrowdtallyError, UsageError
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
    _put(target, _content(facts, target.suffix.lower()))
    return target


def check_target(target: Path) -> None:
    """Refuse what cannot be written there, before anything is computed."""
    if target.suffix.lower() not in SUFFIXES:
        raise UsageError(
            f"a report is a file that ends in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}: "
            f"received {target.name!r}. Type -o report.html."
        )
    if target.exists() or target.is_symlink():
        raise UsageError(
            f"{str(target)!r} exists, and a report never replaces anything: choose another name, "
            "or remove it first."
        )
    if not target.parent.is_dir():
        raise UsageError(f"{str(target.parent)!r} is not a folder: create it first.")
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


def _put(target: Path, content: bytes) -> None:
    part = target.with_name(f".{target.name[:80]}.{secrets.token_hex(8)}.part")
    try:
        try:
            part.write_bytes(content)
            durable.flush(part)
            os.link(part, target)  # which, unlike a rename, replaces nothing
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)
    except FileExistsError:
        raise UsageError(
            f"{str(target)!r} exists, and a report never replaces anything: choose another name."
        ) from None
    except OSError as error:
        raise CrowdtallyError(
            f"{str(target)!r} cannot be written: {error.strerror or 'unknown reason'}. "
            "Check the path, its permissions and the free space."
        ) from error
