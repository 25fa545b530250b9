"""A self-test of the installation, and a check of a release beside its ledger."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crowdtally.core.numbers import show
from crowdtally.errors import InputError
from crowdtally.format import Published, WithdrawalNote
from crowdtally.format.contents import check_contents
from crowdtally.format.datapackage import FILE as PACKAGE
from crowdtally.format.datapackage import check_footer, check_package
from crowdtally.format.withdrawal import FILE as NOTE
from crowdtally.format.withdrawal import SCHEMA as NOTE_SCHEMA
from crowdtally.format.withdrawal import command

if TYPE_CHECKING:
    from crowdtally.ledger import Charged, Ledger, Loss


# A self-test of the installation: each part once, end to end, on made-up records. It imports what
# it tests when it runs: whoever checks a release needs nothing of the curator's.


def run() -> dict[str, str | None]:
    """Each check's name, with None where it passed and a sentence where it did not."""
    with tempfile.TemporaryDirectory(prefix="crowdtally-check-") as name:
        folder = Path(name)
        checks: dict[str, Callable[[Path], None]] = {
            "exact noise": _noise,
            "release, charge and reading back": _release,
        }
        return {name: _outcome(check, folder) for name, check in checks.items()}


def _outcome(check: Callable[[Path], None], folder: Path) -> str | None:
    try:
        check(folder)
    except Exception as error:  # whatever it is, it is the finding
        return f"{type(error).__name__}: {error}"
    return None


def _noise(_: Path) -> None:
    from crowdtally.noise.draws import SystemDraws

    drawn = SystemDraws().laplace(Fraction(10), 10_000)
    # Both bounds are twelve standard errors and more away from the truth.
    if not (abs(float(drawn.mean())) < 2 and 10 < float(drawn.std()) < 18):
        raise ValueError("the noise does not follow its law")


def _release(folder: Path) -> None:
    from crowdtally.api import read, release
    from crowdtally.core.domain import Domain
    from crowdtally.curator.bounding.sampling import SRA
    from crowdtally.curator.request.declare import read_list
    from crowdtally.ledger import Ledger
    from crowdtally.reader.release import load

    lines = [f"{user},{item}" for user in range(50) for item in ("a", "b")]
    (folder / "records.csv").write_text("user,item\n" + "\n".join(lines) + "\n")
    (folder / "items.csv").write_text("item\na\nb\nc\n")
    ledger = Ledger.open(folder / "ledger.sqlite", create=True)
    made = release(
        read(folder / "records.csv", user="user", item="item"),
        Domain(read_list(folder / "items.csv", "item")),
        epsilon=100, method=SRA(max_records=2), ledger=ledger, new_dataset=True,
        output=folder / "release",
    )  # fmt: skip
    counts = {row.item: row.count or 0 for row in load(made.folder).top(3)}
    if not (abs(counts["a"] - 50) < 5 and abs(counts["c"]) < 5):
        raise ValueError("the released counts are not the records' counts")
    ledger.verify()


# A release looked at as a whole: every file, every row, and what the ledger says of it.
#
# On top of curator's ledger and reader's release, like the api; nothing private is seen here.


