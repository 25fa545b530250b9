"""A published release is called back: in the ledger first, then for its readers.

The order matters. A note without an entry would be one that nobody vouches for; an entry without a
note is completed by running this again.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from crowdtally import format
from crowdtally.core import files
from crowdtally.core.display import plainly
from crowdtally.curator.request.options import python_words
from crowdtally.errors import CrowdtallyError, InputError, UsageError
from crowdtally.format import Published, WithdrawalNote, write_note
from crowdtally.format.manifest import is_text
from crowdtally.format.withdrawal import FILE, command
from crowdtally.ledger import Charged, Ledger
from crowdtally.ledger.amounts import stated
from crowdtally.reader.release import Release

_LONGEST = 2000


@dataclass(frozen=True)
class CalledBack:
    """What a withdrawal did."""

    folder: Path
    """The release."""
    note: WithdrawalNote
    """When and why, as the ledger has it."""
    charged: Charged
    """The charge, which stays."""
    again: bool
    """Whether the ledger had recorded it before; then nothing was added to it."""
    asked: str
    """The reason that was given now."""
    found: WithdrawalNote | None
    """The note that the folder had before."""

    def __str__(self) -> str:
        return "\n".join([str(self.note), *self._recorded(), self._noted(), self._charge()])

    def _recorded(self) -> list[str]:
        if not self.again:
            return []
        first = "The ledger had recorded that before, and got no second entry."
        if self.asked == self.note.reason:
            return [first]
        return [f"{first} What was said first stands: the reason given now was not recorded."]

    def _noted(self) -> str:
        path = plainly(self.folder / FILE)
        if self.found == self.note:
            return f"Its note was there already: {path}"
        if self.found is not None:
            return f"Its note was damaged or said something else, and was written anew: {path}"
        first = "Its note was missing, and is written now" if self.again else "Its note for readers"
        return (
            f"{first}: {path}\nThe note travels with the folder. Whoever has a copy of "
            "the release needs the note too: send it, to be put beside release.json."
        )

    def _charge(self) -> str:
        paid = self.charged
        cost = ", ".join(stated(paid.charge.loss))
        return (
            f"The charge stays (entry {paid.id} of dataset {paid.dataset!r}: {cost}), because "
            "what was published cannot be taken back. "
            "A corrected release is a new charge."
        )


def withdraw(
    release: Release | str | os.PathLike[str],
    *,
    reason: str,
    ledger: Ledger | str | os.PathLike[str] | None = None,
) -> CalledBack:
    """Mark a published release as withdrawn, in the ledger and for its readers; the charge stays.

    Run again, it completes what a crash left out. What was said first stands.

    Args:
        release: the release, or its folder.
        reason: why, in words for its readers.
        ledger: the ledger that it was charged to, its path or its PostgreSQL URL; None means
            $CROWDTALLY_LEDGER, or else yours.
    """
    with python_words():
        return call_back(release, reason, ledger)


def call_back(
    release: Release | str | os.PathLike[str],
    reason: str,
    ledger: Ledger | str | os.PathLike[str] | None,
) -> CalledBack:
    """:func:`withdraw`, with messages in the command line's words."""
    _check_reason(reason)
    if not isinstance(release, Release | str | os.PathLike):
        raise UsageError(
            f"a release, or the path of its folder, is withdrawn: received a "
            f"{type(release).__name__}."
        )
    found = format.load(release.folder if isinstance(release, Release) else release)
    books = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger, create=False)
    before = books.charge_of_release(found.id)
    _require_same(found, before)
    charged = books.withdraw(found.id, reason)
    assert charged.withdrawn is not None
    note, there = WithdrawalNote(charged.withdrawn.time, charged.withdrawn.reason), found.withdrawn
    _put(found, note, there, command(found.folder, books.location))
    again = before is not None and before.withdrawn is not None
    return CalledBack(found.folder, note, charged, again, reason, there)


def _check_reason(reason: object) -> None:
    if not isinstance(reason, str) or not reason.strip():
        raise UsageError(
            "--reason must say why the release is withdrawn, in words for its readers: received "
            f"{reason!r}. Nothing was changed."
        )
    if not is_text(reason):
        raise UsageError("--reason must be text in UTF-8. Nothing was changed.")
    if len(reason) > _LONGEST:
        raise UsageError(
            f"--reason must have at most {_LONGEST} characters, and has {len(reason)}: readers "
            "see it each time. Nothing was changed."
        )


def _require_same(found: Published, paid: Charged | None) -> None:
    """Refuse a folder that has a release's id and is not that release."""
    if paid is not None and paid.sha256 not in (None, found.sha256):
        raise InputError(
            f"{str(found.folder)!r} is not the release that the ledger knows by its id: it was "
            "changed after publication (the ledger has another SHA-256 of release.json). Copy the "
            "release again. Nothing was changed."
        )


def _put(found: Published, note: WithdrawalNote, there: WithdrawalNote | None, again: str) -> None:
    """Put the note into the folder, or make certain that the one that is there stays."""
    assert note.time is not None
    assert note.reason is not None
    try:
        if there == note:
            files.flush(found.folder / FILE)
            files.flush(found.folder)
        else:
            write_note(found.folder, found.id, note.time, note.reason)
    except OSError as error:
        raise CrowdtallyError(
            f"the ledger says now that the release was {note}; but its note, "
            f"{str(found.folder / FILE)!r}, could not be written: "
            f"{error.strerror or 'unknown reason'}. Readers of this folder are not told yet. Check "
            f"permissions and free space, and run `{again}`: it completes the note, without a "
            "second entry. The charge stays."
        ) from error
