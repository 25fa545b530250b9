"""How near released counts come to the truth, for the same epsilon, on the real files.

Each file of the folder that ``CROWDTALLY_DATA`` names, and that has users, is released by ``auto``
(for counts, and for recommending where it has contexts), by the seed methods with settings that
nobody read off the records, and by Laplace noise for the true maximum. Runs are kept in a folder,
so that a measurement goes on where it was interrupted. What misses its target is told in a line
each; the last line is one JSON object. ``--save`` writes the scores of ``auto``, to be compared
with later: ``accurate/before.json`` are those of the method that ``auto`` was before.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

from accurate.files import Subject, subjects_in
from accurate.judging import Line, before, best, line_of, save, verdicts
from accurate.kept import Kept, Run, source_of
from accurate.running import NOISES, Task, run_all
from accurate.ways import Way, autos, others

JUDGED = ("1", "3")
"""The ε whose targets are judged; the others are told."""
EPSILONS = (*JUDGED, "0.1")
KEYS = 5
"""Sampling keys; each has several runs."""
KINDS = ("auto", "seed", "laplace")
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
TOLD = {
    "items": ("mse", "kl", "precision@10", "error of the listed ten", "covered listed 10",
              "covered listed 100", "covered true 100", "covered all", "covered total",
              "width total"),
    "cells": ("mse", "kl", "ndcg@10", "lift rank", "special@10", "covered listed 10",
              "covered listed 100", "covered true 100", "covered all"),
}  # fmt: skip


def measured(subjects: Sequence[Subject], given: argparse.Namespace) -> Iterator[Line]:
    """Run what was not run before; then a line for each table of each way with any runs."""
    kept, sources = Kept(given.results), {kind: source_of(kind) for kind in KINDS}
    tasks = [
        Task(epsilon, key, place, way, 3 if given.quick else NOISES)
        for epsilon in given.epsilon.split(",") for key in range(1 if given.quick else given.keys)
        for place, subject in enumerate(subjects)
        for way in (*autos(subject, epsilon), *others(subject)) if way.kind in given.kinds
    ]  # fmt: skip

    def known(task: Task) -> dict[str, Any]:
        subject = subjects[task.subject]
        return {
            **asdict(task), "subject": subject.name, "records": subject.held.known_by["digest"],
            "source": sources[task.way.kind],
        }  # fmt: skip

    to_do = [task for task in tasks if kept.runs(known(task)) is None]
    print(f"{len(tasks)} tasks, {len(to_do)} to do", file=sys.stderr, flush=True)
    made = run_all(to_do, subjects, given.processes, given.minutes)
    for done, (task, runs) in enumerate(made, 1):
        kept.keep(known(task), runs)
        if done % 20 == 0 or done == len(to_do):
            words = f"{done} of {len(to_do)}: ε {task.epsilon}, {subjects[task.subject].name}"
            print(words, file=sys.stderr, flush=True)
    if left := sum(kept.runs(known(task)) is None for task in tasks):
        print(f"{left} tasks were not run: run it again to go on.", file=sys.stderr)
    found: dict[tuple[str, int, Way], list[list[Run]]] = {}
    for task in tasks:
        if (known_runs := kept.runs(known(task))) is not None:
            found.setdefault((task.epsilon, task.subject, task.way), []).append(known_runs)
    for (epsilon, place, way), keys in found.items():
        subject = subjects[place]
        for table in keys[0][0]:
            yield line_of(subject.name, table, epsilon, way, subject.held.largest, keys)


def tables(lines: Sequence[Line]) -> Iterator[str]:
    """Every score, as tables of a page."""
    for epsilon, (table, names) in product(EPSILONS, TOLD.items()):
        mine = [line for line in lines if (line.epsilon, line.table) == (epsilon, table)]
        if mine:
            yield from ("", f"### ε = {epsilon}, {table}", "")
            yield _row(table, "way", "runs", *names)
            yield _row(*["---"] * (len(names) + 3))
        for subject in dict.fromkeys(line.subject for line in mine):
            here = [line for line in mine if line.subject == subject]
            for line in (one for one in here if one.way.kind != "seed"):
                scores = (line.scores.get(name, "") for name in names)
                yield _row(subject, line.way, line.runs, *scores)
            seeds = [line for line in here if line.way.kind == "seed"]
            winners = [best(seeds, name) for name in names]
            if seeds:
                scores = (
                    "" if one is None else f"{one.scores[name]} ({one.way})"
                    for name, one in zip(names, winners, strict=True)
                )  # fmt: skip
                yield _row(subject, "the best seed", seeds[0].runs, *scores)


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def write(page: Path, told: Sequence[str]) -> None:
    """Put the tables between the two marks of a page."""
    text = page.read_text("utf-8")
    if BEGIN not in text or END not in text:
        raise SystemExit(f"{page} has no marks {BEGIN} and {END}: nothing was written. Add them.")
    head, tail = text.split(BEGIN, 1)[0], text.split(END, 1)[1]
    inner = "\n".join(told).strip()
    page.write_text(f"{head}{BEGIN}\n\n{inner}\n\n{END}{tail}", encoding="utf-8")


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="3 runs at epsilon 1")
    parser.add_argument("--only", default="", help="the files whose name has this in it")
    parser.add_argument("--epsilon", help=f"default: {','.join(EPSILONS)}; with --quick 1")
    parser.add_argument("--kinds", type=lambda text: text.split(","), default=list(KINDS),
                        help="auto,seed,laplace or some of them")  # fmt: skip
    parser.add_argument("--keys", type=int, default=KEYS, help=f"of {NOISES} runs each")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=90, help="then it stops")
    parser.add_argument("--results", type=Path, default=Path("accuracy-results"))
    parser.add_argument("--save", type=Path, metavar="FILE", help="the scores of auto, as JSON")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the tables into a page")
    given = parser.parse_args()
    given.epsilon = given.epsilon or ("1" if given.quick else ",".join(EPSILONS))
    return given


def main() -> None:
    given, folder = _asked(), os.environ.get("CROWDTALLY_DATA")
    if not folder:
        raise SystemExit(
            "CROWDTALLY_DATA is not set: set it to the folder of the files, such as "
            "CROWDTALLY_DATA=../data python bench/accuracy.py --quick"
        )
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="crowdtally-") as work:
        lines = list(measured(list(subjects_in(Path(folder), Path(work), given.only)), given))
    if given.save:
        save((line for line in lines if line.way.kind == "auto"), given.save)
    runs, known = sorted({line.runs for line in lines}), {line.on for line in lines}
    lines += [line for line in before() if line.on in known]
    by_epsilon = ([line for line in lines if line.epsilon == one] for one in JUDGED)
    judged = [verdict for some in by_epsilon for verdict in verdicts(some)]
    missed = [verdict for verdict in judged if not verdict.met]
    told = [*tables(lines), "", f"Targets: {len(judged)}, missed: {len(missed)}.", ""]
    told += [f"- missed: {verdict}" for verdict in missed]
    print("\n".join(told))
    if given.write:
        write(given.write, told)
    minutes = round((time.perf_counter() - start) / 60, 1)
    print(json.dumps({
        "targets": len(judged), "missed": [asdict(verdict) for verdict in missed],
        "runs": runs, "minutes": minutes,
    }))  # fmt: skip


if __name__ == "__main__":
    main()
