"""Files of a release are opened only where they are regular ones.

A folder comes from anybody. A pipe in place of a table would let whoever opens it wait for ever,
and a device would have no end. What a file is, is asked of the opened file: between a look at a
path and its opening another file can be put there.
"""

from __future__ import annotations

import errno
import hashlib
import os
from io import BufferedReader
from pathlib import Path
from stat import S_ISDIR, S_ISREG

_WITHOUT_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_OPENED = Path("/proc/self/fd")
"""Where Linux lets a process open again what it has opened."""


def opened(path: Path) -> BufferedReader:
    """The file, opened for reading.

    Raises:
        OSError: it cannot be opened, or is a pipe, a device or a folder.
    """
    return open(path, "rb", opener=_regular)


def _regular(path: str, flags: int) -> int:
    found = os.open(path, flags | _WITHOUT_WAITING)
    mode = os.fstat(found).st_mode
    if S_ISREG(mode) or S_ISDIR(mode):  # of a folder Python itself says that it is one
        return found
    os.close(found)
    raise OSError(errno.EINVAL, "it is not a regular file", path)


def content(path: Path) -> bytes:
    """The bytes of a file."""
    with opened(path) as file:
        return file.read()


def digest(path: Path) -> str:
    """The SHA-256 of a file, read in blocks."""
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def again(file: BufferedReader, path: Path) -> Path:
    """A path under which others can open this very file; its own one where there is no such path.

    Args:
        file: must stay open until then.
        path: from which it was opened.
    """
    return _OPENED / str(file.fileno()) if _OPENED.is_dir() else path
