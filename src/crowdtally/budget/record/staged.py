"""Where an unfinished release lies, so that its charge is not given back while it is there.

The folder exists from before the first draw until the run removes it (on a failure) or renames it
(after the mark). See ``ledger.md`` for why this makes ``void`` safe.
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crowdtally.budget.record.authors import this_host
from crowdtally.budget.record.canonical import Json
from crowdtally.budget.record.fields import words
from crowdtally.errors import UsageError

_STAGED = re.compile(r"\..+\.part")


@dataclass(frozen=True)
class StagedFolder:
    """The folder of an unfinished release, on the computer that makes it."""

    host: str
    """The computer's name."""
    path: str
    """The folder's absolute path there, links resolved."""

    def __post_init__(self) -> None:
        words(self.host, "the host of a staged folder")
        words(self.path, "the path of a staged folder")

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> StagedFolder:
        """A folder on this computer."""
        return cls(this_host(), str(Path(path).resolve()))

    def fields(self) -> dict[str, Json]:
        """As recorded."""
        return {"host": self.host, "path": self.path}

    @classmethod
    def read(cls, fields: Any) -> StagedFolder:
        """What ``fields`` wrote."""
        return cls(fields["host"], fields["path"])

    @property
    def is_this_host(self) -> bool:
        """Whether it is, or was, on this computer."""
        return self.host == this_host()

    @property
    def is_here(self) -> bool:
        """Whether the folder is on this computer and exists; never raises."""
        return self.is_this_host and os.path.lexists(self.path)

    def require_gone(self, reservation_id: str) -> None:
        """Refuse, with the way out, unless it is certain that the folder is not there."""
        if self._exists():
            raise UsageError(
                f"reservation {reservation_id} cannot be voided while its unfinished release "
                f"exists, in {self.path}: somebody could still use it. If no run is writing it "
                f"any more, crowdtally ledger void {reservation_id} --reason TEXT --delete-staged "
                "(in Python void(..., delete_staged=True)) deletes it and gives the charge back."
            )

    def delete(self) -> None:
        """Delete the folder if it is there; refuse if it cannot be deleted or looked for."""
        if not self._exists():
            return
        if not _STAGED.fullmatch(os.path.basename(self.path)):  # a record may name any folder
            raise UsageError(
                f"the folder {self.path} is not deleted: its name is not that of an unfinished "
                "release, such as .out.0123abcd.part. Look at it, delete it yourself, try again."
            )
        shutil.rmtree(self.path, ignore_errors=True)
        if self._exists():
            raise UsageError(
                f"the unfinished release {self.path} cannot be deleted, so its charge stands. "
                "Stop the run that writes it, or delete it as the user who owns it, and try again."
            )

    def _exists(self) -> bool:
        if self.host != this_host():
            raise _unchecked(
                self.path,
                f"it is on the computer {self.host!r}, and this is {this_host()!r}. Run the "
                "command there; if that computer is gone, the charge stays, and what may still be "
                "spent is a matter of the limit (crowdtally ledger limit), on the record",
            )
        if not os.path.isabs(self.path):
            raise _unchecked(self.path, "the record does not say in which folder it lies")
        try:
            os.lstat(self.path)
        except ValueError as error:  # a character that no path has
            raise _unchecked(repr(self.path), "no folder can be called so") from error
        except (FileNotFoundError, NotADirectoryError):
            self._require_parent()
            return False
        except OSError as error:
            raise self._unreadable(error) from error
        return True

    def _require_parent(self) -> None:
        """A folder that is gone together with its parent may lie on a disk that is not mounted."""
        parent = os.path.dirname(self.path)
        if not os.path.isdir(parent):
            raise _unchecked(
                self.path,
                f"the folder {parent} is not there. Mount its disk; if that folder was deleted "
                "for good, make an empty one in its place, and try again",
            )
        if os.path.realpath(parent) != parent:  # links were resolved when it was recorded
            raise _unchecked(
                self.path,
                f"{parent} leads to another folder now, through a link. Put the folder itself "
                "back, and try again",
            )

    def _unreadable(self, error: OSError) -> UsageError:
        reason = error.strerror or "the disk reports an error"
        return _unchecked(self.path, f"{reason}. Run the command as the user who made the release")


def _unchecked(path: str, why: str) -> UsageError:
    return UsageError(
        f"whether the unfinished release {path} still exists cannot be checked: {why}. "
        "Nothing was voided."
    )
