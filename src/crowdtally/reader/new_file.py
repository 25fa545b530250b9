"""A file that is written whole or not at all, and never over another one."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from crowdtally import durable
from crowdtally.errors import CrowdtallyError, UsageError


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
    """Where to write; at the end it is on disk under its name, unless something failed."""
    refuse_taken(target)
    part = target.with_name(f".{secrets.token_hex(8)}.part")
    try:
        yield part
        durable.flush(part)
        _name(part, target)
        durable.flush(target.parent)
    except OSError as error:
        raise CrowdtallyError(
            f"{str(target)!r} cannot be written: {error.strerror or 'unknown reason'}. "
            "Check the path, its permissions and the free space."
        ) from error
    finally:
        with suppress(OSError):
            part.unlink()


def write_new(target: Path, content: bytes) -> None:
    """Write a new file."""
    with new_file(target) as part:
        part.write_bytes(content)


def _name(part: Path, target: Path) -> None:
    """Give a file its name, unless somebody was quicker."""
    try:
        os.link(part, target)  # unlike a rename it replaces nothing
    except FileExistsError:
        refuse_taken(target)
    except OSError:  # some file systems have no links
        refuse_taken(target)
        os.rename(part, target)
