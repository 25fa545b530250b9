"""Seconds until ``recommend`` answers, cold and warm, beside DuckDB's own for the plain query.

Run ``python bench/asking.py [--cells 1e6] [--contexts 10] [--runs 5] [--quick]``. A release folder
of so many cells is made directly, without records: items × contexts. *Cold* is the command
``crowdtally recommend`` in a fresh process, without kept estimates; *warm* is the same question to
a release that is open in Python and was asked before, about another context each time. The plain
query is the k largest noisy counts of the same contexts by DuckDB from the same file: cold in a
fresh process, warm in one that has it open. CPU seconds stand beside: on a machine that has more to
do they say what an idle one would need. The last line is all figures as one JSON object,
with the targets and those that were missed; where any was, the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

import crowdtally as ct
from top import release

TARGETS = {"cold": 2.0, "warm": 0.1}
"""Seconds at most, by the median of the runs, at 10^6 cells."""
FULL = 1_000_000
QUESTIONS: Mapping[str, Mapping[str, Any]] = {
    "popular": {},
    "popular, without 100 items": {"without": [7 * n + 3 for n in range(100)]},
    "special": {"by": "special"},
}
_PLAIN = (
    "SELECT item, sum(count) AS counted FROM '{path}' WHERE hour IN ({hours}) "
    "GROUP BY item ORDER BY counted DESC LIMIT 10"
)


@dataclass
class Timed:
    """Seconds of every question, by the clock and of the processor: medians of the runs."""

    runs: int
    seconds: dict[str, dict[str, float]] = field(default_factory=lambda: {"cold": {}, "warm": {}})
    cpu: dict[str, dict[str, float]] = field(default_factory=lambda: {"cold": {}, "warm": {}})

    def add(self, kind: str, words: str, task: Callable[[int], object]) -> None:
        """Time a task, which is told the number of the run."""
        clock, used = [], []
        for number in range(self.runs):
            start, before = time.perf_counter(), _cpu()
            task(number)
            clock.append(time.perf_counter() - start)
            used.append(_cpu() - before)
        self.seconds[kind][words] = statistics.median(clock)
        self.cpu[kind][words] = statistics.median(used)


def _cpu() -> float:
    """Seconds of the processor, of this process and of those that it started."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def measured(cells: int, contexts: int, runs: int) -> dict[str, Any]:
    """Median seconds of every question, in two contexts together."""
    found = Timed(runs)
    with tempfile.TemporaryDirectory() as folder:
        made = release(Path(folder), cells, contexts)
        opened = ct.load(made)
        for words, asked in QUESTIONS.items():
            found.add("cold", words, lambda _, asked=asked: _command(made, asked))  # type: ignore[misc]

            def warm(number: int, asked: Mapping[str, Any] = asked) -> None:
                first = number % (contexts - 1)
                opened.recommend(10, hour=[first, first + 1], **asked)

            warm(1)
            found.add("warm", words, warm)
        query = _PLAIN.format(path=made / "edges.parquet", hours="0, 1")
        script = f"import duckdb; duckdb.sql({query!r}).fetchall()"
        found.add("cold", "DuckDB", lambda _: _run([sys.executable, "-c", script]))
        held = duckdb.connect()
        held.execute(query).fetchall()
        found.add("warm", "DuckDB", lambda _: held.execute(query).fetchall())
    facts = {"cells": cells, "contexts": contexts, "runs": runs}
    return {**facts, "seconds": found.seconds, "cpu": found.cpu}


def judged(found: dict[str, Any]) -> dict[str, Any]:
    """The same with targets and what missed them; smaller releases have none."""
    targets = TARGETS if found["cells"] >= FULL else {}
    missed = [
        f"{kind}, {words}: {seconds:.3f} s, target {targets[kind]:g} s"
        for kind, by_question in found["seconds"].items()
        for words, seconds in by_question.items()
        if kind in targets and words != "DuckDB" and seconds > targets[kind]
    ]
    return {**found, "targets": targets, "missed": missed}


def _command(made: Path, asked: Mapping[str, Any]) -> None:
    words = ["--context", "hour=0", "--context", "hour=1", "--by", asked.get("by", "popular")]
    for item in asked.get("without", ()):
        words += ["--without", str(item)]
    _run([sys.executable, "-m", "crowdtally", "recommend", str(made), *words])


def _run(command: list[str]) -> None:
    settings = os.environ | {"CROWDTALLY_CACHE": ""}
    subprocess.run(command, stdout=subprocess.DEVNULL, env=settings, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cells", type=float, default=FULL, help="items × contexts")
    parser.add_argument("--contexts", type=int, default=10, help="how many an item has, 3 or more")
    parser.add_argument("--runs", type=int, default=5, help="of each question")
    parser.add_argument("--quick", action="store_true", help="20,000 cells, one run, no targets")
    given = parser.parse_args()
    cells, runs = (20_000, 1) if given.quick else (int(given.cells), given.runs)
    found = judged(measured(cells, given.contexts, runs))
    for kind, by_question in found["seconds"].items():
        for words, seconds in by_question.items():
            cpu = found["cpu"][kind][words]
            print(f"{kind:5} {words:28} {seconds:.3f} s, CPU {cpu:.3f} s")
    print(json.dumps(found))
    sys.exit(1 if found["missed"] else 0)


if __name__ == "__main__":
    main()
