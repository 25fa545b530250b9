"""Work that takes for ever, in a process that tells who it is."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from crowdtally.lab.processes import Run, Work, run_apart


@contextmanager
def opened(folder: Path, settings: Mapping[str, str]) -> Iterator[Run]:
    """What runs a task: it never ends."""

    def run(task: int) -> None:
        (folder / "pid.part").write_text(str(os.getpid()))
        os.replace(folder / "pid.part", folder / "pid")
        time.sleep(3600)

    yield run


def main() -> None:
    """Start it in a folder."""
    place = Path(sys.argv[1])
    run_apart(Work("the sleep", opened, place, [0], place), 1, print, print)
