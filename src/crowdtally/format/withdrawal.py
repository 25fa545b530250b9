"""``withdrawn.json``: a note beside ``release.json`` that calls a published release back.

It travels with the folder, so that readers of a copy are told too. ``release.json`` and its hashes
stay as they are. A note that cannot be understood still says that there is one: it is never
ignored.
"""

from __future__ import annotations

import json
import os
import secrets
import shlex
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from crowdtally.core import files
from crowdtally.core.display import plainly
from crowdtally.errors import InputError
from crowdtally.format.parse import Facts, json_object, received, shaped

FILE = "withdrawn.json"
"""The note's name in the folder of a release."""
SCHEMA = "crowdtally-withdrawal/1"
"""Name and version of the layout of the note; see docs/release-format.md."""
_LARGEST = 1 << 20


@dataclass(frozen=True)
class WithdrawalNote:
    """What the folder of a withdrawn release says about that."""

    time: str | None
    """When it was withdrawn, in UTC; None where the note is damaged."""
    reason: str | None
    """Why, in a person's words; None where the note is damaged."""
    damage: str | None = None
    """What is wrong with the note; None where it is whole."""

    @property
    def date(self) -> str | None:
        """The day of the withdrawal."""
        return None if self.time is None else self.time[:10]

    def to_dict(self) -> dict[str, str | None]:
        return {"time": self.time, "reason": self.reason, "damage": self.damage}

    def __str__(self) -> str:
        r"""For people, on one line that no terminal obeys.

        >>> print(WithdrawalNote("2026-11-17T08:00:00+00:00", "a list\x1b[2J"))
        withdrawn on 2026-11-17: 'a list\x1b[2J'
        """
        if self.damage is None:
            return f"withdrawn on {self.date}: {plainly(self.reason)}"
        return (
            f"marked as withdrawn, but the note that says when and why is damaged ({self.damage}): "
            "ask whoever published it before you rely on it"
        )


def note_in(folder: Path, release_id: str) -> WithdrawalNote | None:
    """The note in the folder of the release with this id; None where there is none."""
    try:
        raw = raw_note(folder)
        return None if raw is None else _parsed(raw, release_id)
    except InputError as error:
        return WithdrawalNote(None, None, str(error))


def raw_note(folder: Path) -> bytes | None:
    """The bytes of the note; None where there is none; an InputError where it cannot be read."""
    path = folder / FILE
    if not os.path.lexists(path):
        return None
    try:
        with files.open_regular(path) as file:
            raw = file.read(_LARGEST + 1)
    except OSError as error:
        raise InputError(f"{FILE} cannot be read: {error.strerror or 'unknown reason'}") from error
    if len(raw) > _LARGEST:
        raise InputError(f"{FILE} is too long for a note")
    return raw


def note_to_copy(folder: Path, release_id: str) -> bytes | None:
    """The note's bytes for a copy of the release, also of a damaged one; None where there is none.

    Raises:
        InputError: it cannot be read; or it is a link to what is no note, which may be any file of
            whoever copies.
    """
    raw = raw_note(folder)
    if raw is not None and (folder / FILE).is_symlink():
        _parsed(raw, release_id)
    return raw


class _Note(Facts, frozen=True, kw_only=True):
    schema: Literal["crowdtally-withdrawal/1"]
    release: str
    time: str
    reason: str

    def __post_init__(self) -> None:
        try:
            zone = datetime.fromisoformat(self.time).utcoffset()
        except ValueError:
            zone = None
        if zone is None:
            raise ValueError("must have a time with its zone, such as 2026-11-17T08:00:00+00:00")
        if not self.reason.strip():
            raise ValueError("must have a reason")


def _damaged(what: str) -> InputError:
    return InputError(f"{FILE}: {what}")


def _parsed(raw: bytes, release_id: str) -> WithdrawalNote:
    note = shaped(json_object(raw, _damaged), _Note, _damaged)
    if note.release != release_id:
        raise InputError(
            f"{FILE} is about the release {received(note.release)}, and this one is {release_id!r}"
        )
    return WithdrawalNote(note.time, note.reason)


def write_note(folder: Path, release_id: str, time: str, reason: str) -> None:
    """Put the note into a release's folder, whole or not at all, on disk when this returns.

    Time and reason are those of the ledger's entry.

    Raises:
        OSError: the note could not be written, or the disk did not confirm it.
    """
    facts = {"schema": SCHEMA, "release": release_id, "time": time, "reason": reason}
    text = json.dumps(facts, indent=2, ensure_ascii=False) + "\n"
    beside = folder / f".{FILE}.{secrets.token_hex(8)}.part"
    try:
        beside.write_bytes(text.encode(errors="backslashreplace"))
        files.flush(beside)
        os.replace(beside, folder / FILE)
    finally:
        with suppress(OSError):
            beside.unlink()
    files.flush(folder)


def command(folder: Path, ledger: str) -> str:
    """What to type to withdraw a release, or to complete its withdrawal."""
    where = shlex.join([str(folder), "--ledger", ledger])
    return f"crowdtally withdraw {where} --reason TEXT"