@dataclass(frozen=True)
class Checkup:
    release: str
    checked: tuple[str, ...]
    ledger: str | None = None
    withdrawn: WithdrawalNote | None = None
    """When and why it was withdrawn, by its note or by the ledger; None if it was not."""
    incomplete: str | None = None
    """What the folder lacks so that its readers are told; None where it lacks nothing."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "release": self.release,
            "ledger": self.ledger,
            "checked": list(self.checked),
            "withdrawn": None if self.withdrawn is None else self.withdrawn.to_dict(),
            "incomplete": self.incomplete,
        }


def check_release(published: Published, ledger: Ledger | None = None) -> Checkup:
    """Check every row of a loaded release, and compare it with the ledger that paid for it."""
    checked = [
        f"release.json: the fields of {published.schema}, each with its type and in agreement"
    ]
    for table in published.tables:
        check_contents(published.folder, published.domain, table)
        check_footer(published.folder / table.file, published.manifest)
        rows = f"{table.published_cells} rows, each a cell of the lists"
        checked.append(f"{table.file}: SHA-256, columns, types, and {rows}")
    check_package(published.folder, published.manifest)
    checked.append(f"{PACKAGE}: SHA-256, and the same promise, tables, hashes, columns and types")
    note = _note(published)
    if note is not None:
        checked.append(f"{NOTE}: the fields of {NOTE_SCHEMA}, about this release")
    found = Checkup(published.id, tuple(checked), withdrawn=note)
    return found if ledger is None else _with_ledger(published, ledger, found)


def _note(published: Published) -> WithdrawalNote | None:
    note = published.withdrawn
    if note is not None and note.damage is not None:
        raise InputError(
            f"{str(published.folder)!r} is marked as withdrawn, but the note that says when and "
            f"why is damaged: {note.damage}. Copy the release again, or let `crowdtally withdraw` "
            "write the note anew."
        )
    return note


def _with_ledger(published: Published, ledger: Ledger, found: Checkup) -> Checkup:
    """The same with what the ledger says, or an InputError."""
    paid = ledger.charge_of_release(published.id)
    outcome, words = _compared(published, paid)
    if paid is None or paid.withdrawn is None:
        _require_no_note(published, ledger, found.withdrawn)
        return replace(found, checked=(*found.checked, words), ledger=outcome)
    recorded = WithdrawalNote(paid.withdrawn.time, paid.withdrawn.reason)
    incomplete = _incomplete(published, ledger, found.withdrawn, recorded)
    return replace(
        found, checked=(*found.checked, f"{words}; withdrawn"), ledger=outcome,
        withdrawn=recorded, incomplete=incomplete,
    )  # fmt: skip


def _require_no_note(published: Published, ledger: Ledger, note: WithdrawalNote | None) -> None:
    if note is not None:
        raise _mismatch(
            published,
            f"its {NOTE} says {str(note)!r}, and the ledger does not say that it was withdrawn",
            f"Where it is meant, `{command(published.folder, ledger.location)}` records it; else "
            "ask who put that file there",
        )


def _incomplete(
    published: Published, ledger: Ledger, note: WithdrawalNote | None, recorded: WithdrawalNote
) -> str | None:
    """What a folder lacks whose release the ledger calls withdrawn; None where it says the same."""
    again = command(published.folder, ledger.location)
    if note is None:
        return (
            f"the ledger says that it was withdrawn, and this folder has no {NOTE}, so its readers "
            f"are not told: `{again}` completes it"
        )
    if note != recorded:
        raise _mismatch(
            published,
            f"its {NOTE} says {str(note)!r}, and the ledger {str(recorded)!r} ({recorded.time})",
            f"`{again}` writes it anew, as the ledger has it",
        )
    return None


def _compared(published: Published, paid: Charged | None) -> tuple[str, str]:
    """What the ledger's charge says of a release: an outcome and its words, or an InputError."""
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
    for name, told, cost in _costs(published, paid.charge.loss):
        if told != cost:
            raise _mismatch(
                published,
                f"its {name} is {show(told)}, and {show(cost)} was charged",
                "Copy the release again",
            )
    entry = f"ledger: entry {paid.id} of dataset {paid.dataset!r}, {paid.state}, the same cost"
    if paid.state != "published":
        raise _mismatch(
            published,
            f"its charge (entry {paid.id}) is {paid.state}, not published",
            "Its run did not end: do not pass it on before `crowdtally ledger show` says published",
        )
    if paid.sha256 != published.sha256:
        raise _mismatch(
            published,
            "it was changed after publication (the ledger has another SHA-256 of release.json)",
            "Copy the release again",
        )
    return "matches", f"{entry}, the same SHA-256 of release.json"


def _costs(published: Published, loss: Loss) -> list[tuple[str, Fraction, Fraction]]:
    """What a release says that it cost, and what was charged: in ρ, or in ε and δ."""
    rho = published.charged.rho
    if rho is not None or loss.rho:
        return [("rho", rho or Fraction(0), loss.rho)]
    promised = published.guarantee
    return [("epsilon", promised.epsilon, loss.epsilon), ("delta", promised.delta, loss.delta)]


def _mismatch(published: Published, what: str, instead: str) -> InputError:
    return InputError(f"{str(published.folder)!r} does not match the ledger: {what}. {instead}.")
