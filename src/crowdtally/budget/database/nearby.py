"""Files beside the one that was named, one of which may have been meant."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

_SQLITE = b"SQLite format 3\0"
_MOST = 10_000
_CLOSE = 5


def alike(path: Path) -> Path | None:
    """A database in the same folder whose name is almost this one; ``None`` without one."""
    try:
        with os.scandir(path.parent) as found:
            names = [entry.name for entry, _ in zip(found, range(_MOST), strict=False)]
    except OSError:
        return None
    folded = {name.casefold(): name for name in names if name != path.name}
    close = difflib.get_close_matches(path.name.casefold(), folded, n=_CLOSE)
    beside = (path.with_name(folded[name]) for name in close)
    return next((file for file in beside if _is_database(file)), None)


def _is_database(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False
