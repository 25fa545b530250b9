"""Processes of a comparison: one that dies, and a person who stops them all."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import pytest

import crowdtally as ct
from crowdtally import lab
from crowdtally.core.records import Records
from crowdtally.errors import CrowdtallyError
from crowdtally.lab.comparison import run
from crowdtally.lab.comparison.run import Bench, Outcome, Task
from crowdtally.lab.processes import Worker, answer
from kit.command import crowdtally

USED = {"epsilon": 1, "methods": "sra", "max_records": [1, 2], "runs": 4}


def _runs(folder: Path) -> dict[str, bytes]:
    found = (folder / "runs").iterdir() if (folder / "runs").is_dir() else iter(())
    return {file.name: file.read_bytes() for file in found if file.suffix == ".json"}


def test_a_process_that_dies_loses_only_its_task(
    records: Records, domain: ct.Domain, tmp_path: Path
) -> None:
    """Two processes, one of which is killed at the first outcome."""
    processes: list[subprocess.Popen[str]] = []
    real_start, real_keep = Worker.__init__, run.Outcome.of

    def started(worker: Worker, *given: object) -> None:
        real_start(worker, *given)  # type: ignore[arg-type]
        processes.append(worker.process)

    def killing(told: object) -> Outcome:
        for process in processes:
            process.kill()
        return real_keep(told)  # type: ignore[arg-type]

    folder = tmp_path / "cmp"
    with (
        mock.patch.object(Worker, "__init__", started),
        mock.patch.object(run.Outcome, "of", killing),
        pytest.raises(CrowdtallyError, match=r"ended by signal 9.*the same command goes on"),
    ):
        lab.compare(records, domain, jobs=2, output=folder, **USED)
    assert len(processes) == 2
    assert all(process.poll() is not None for process in processes)
    kept = _runs(folder)
    assert 1 <= len(kept) < 4
    ran: list[str] = []
    real_run = Bench.run

    def noted(bench: Bench, task: Task) -> list[Outcome]:
        ran.extend(f"{u.setting.max_records}-k{u.key}" for u in task.units)
        return real_run(bench, task)

    with (
        mock.patch.object(Bench, "run", noted),
        mock.patch("crowdtally.lab.comparison.compare.write"),
    ):
        frame = lab.compare(records, domain, jobs=1, output=folder, **USED)
    assert len(ran) == len(set(ran)) == 4 - len(kept)
    assert _runs(folder).items() >= kept.items()
    assert len(_runs(folder)) == 4
    assert set(frame[frame.metric == "mae"]["runs"]) == {4}


def test_a_failure_in_a_process_is_told_in_words_without_a_value() -> None:
    def failing(error: Exception) -> None:
        raise error

    told = answer(failing, ValueError("visitor-99"))
    assert told == {"failed": "an unforeseen failure (ValueError)."}
    assert answer(failing, CrowdtallyError("the disk is full.")) == {"failed": "the disk is full."}


def _words(visits: Path, folder: Path) -> list[str]:
    return [
        "lab", "compare", str(visits), "--user", "who", "--item", "place", "--items",
        str(visits.parent / "places.csv"), "--epsilon", "1", "-o", str(folder), "--methods",
        "sra", "--max-records", "1,2",
    ]  # fmt: skip


def test_an_interrupted_comparison_goes_on(visits: Path, tmp_path: Path) -> None:
    """A real program with two processes, interrupted as a terminal does: the whole group."""
    (visits.parent / "places.csv").write_text("place\nbar\ncafe\npark\npier\nzoo\n")
    folder, scratch = tmp_path / "cmp", tmp_path / "scratch"
    scratch.mkdir()
    words = [*_words(visits, folder), "--runs", "400", "--jobs", "2"]
    program = subprocess.Popen(
        [sys.executable, "-m", "crowdtally", *words], stderr=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, "TMPDIR": str(scratch)},
    )  # fmt: skip
    deadline = time.monotonic() + 300
    while len(_runs(folder)) < 3 and time.monotonic() < deadline and program.poll() is None:
        time.sleep(0.02)
    os.killpg(program.pid, signal.SIGINT)
    shown, said = program.communicate(timeout=300)
    assert program.returncode == 130, said
    assert shown == ""
    assert said.startswith("NOT PRIVATE")
    kept = _runs(folder)
    assert f"interrupted: {len(kept)} finished parts are kept in {folder}" in said
    assert "The same command goes on from there" in said
    assert "ledger" not in said
    assert "Traceback" not in said
    assert not list(scratch.iterdir())
    with pytest.raises(ProcessLookupError):
        os.killpg(program.pid, 0)  # nobody of the group is left
    assert 3 <= len(kept) < 200
    with mock.patch("crowdtally.lab.comparison.compare.write"):
        ended = crowdtally(*_words(visits, folder), "--runs", "4", "--jobs", "1", "--json")
    assert ended.code == 0, str(ended)
    found = json.loads(ended.out)
    errors = [row for row in found["rows"] if row["metric"] == "mae"]
    assert [row["runs"] for row in errors] == [4] * 2
    assert _runs(folder).items() >= kept.items()
