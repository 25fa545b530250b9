"""Who added an entry, what was charged for it, and where the unfinished release is."""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

from crowdtally.errors import UsageError
from crowdtally.ledger.charge import Recorded


@dataclass(frozen=True)
class Author(Recorded):
    """The account and the computer that an entry came from."""

    called: ClassVar[str] = "an entry"
    account: str
    host: str
    role: str | None = None
    """The role that the PostgreSQL server knew it by; ``None`` in a file."""

    def __str__(self) -> str:
        role = f" (role {self.role})" if self.role is not None else ""
        return f"{self.account}@{self.host}{role}"

    @classmethod
    def read(cls, recorded: Any) -> Author:
        author = super().read(recorded)
        if author.fields() != recorded:
            raise ValueError("an author with other fields")
        return author


def this_author(role: str | None = None) -> Author:
    return Author(_account(), this_host(), role)


def this_host() -> str:
    return platform.node() or "localhost"


def _account() -> str:
    """The account by the number that the kernel knows: anybody can set $USER and $LOGNAME."""
    try:
        import pwd
    except ImportError:  # Windows
        return os.getlogin()
    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:  # an account without a name, as in some containers
        return f"uid {number}"


# Datasets' names: one name, however its characters are composed.
#
# ``é`` can be one character or an ``e`` and an accent. Both look the same, and file systems turn
# one into the other, so both must mean one budget. Names are therefore normalised to NFC.


def normal(text: str) -> str:
    r"""The one spelling that stands for all that look the same.

    >>> normal("e\u0301") == "\u00e9"
    True
    """
    return unicodedata.normalize("NFC", text)


def dataset_name(value: object) -> str:
    """``value``, normalised, if it can name a dataset: one line of printable text."""
    fits = isinstance(value, str) and 0 < len(value) <= 500 and value.strip() == value
    if isinstance(value, str) and fits and value.isprintable():
        return normal(value)
    raise UsageError(
        "a dataset's name is one line of at most 500 printable characters, without spaces at "
        f"its ends: received {str(value)[:40]!r}. Give one with --dataset NAME."
    )


# Which sources a dataset was charged for, so that one source does not get two budgets unnoticed.
#
# Without a name of its own a release is charged to one made from its source. A glob and a file
# inside it then have two names for the same people. The ledger therefore keeps a hash of every
# source, and refuses a *default* name where a source belongs to another dataset. A name that a
# person chose is that person's word.
#
# The event changes no sum. It is filed under the first digits of the hashes it holds, in the
# column that otherwise says which reservation an entry is about: a lookup reads a 4096th of what
# the ledger knows, and even a hundred thousand files make at most 4096 entries.

_HASH = re.compile(r"[0-9a-f]{32}")
_DIGITS = 3
_MOST_NAMED = 3


@dataclass(frozen=True)
class Sources(Recorded):
    """A dataset was charged for sources that it had not met before."""

    kind: ClassVar[str] = "sources"
    version: ClassVar[int] = 1
    hashes: tuple[str, ...]
    """Of their names, ascending; all begin with the same digits."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "hashes", tuple(self.hashes))
        if not self.hashes or not all(map(_HASH.fullmatch, self.hashes)):
            raise UsageError(
                "sources are recorded as hashes of 32 hexadecimal digits, at least one."
            )
        if list(self.hashes) != sorted(set(self.hashes)) or len(set(map(shelf, self.hashes))) > 1:
            raise UsageError(
                "hashes of sources are recorded once, in order, with equal beginnings."
            )

    @property
    def shelf(self) -> int:
        return shelf(self.hashes[0])


def hashed(source: str) -> str:
    """The hash of a source's resolved name: 128 bits, and one for every spelling of it.

    >>> hashed("/data/trips.parquet")
    '00ae65c33ede04765d2b241bc03dc3bf'
    """
    return sha256(normal(source).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def shelf(digest: str) -> int:
    """Where a hash is filed: below zero, since the numbers of reservations are above it."""
    return -1 - int(digest[:_DIGITS], 16)


def filed(hashes: Iterable[str]) -> Iterator[Sources]:
    shelves: dict[int, list[str]] = defaultdict(list)
    for digest in sorted(set(hashes)):
        shelves[shelf(digest)].append(digest)
    for found in shelves.values():
        yield Sources(tuple(found))


def distinct(sources: Sequence[str]) -> list[str]:
    if isinstance(sources, str) or not all(isinstance(source, str) for source in sources):
        raise UsageError(
            "sources are a list of names, such as ['/data/trips.parquet']: received "
            f"a {type(sources).__name__}{'' if isinstance(sources, str) else ' of other things'}."
        )
    return list(dict.fromkeys(sources))


def require_no_overlap(dataset: str, others: Sequence[str]) -> None:
    """Refuse a default name where other datasets were charged for the same source."""
    if not others:
        return
    named = ", ".join(map(repr, others[:_MOST_NAMED]))
    more = f" and {len(others) - _MOST_NAMED} more" if len(others) > _MOST_NAMED else ""
    raise UsageError(
        f"these records, or some of them, belong to the budget of {named}{more} already, and "
        f"without a name this release would be charged to another one, {dataset!r}. The same "
        "people have one budget: say which one is meant, --dataset NAME (in Python "
        f"dataset='NAME'), such as --dataset {shlex.quote(others[0])}. Nothing was charged."
    )


# Where an unfinished release lies, so that its charge is not given back while it is there.
#
# The folder exists from before the first draw until the run removes it (on a failure) or renames
# it (after the mark). See ``ledger.md`` for why this makes ``void`` safe.

_STAGED = re.compile(r"\..+\.part")


@dataclass(frozen=True)
class StagedFolder(Recorded):
    """The folder of an unfinished release, on the computer that makes it."""

    called: ClassVar[str] = "a staged folder"
    host: str
    path: str
    """Absolute, with links resolved."""

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> StagedFolder:
        return cls(this_host(), str(Path(path).resolve()))

    @property
    def is_this_host(self) -> bool:
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
