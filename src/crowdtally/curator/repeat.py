"""A request that was published before: its release is shown, nothing is charged or read."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from crowdtally.core.display import plainly
from crowdtally.errors import BudgetError, InputError, UsageError
from crowdtally.format import Published, Staged, load, write_note
from crowdtally.format.folder import unwritable
from crowdtally.ledger import Charged, DrawnBeforeError, LedgerError


def show_again(earlier: Charged, target: Path, tell: Callable[[str], None]) -> Published:
    """The release of a published charge, as it lies in its folder.

    A run that died between the mark and the rename left it whole under its temporary name: it gets
    the name now. The hash that the ledger recorded is checked either way.
    """
    staged = earlier.staged
    if staged is not None and staged.is_here and not (target / "release.json").exists():
        found = _finished(earlier, Path(staged.path), target)
    else:
        found = _opened(earlier, target)
    tell(
        f"This request was made before, and its release was published on {earlier.published_at} "
        f"(entry {earlier.id}): it is shown again. Nothing was charged and no record was read."
    )
    if earlier.withdrawn is not None:
        withdrawn = earlier.withdrawn
        tell(f"This release was withdrawn on {withdrawn.time}: {plainly(withdrawn.reason)}")
    return found


@contextmanager
def unless_made_meanwhile(look_up: Callable[[], Charged | None]) -> Iterator[None]:
    """Where a new request is refused: look whether another run of the same one made it meanwhile.

    That run's charge may have used the budget, or its release may be in the way.
    """
    try:
        yield
    except (BudgetError, UsageError) as error:
        found = look_up()  # refused with its own words where it draws already
        if found is None:
            raise
        raise DrawnBeforeError(
            f"another run of the same request has begun meanwhile (entry {found.id}): this one "
            "stops. Nothing was charged a second time. Run again with the same request id."
        ) from error


def is_in_place(folder: Path, sha256: str) -> bool:
    """Whether the release whose ``release.json`` has this hash lies there; never raises."""
    try:
        raw = (folder / "release.json").read_bytes()
    except OSError:
        return False
    return hashlib.sha256(raw).hexdigest() == sha256


def _opened(earlier: Charged, folder: Path) -> Published:
    if not (folder / "release.json").exists():
        raise LedgerError(
            f"{_published(earlier)}, and it is not in {str(folder)!r}{_where(earlier)}"
        )
    try:
        found = load(folder)
    except InputError as error:
        raise InputError(f"{_published(earlier)}. {error} Nothing was charged.") from error
    if found.sha256 != earlier.sha256:
        raise LedgerError(
            f"{_published(earlier)}, and {str(folder)!r} holds another one: its release.json does "
            "not have the SHA-256 that the ledger recorded. Look for the folder that was moved, or "
            "restore it from a backup. Nothing was charged."
        )
    return found


def _finished(earlier: Charged, staged: Path, target: Path) -> Published:
    """Give the whole folder of a killed run its name."""
    try:
        found = _named(earlier, staged, target)
    except Exception:
        # The run that wrote it, or another one like this, may have been quicker.
        if not is_in_place(target, str(earlier.sha256)):
            raise
        return _opened(earlier, target)
    return Published(target, found.metadata, sha256=found.sha256)


def _named(earlier: Charged, staged: Path, target: Path) -> Published:
    if staged.is_symlink():  # the name would lead wherever somebody pointed it
        raise LedgerError(
            f"{_published(earlier)}, and {str(staged)!r}, where it was written, is a link now. Put "
            "the folder itself back. Nothing was charged."
        )
    found = _opened(earlier, staged)
    if os.path.lexists(target):
        raise UsageError(
            f"{_published(earlier)}, and lies whole in {str(staged)!r}: {str(target)!r} is in the "
            "way. Move that elsewhere, and run again. Nothing was charged."
        )
    _note(earlier, staged)  # nobody may find it without
    Staged.left_whole(staged, target).commit()
    return found


def _note(earlier: Charged, folder: Path) -> None:
    if earlier.withdrawn is None:
        return
    try:
        write_note(
            folder, earlier.charge.release_id, earlier.withdrawn.time, earlier.withdrawn.reason
        )
    except OSError as error:
        raise unwritable(folder, error) from error


def _published(earlier: Charged) -> str:
    key = earlier.asked.request_id
    return (
        f"the release of the request {key!r} was published on {earlier.published_at} (entry "
        f"{earlier.id})"
    )


def _where(earlier: Charged) -> str:
    staged = earlier.staged
    if staged is not None and not staged.is_this_host:
        return (
            f" on this computer: it was made on {staged.host!r}. Run the command there, or copy "
            "the folder from there. Nothing was charged."
        )
    return (
        ": it was moved or deleted. Its charge stands. Put the folder back; another release of "
        "these records needs a new request id, and is charged anew. Nothing was charged now."
    )
