"""What was written survives a loss of power, as far as the operating system can promise it."""

from __future__ import annotations

import os
from pathlib import Path

WINDOWS = os.name == "nt"


def flush(path: Path) -> None:
    """Make a file's content, or a folder's list of names, durable.

    Windows opens no folder, and NTFS journals the names in it by itself. A file it flushes only
    where it may be written to.

    Raises:
        OSError: the disk did not confirm it.
    """
    if WINDOWS and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDWR if WINDOWS else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
