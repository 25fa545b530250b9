"""A file that only its keeper can write, looked at before a word of it is believed.

What can be checked soundly is who *else* could change it: accounts that the rights of the file or
of a folder above it let in, and owners of those folders, who could put another file there. (Access
lists show in the group's rights.) On Windows rights work otherwise, and none of this is checked.
"""

from __future__ import annotations

import errno
import os
import shlex
import stat
from pathlib import Path

from crowdtally.budget.errors import LedgerError
from crowdtally.budget.record.authors import this_author

_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
# Neither waits for a pipe, nor follows a link that was put there since. Windows has none of these.
_CAREFULLY = sum(
    getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY", "O_BINARY")
)
_CHECKED = os.name != "nt"


def resolved(path: str | os.PathLike[str]) -> str:
    """The absolute path of a file, links resolved."""
    found = os.path.realpath(os.path.expanduser(os.fspath(path)))
    if not found.isprintable():
        raise unusable(repr(found)[:200], "has a name that cannot be printed: give it another")
    return found


def read(path: str, most: int) -> bytes:
    """What is in the file, if nobody but its keeper can change it; at most so many bytes."""
    with os.fdopen(_open(path), "rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise unusable(path, f"is longer than {most:,} bytes, too long to be read at every charge")
    return content


def may_write(path: str) -> bool:
    """Whether whoever runs this program keeps the file; refused if others could write it too.

    The system is asked by opening it, which changes nothing: it alone knows of access lists,
    capabilities and disks that are read-only.
    """
    os.close(_open(path))
    try:
        os.close(os.open(path, os.O_WRONLY | _CAREFULLY))
    except OSError:
        return False
    return True


def unusable(path: str, why: str) -> LedgerError:
    """The error that names a limits file and what is wrong with it."""
    said = why.rstrip(".")
    return LedgerError(
        f"the limits file {path} {said}. Without its limits nothing is charged or changed."
    )


def _open(path: str) -> int:
    try:
        handle = os.open(path, os.O_RDONLY | _CAREFULLY)
    except OSError as error:
        raise unusable(path, _why(path, error)) from error
    try:
        _require_kept(path, os.fstat(handle))
    except BaseException:
        os.close(handle)
        raise
    return handle


def _why(path: str, error: OSError) -> str:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return "is not there. If it was before, whoever keeps it must put it back"
    if isinstance(error, PermissionError):
        return (
            f"cannot be read by this account, {this_author().account}. Whoever keeps it must let "
            f"others read it (chmod a+r {shlex.quote(path)}) and enter its folders"
        )
    if error.errno == errno.ELOOP:
        return _LINK
    return f"cannot be read: {error.strerror or 'the disk reports an error'}"


_LINK = "is behind a link that was not there when it was named. Put the file itself back"


def _require_kept(path: str, found: os.stat_result) -> None:
    if os.path.realpath(path) != path:
        raise unusable(path, _LINK)
    if not stat.S_ISREG(found.st_mode):
        raise unusable(path, "is not a regular file")
    if not _CHECKED:
        return
    if found.st_mode & _BY_OTHERS:
        raise _shared(path, path, found)
    folder, *above = Path(path).parents
    _require_folder(path, folder, found.st_uid, sticky_is_enough=False)
    for higher in above:
        # Nobody can rename another's folder in a sticky one (/tmp), and this one is checked. Right
        # beside the file that is not enough: whenever it is replaced, anybody could be faster.
        _require_folder(path, higher, found.st_uid, sticky_is_enough=True)


def _require_folder(path: str, folder: Path, keeper: int, *, sticky_is_enough: bool) -> None:
    held = folder.stat()
    closed = sticky_is_enough and held.st_mode & stat.S_ISVTX
    if held.st_mode & _BY_OTHERS and not closed:
        raise _shared(path, str(folder), held)
    if held.st_uid not in {0, keeper}:
        raise unusable(
            path,
            f"is in a folder, {folder}, of another account than the file's own (uid "
            f"{held.st_uid}, not {keeper}), which could put another file there. Keep it in a "
            "folder of the administrator's, such as /etc/crowdtally, or of its keeper's",
        )


def _shared(path: str, open_to_others: str, found: os.stat_result) -> LedgerError:
    here = "" if open_to_others == path else f", because of the folder {open_to_others}"
    return unusable(
        path,
        f"can be changed by others than its keeper{here} (mode {stat.S_IMODE(found.st_mode):o}). "
        f"Its keeper can close it, chmod go-w {shlex.quote(open_to_others)}, or keep it elsewhere",
    )
