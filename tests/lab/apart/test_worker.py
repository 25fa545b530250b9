"""Processes of the lab end with whoever started them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path


def _wait(passes: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 300
    while not passes():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def _is_gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{process}/stat").read_text().split()[2] == "Z"  # only its entry is left


def test_a_process_in_the_middle_of_long_work_does_not_outlive_its_program(tmp_path: Path) -> None:
    """The program is killed outright, so that it can end nobody itself."""
    program = "from kit.sleeping import main; main()"
    paths = os.pathsep.join(path for path in sys.path if path)
    started = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], env={**os.environ, "PYTHONPATH": paths}
    )
    try:
        assert _wait((tmp_path / "pid").is_file)
        worker = int((tmp_path / "pid").read_text())
        assert not _is_gone(worker)
    finally:
        started.kill()
        started.wait()
    assert _wait(lambda: _is_gone(worker))
