"""Whether a release that is served is still the one that was opened."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from crowdtally.core import files
from crowdtally.errors import InputError
from crowdtally.format import Published

_Identity = tuple[tuple[int, ...], ...]


class Watched:
    """The files of a release, looked at again wherever one of them is another than before."""

    def __init__(self, published: Published) -> None:
        self._published = published
        self._paths = [published.folder / name for name in published.files]
        self._sound: _Identity | None = None

    def check(self) -> None:
        """Raise an InputError where a file was changed, replaced or taken away."""
        found = tuple(map(_identity, self._paths))
        if found == self._sound:
            return
        path = self._published.folder / "release.json"
        try:
            digest = hashlib.sha256(files.content(path)).hexdigest()
        except OSError as error:
            raise _gone(path) from error
        if self._published.sha256 not in (None, digest):
            raise InputError(f"{str(path)!r} is not the one that was opened.")
        for table in self._published.tables:
            self._published.path(table)
        self._sound = found


def _identity(path: Path) -> tuple[int, ...]:
    try:
        found = os.stat(path)
    except OSError as error:
        raise _gone(path) from error
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _gone(path: os.PathLike[str]) -> InputError:
    return InputError(f"{str(path)!r} is gone, or cannot be read any more.")
