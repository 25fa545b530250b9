"""New files, written whole or not at all and durably; regular files, opened safely."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from crowdtally.errors import CrowdtallyError, InputError, UsageError

WINDOWS = os.name == "nt"


def flush(path: Path) -> None:
    """Make a file's content, or a folder's list of names, durable; an OSError if that fails.

    Windows opens no folder, and NTFS journals its names. It flushes a file only if it is open for
    writing.
    """
    if WINDOWS and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDWR if WINDOWS else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def refuse_taken(target: Path) -> None:
    """Refuse a place where something is, or where nothing can be."""
    if os.path.lexists(target):
        raise UsageError(
            f"{str(target)!r} exists, and is never replaced: choose another name, or remove it "
            "first."
        )
    if not target.parent.is_dir():
        raise UsageError(f"{str(target.parent)!r} is not a folder: create it first.")


@contextmanager
def new_file(target: Path) -> Iterator[Path]:
    """A path to write to; unless something fails, the file is then on disk under its name."""
    refuse_taken(target)
    part = target.with_name(f".{secrets.token_hex(8)}.part")
    try:
        yield part
        flush(part)
        _name(part, target)
        flush(target.parent)
    except OSError as error:
        raise CrowdtallyError(
            f"{str(target)!r} cannot be written: {error.strerror or 'unknown reason'}. "
            "Check the path, its permissions and the free space."
        ) from error
    finally:
        with suppress(OSError):
            part.unlink()


def write_new(target: Path, content: bytes) -> None:
    with new_file(target) as part:
        part.write_bytes(content)


def _name(part: Path, target: Path) -> None:
    """Give a file its name, unless it is taken by now."""
    try:
        os.link(part, target)  # unlike a rename it replaces nothing
    except FileExistsError:
        refuse_taken(target)
    except OSError:  # some file systems have no links
        refuse_taken(target)
        os.rename(part, target)


# Files of a release are opened only if they are regular: anybody may have made the folder, reading
# a pipe in place of a table could wait for ever, and a device has no end. The opened file is asked,
# as the file at a path could be exchanged between a check and its opening.

_WITHOUT_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_OPENED = Path("/proc/self/fd")  # where Linux lets a process open again what it has opened


def open_regular(path: Path) -> BufferedReader:
    """The file, opened for reading; an OSError if it is a pipe, a device or a folder."""
    return open(path, "rb", opener=_regular)


def _regular(path: str, flags: int) -> int:
    descriptor = os.open(path, flags | _WITHOUT_WAITING)
    mode = os.fstat(descriptor).st_mode
    if S_ISREG(mode) or S_ISDIR(mode):  # of a folder Python itself says that it is one
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "it is not a regular file", path)


def content(path: Path) -> bytes:
    with open_regular(path) as file:
        return file.read()


def unreadable(path: Path, error: OSError) -> InputError:
    """The error for a file of a release that is there, and cannot be read."""
    return InputError(
        f"{str(path)!r} cannot be read: {error.strerror or 'unknown reason'}. Check its "
        "permissions and the disk."
    )


def digest(path: Path) -> str:
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def again(file: BufferedReader, path: Path) -> Path:
    """A path under which others can open this very file while it is open, or else its own."""
    return _OPENED / str(file.fileno()) if _OPENED.is_dir() else path
