"""A file that is written whole or not at all, and never over another one."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from crowdtally import durable
from crowdtally.errors import CrowdtallyError, UsageError


def refuse_taken(target: Path) -> None:
    """Refuse a place where something is, or where nothing can be."""
    if os.path.lexists(target):
        raise UsageError(f"{str(target)!r} exists, and is never replaced: choose another name.")
    if not target.parent.is_dir():
        raise UsageError(f"{str(target.parent)!r} is not a folder: create it first.")


def write_new(target: Path, text: str) -> None:
    """Write a text to a new file, on disk when this returns."""
    refuse_taken(target)
    beside = target.with_name(f".{secrets.token_hex(8)}.part")
    try:
        beside.write_bytes(text.encode())
        durable.flush(beside)
        _name(beside, target)
        durable.flush(target.parent)
    except OSError as error:
        raise CrowdtallyError(
            f"{str(target)!r} cannot be written: {error.strerror or 'unknown reason'}. "
            "Check the path, its permissions and the free space."
        ) from error
    finally:
        with suppress(OSError):
            beside.unlink()


def _name(beside: Path, target: Path) -> None:
    """Give a file its name, unless somebody was quicker."""
    try:
        os.link(beside, target)  # unlike a rename it replaces nothing
    except FileExistsError:
        refuse_taken(target)
    except OSError:  # some file systems have no links
        refuse_taken(target)
        os.rename(beside, target)
