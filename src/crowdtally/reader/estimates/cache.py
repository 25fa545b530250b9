"""Computed estimates, kept in the cache of the account that reads, never in a release's folder.

A file holds the numbers of one release, made by one version of the estimator: its name is the
SHA-256 of both. It is numbers and nothing else, so reading it can run nothing. It is used only
if it is the reader's own, has exactly the expected length and its own hash, and holds estimates
that could be; else the estimates are computed anew. Nothing fails where it cannot be written.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from stat import S_ISREG

import numpy as np

from crowdtally.format import Published
from crowdtally.reader.estimates.cell_sums import Believed, Total

VARIABLE = "CROWDTALLY_CACHE"
"""Names the folder; an empty one switches the cache off."""
LEAST = 20_000
"""Estimates of fewer cells are computed as quickly as they are read."""
MOST_BYTES = 1 << 29
"""What all files may have together: older ones are removed."""
_PARTS, _HEAD = 6, 5
"""Arrays of a number for each cell, and numbers before them."""
_SUFFIX = ".estimates"
_NAME = "[0-9a-f]" * 64


@dataclass(frozen=True, eq=False)
class Made:
    believed: Believed
    calibrated: bool
    """Whether they are of all records."""
    whole: Total


def kept(published: Published, cells: int, make: Callable[[], Made]) -> Made:
    """The estimates of so many cells: as they are kept, or else made, and kept from now on."""
    path = _path(published) if cells >= LEAST else None
    if path is None:
        return make()
    found = _read(path, cells)
    if found is not None:
        return found
    made = make()
    if len(made.believed) == cells:
        with suppress(OSError):
            _write(path, made)
    return made


def folder() -> Path | None:
    """Where estimates are kept; None where they are not."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        return Path(named).absolute() if named else None
    from platformdirs import user_cache_path

    return user_cache_path("crowdtally") / "estimates"


def _path(published: Published) -> Path | None:
    """The file of a release; None where none are kept, or its ``release.json`` was not read."""
    where = folder()
    if where is None or published.sha256 is None:
        return None
    key = hashlib.sha256(f"{published.sha256} {_estimator()}".encode()).hexdigest()
    return where / f"{key}{_SUFFIX}"


@cache
def _estimator() -> str:
    """The version of the estimator: the hash of its own text, and NumPy's version."""
    found = hashlib.sha256(np.__version__.encode())
    for package in ("crowdtally.inference", "crowdtally.reader.estimates", "crowdtally.laws"):
        for file in sorted(files(package).iterdir(), key=lambda one: one.name):
            if file.name.endswith(".py"):
                found.update(file.name.encode() + b"\0" + file.read_bytes())
    return found.hexdigest()


def _read(path: Path, cells: int) -> Made | None:
    """The estimates of a file, or None if it cannot be trusted."""
    length = 32 + 8 * (_HEAD + _PARTS * cells)
    try:
        with open(path, "rb", opener=_opened) as file:
            about = os.fstat(file.fileno())
            if not S_ISREG(about.st_mode) or about.st_size != length or not _own(about):
                return None
            raw = file.read(length + 1)
    except OSError:
        return None
    if len(raw) != length or hashlib.sha256(raw[32:]).digest() != raw[:32]:
        return None
    numbers = np.frombuffer(raw, dtype="<f8", offset=32).astype(np.float64)
    believed = Believed(*numbers[_HEAD:].reshape(_PARTS, cells))
    found = Made(believed, bool(numbers[0]), Total(*numbers[1:_HEAD].tolist()))
    return found if _could_be(numbers, found) else None


def _opened(path: str, flags: int) -> int:
    """Never follow a link, and never wait for the other end of a pipe."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def _own(about: os.stat_result) -> bool:
    """Whether only this user can have written the file."""
    if not hasattr(os, "getuid"):
        return True
    return about.st_uid == os.getuid() and not about.st_mode & 0o022


def _could_be(numbers: np.ndarray, found: Made) -> bool:
    of, whole = found.believed, found.whole
    return bool(
        np.isfinite(numbers).all()
        and numbers[0] in (0.0, 1.0)
        and 0 <= whole.low <= whole.high
        and whole.error >= 0
        and (of.mean >= 0).all()
        and (of.low <= of.high).all()
        and (of.deviation >= 0).all()
        and (of.own >= 0).all()
    )


def _write(path: Path, made: Made) -> None:
    """Write the whole file under another name first: who reads it meanwhile sees all or nothing."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    whole = made.whole
    head = np.array([float(made.calibrated), whole.mean, whole.error, whole.low, whole.high])
    payload = np.concatenate([head, *made.believed.parts()]).astype("<f8").tobytes()
    handle, name = tempfile.mkstemp(suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(payload).digest() + payload)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
    _make_room(path)


def _make_room(newest: Path) -> None:
    """Remove the files that were written longest ago, until the rest is small enough."""
    with suppress(OSError):
        known = sorted(
            (one.stat().st_mtime, one.stat().st_size, one)
            for one in newest.parent.glob(f"{_NAME}{_SUFFIX}")  # never other files
            if one != newest
        )
        total = sum(size for _, size, _ in known) + newest.stat().st_size
        for _, size, one in known:
            if total <= MOST_BYTES:
                break
            one.unlink(missing_ok=True)
            total -= size
