"""Limits on this process's memory (``ulimit -v``), checked before anything is charged.

When the address space runs out, libraries below Python abort the process without a message. So the
engine gets a limit of its own, and too little memory is an error before any work.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from crowdtally.errors import CrowdtallyError

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

_MIB = 2**20
_LIBRARIES = 512 * _MIB  # address space of the program and its libraries, once all are loaded
_THREAD = 256 * _MIB
"""Address space of one of the engine's threads: its stack and its allocator's reserve."""
_WORK = 128 * _MIB  # the least memory that the engine works with; it spills the rest to disk
_WRITING = 2 * _THREAD + 256 * _MIB
"""Kept free for the release's files: they are written after the charge, when nothing may fail."""
LEAST = _LIBRARIES + _WRITING + _THREAD + 2 * _WORK  # the smallest limit that is allowed


@dataclass(frozen=True)
class Share:
    """How much of a limited address space the engine may use."""

    threads: int
    memory: int
    """Bytes."""


def limit() -> int | None:
    """The limit on this process's address space in bytes, if there is one."""
    if resource is None:
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft


def require() -> None:
    """Refuse to begin within a limit that is too small for the work."""
    allowed = limit()
    if allowed is not None and allowed < LEAST:
        raise CrowdtallyError(
            f"the memory of this process is limited to {_shown(allowed)} (ulimit -v), and "
            f"{_shown(LEAST)} are needed. Type `ulimit -v {LEAST // 1024}` or more, or `ulimit -v "
            "unlimited`, and run again. Nothing was charged."
        )


def share() -> Share | None:
    """The engine's share of a limited address space, or None where there is no limit."""
    require()
    allowed = limit()
    if allowed is None:
        return None
    left = allowed - max(_LIBRARIES, _taken()) - _WRITING
    each = _THREAD + 2 * _WORK
    threads = max(1, min(os.cpu_count() or 1, left // each))
    # Half: the other is for results and noise in Python.
    return Share(threads, max((left - threads * _THREAD) // 2, _WORK))


def _taken() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _shown(size: int) -> str:
    """A size in words.

    >>> _shown(1792 * 2**20)
    '1,792 MiB'
    """
    return f"{size // _MIB:,} MiB"
