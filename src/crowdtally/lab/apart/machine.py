"""What the machine has, and each process's share of it."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

_SHARE = 0.7
"""Of the memory, for all engines together."""


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def engine_settings(jobs: int) -> dict[str, str]:
    """Each engine's share of the cores and of the memory."""
    settings = {"threads": str(max(1, cores() // jobs))}
    with suppress(AttributeError, ValueError, OSError):  # Windows has no sysconf
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        settings["memory_limit"] = f"{int(memory * _SHARE / jobs) >> 20}MiB"
    return settings


def environment(jobs: int, folder: Path) -> dict[str, str]:
    """The same libraries as here, and as many threads as there are cores for them.

    What a process leaves behind when it is ended goes with the folder.
    """
    home = str(Path(__file__).parents[3])
    paths = [home, *(path for path in sys.path if path and path != home)]
    threads = str(max(1, cores() // jobs))
    return {
        **os.environ,
        "TMPDIR": str(folder),
        "TEMP": str(folder),
        "PYTHONPATH": os.pathsep.join(paths),
        "OMP_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": threads,
    }
