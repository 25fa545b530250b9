"""A release looked at as a whole: every file, every row, and what the ledger says of it.

On top of curator's ledger and reader's release, like the facade; nothing private is seen here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crowdtally.errors import InputError
from crowdtally.published import Published, TableFacts
from crowdtally.published.checks.contents import check_contents
from crowdtally.values.rational import show

if TYPE_CHECKING:
    from crowdtally.budget import Ledger


@dataclass(frozen=True)
class Checkup:
    """What was checked, and found to be right."""

    release: str
    """The release's id."""
    checked: tuple[str, ...]
    """Each finding, in words."""
    hashes: bool
    """Whether the release has hashes; an older one has none."""
    ledger: str | None = None
    """What the ledger says: ``matches`` or ``no hash``; None where none was asked."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "release": self.release,
            "hashes": self.hashes,
            "ledger": self.ledger,
            "checked": list(self.checked),
        }


def check_release(published: Published, ledger: Ledger | None = None) -> Checkup:
    """Look at every row of a loaded release, and compare it with the ledger that paid for it.

    Raises:
        InputError: something is damaged, or is not what was published.
    """
    checked = [
        f"release.json: the fields of {published.schema}, each with its type and in agreement"
    ]
    for table in published.tables:
        check_contents(published.folder, published.domain, table)
        checked.append(_table(table))
    if not published.has_hashes:
        checked.append("no hashes: an older version wrote it, so a change that fits is not seen")
    if ledger is None:
        return Checkup(published.id, tuple(checked), published.has_hashes)
    outcome, words = _compared(published, ledger)
    return Checkup(published.id, (*checked, words), published.has_hashes, outcome)


def _table(table: TableFacts) -> str:
    known = "SHA-256, " if table.sha256 is not None else ""
    rows = table.published_cells
    return f"{table.file}: {known}columns, types, and {rows} rows, each a cell of the lists"


def _compared(published: Published, ledger: Ledger) -> tuple[str, str]:
    """What the ledger says of a release: an outcome and its words, or an InputError."""
    paid = ledger.charge_of_release(published.id)
    if paid is None:
        raise _mismatch(
            published,
            "the ledger knows no such release",
            "Name the ledger that it was charged to, --ledger PATH|URL",
        )
    if paid.state == "voided":
        raise _mismatch(
            published,
            f"its charge (entry {paid.id}) was voided, so nobody paid for it",
            "Delete it, and let nobody see it",
        )
    for name, told, cost in (
        ("epsilon", published.guarantee.epsilon, paid.charge.epsilon),
        ("delta", published.guarantee.delta, paid.charge.delta),
    ):
        if told != cost.value:
            raise _mismatch(
                published,
                f"its {name} is {show(told)}, and {cost} was charged",
                "Copy the release again",
            )
    entry = f"ledger: entry {paid.id} of dataset {paid.dataset!r}, {paid.state}, the same cost"
    if paid.state == "reserved":
        raise _mismatch(
            published,
            f"its charge (entry {paid.id}) is reserved, not published",
            "Its run did not end: do not pass it on before `crowdtally ledger show` says published",
        )
    if paid.sha256 is None:
        return "no hash", f"{entry}; the entry is older and has no hash to compare"
    if paid.sha256 != published.sha256:
        raise _mismatch(
            published,
            "it was changed after publication (the ledger has another SHA-256 of release.json)",
            "Copy the release again",
        )
    return "matches", f"{entry}, the same SHA-256 of release.json"


def _mismatch(published: Published, what: str, instead: str) -> InputError:
    return InputError(f"{str(published.folder)!r} does not match the ledger: {what}. {instead}.")
