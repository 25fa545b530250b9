"""How near released counts come to the truth, for the same epsilon, on the real files.

Each file of the folder that ``CROWDTALLY_DATA`` names, and that has users, is released by ``auto``
(``--for counts``, ``top`` and ``recommend``), and by every seed method and baseline at its paper's
settings and tuned with hindsight (3 runs of at most 6 settings; the winner is run in full). A file
with contexts is released with them; "alone" are its items without any contexts. Runs are kept in a
folder, so that a measurement goes on where it was interrupted. The last line is one JSON object
with the list ``missed``. With ``--delta D`` only two are compared: ``auto`` at (ε, δ) and at ε.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accurate import under_delta
from accurate.files import FILES, Subject, subject_of
from accurate.judging import Line, better, line_of
from accurate.kept import Kept, Scores, source_of
from accurate.quickness import auto_over_sra
from accurate.running import Task, run_all
from accurate.targets import Found, verdicts
from accurate.telling import markdown, tables, write
from accurate.ways import Way, at_the_papers_settings, autos, searched

EPSILONS = ("1", "0.1", "3")
QUICKER = 4
"""``auto`` may take so many times as long as ``sra``."""


@dataclass(frozen=True)
class Wanted:
    """One way on one subject, at one ε, with so many runs."""

    subject: int
    way: Way
    epsilon: str
    keys: int
    noises: int


class Measurement:
    """All that is measured."""

    def __init__(self, subjects: Sequence[Subject], kept: Kept, given: argparse.Namespace) -> None:
        self._subjects, self._kept = subjects, kept
        self._processes = given.processes
        self._methods = [name for name in given.methods.split(",") if name]
        self._epsilons = tuple(given.epsilon.split(","))
        self._delta: str | None = given.delta
        self._full = (3, 1) if given.quick else (5, 4)
        self._trial = (1, 1) if given.quick else (3, 1)
        self._deadline = time.monotonic() + 60 * given.minutes
        self._sources = {auto: source_of(auto=auto) for auto in (True, False)}

    def lines(self) -> list[Line]:
        """Run what was not run before; then everything that was found."""
        everywhere = range(len(self._subjects))
        first = [one for place in everywhere for one in self._plain(place)]
        trials = [one for place in everywhere for one in self._trials(place)]
        self._run([*first, *trials], "auto, the papers' settings, and the search")
        winners = [one for place in everywhere for one in self._winners(place)]
        self._run(winners, "the winners of the search")
        found = [self._line(one, "auto" if one.way.is_auto else "paper") for one in first]
        found += [self._line(one, "hindsight") for one in winners]
        return [line for lines in found for line in lines]

    def _plain(self, place: int) -> Iterator[Wanted]:
        subject = self._subjects[place]
        ways = [*autos(subject), *filter(self._is_wanted, at_the_papers_settings(subject))]
        if self._delta is not None:
            ways = under_delta.ways(self._delta)
        for epsilon in self._epsilons:
            yield from (Wanted(place, way, epsilon, *self._full) for way in ways)

    def _trials(self, place: int) -> Iterator[Wanted]:
        if self._delta is not None:
            return
        for epsilon in self._epsilons:
            for way in filter(self._is_wanted, searched(self._subjects[place])):
                yield Wanted(place, way, epsilon, *self._trial)

    def _is_wanted(self, way: Way) -> bool:
        return not self._methods or way.seed_method in self._methods

    def _winners(self, place: int) -> Iterator[Wanted]:
        """Of each method the best by MSE and by KL, and of all the best by every other score."""
        judged = ("items", "edges") if self._subjects[place].has_contexts else ("items",)
        for epsilon in self._epsilons:
            trials = [one for one in self._trials(place) if one.epsilon == epsilon]
            found = {one.way: runs for one in trials if (runs := self._found(one))}
            winners = [way for table in judged for way in _winning(found, table)]
            for way in dict.fromkeys(winners):
                yield Wanted(place, way, epsilon, *self._full)

    def _of(self, one: Wanted, key: int) -> dict[str, Any]:
        subject = self._subjects[one.subject]
        return {
            "subject": subject.name, "records": subject.held.known_by["digest"],
            "way": one.way.key(), "epsilon": one.epsilon, "key": key,
            "source": self._sources[one.way.is_auto],
        }  # fmt: skip

    def _found(self, one: Wanted) -> list[list[Scores]] | None:
        runs = [self._kept.runs(self._of(one, key), one.noises) for key in range(one.keys)]
        return None if any(run is None for run in runs) else [run for run in runs if run]

    def _tasks(self, wanted: Iterable[Wanted]) -> list[Task]:
        """What is left; of a way that counts the same at every ε, all of them at once."""
        left: dict[tuple[int, int, Way, str], list[Wanted]] = {}
        for one in wanted:
            for key in range(one.keys):
                if self._kept.runs(self._of(one, key), one.noises) is None:
                    apart = "" if one.way.counts_once else one.epsilon
                    left.setdefault((one.subject, key, one.way, apart), []).append(one)
        tasks = []
        for (place, key, way, _), several in sorted(left.items(), key=lambda item: item[0][:2]):
            epsilons = tuple(dict.fromkeys(one.epsilon for one in several))
            tasks.append(Task(place, way, epsilons, key, max(one.noises for one in several)))
        return tasks

    def _run(self, wanted: Sequence[Wanted], words: str) -> None:
        tasks = self._tasks(wanted)
        print(f"{words}: {len(tasks)} tasks", file=sys.stderr)
        start = time.monotonic()
        made = run_all(tasks, self._subjects, self._processes, self._deadline)
        for done, (task, found, _) in enumerate(made, 1):
            for epsilon, runs in found.items():
                one = Wanted(task.subject, task.way, epsilon, 1, task.noises)
                self._kept.keep(self._of(one, task.key), runs)
            if done % 20 == 0 or done == len(tasks):
                name = self._subjects[task.subject].name
                taken = time.monotonic() - start
                print(f"  {done} of {len(tasks)}, {taken:.0f} s, {name}", file=sys.stderr)

    def _line(self, one: Wanted, kind: str) -> list[Line]:
        """A line for each table that is judged here; none for what there was no time for."""
        runs, subject = self._found(one), self._subjects[one.subject]
        if not runs:
            return []
        first = subject.has_contexts and subject.file.first
        names = {"items": subject.items_name if first else subject.name, "edges": subject.name}
        judged = [table for table in names if table == "items" or subject.has_contexts]
        return [line_of(names[table], table, one.epsilon, one.way, kind, runs) for table in judged]


def _winning(found: dict[Way, list[list[Scores]]], table: str) -> Iterator[Way]:
    lines = [line_of("", table, "", way, "", runs) for way, runs in found.items()]
    tried = {line.way: {n: mean.value for n, mean in line.scores.items()} for line in lines}
    seen = set()
    names = list(next(iter(tried.values()), {}))
    methods = dict.fromkeys(way.method for way in tried)
    groups = [(name, method) for name in ("mse", "kl") for method in methods]
    for name, method in [*groups, *((name, None) for name in names)]:
        among = [way for way in tried if method in (None, way.method)]
        winner = among[0]
        for way in among[1:]:
            if better(name, tried[way][name], tried[winner][name]):
                winner = way
        if winner not in seen:
            seen.add(winner)
            yield winner


def subjects_in(folder: Path, work: Path, only: str) -> Iterator[Subject]:
    """Every file that is there: with its contexts, and its items alone."""
    for number, file in enumerate(FILES):
        if only.lower() not in file.name.lower():
            continue
        if not file.is_in(folder):
            print(f"{file.name} is not in {folder}: left out.", file=sys.stderr)
            continue
        for what in file.counted:
            place = work / f"{number}-{what}"
            if file.contexts:
                yield subject_of(file, what, folder, place)
            if file.first:
                alone = place.with_name(f"{place.name}-items")
                yield subject_of(file, what, folder, alone, contexts=False)


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="3 runs, epsilon 1, 10^6 records")
    parser.add_argument("--only", default="", help="the files whose name has this in it")
    parser.add_argument("--epsilon", help=f"default: {','.join(EPSILONS)}; with --quick 1")
    parser.add_argument("--delta", help="compare auto at (epsilon, delta) with auto at epsilon")
    parser.add_argument("--methods", default="", help="compare with these alone: sra,hpa,gs")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=80, help="for the files; then it stops")
    parser.add_argument("--results", type=Path, default=Path("accuracy-results"))
    parser.add_argument("--records", type=lambda text: int(float(text)), help="to time; 0: none")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the tables into a page")
    given = parser.parse_args()
    usual = "1" if given.quick or given.delta else ",".join(EPSILONS)
    given.epsilon = given.epsilon or usual
    given.records = (10**6 if given.quick else 10**7) if given.records is None else given.records
    return given


def _files(given: argparse.Namespace) -> tuple[list[Line], dict[str, str]]:
    """All lines, and for each subject with contexts the name of its items."""
    folder = os.environ.get("CROWDTALLY_DATA")
    if not folder:
        raise SystemExit("set CROWDTALLY_DATA to the folder of the files: it is not set.")
    with tempfile.TemporaryDirectory(prefix="crowdtally-") as work:
        subjects = list(subjects_in(Path(folder), Path(work), given.only))
        lines = Measurement(subjects, Kept(given.results), given).lines()
        return lines, {one.name: one.items_name for one in subjects if one.has_contexts}


def main() -> None:
    given = _asked()
    start = time.perf_counter()
    lines, families = _files(given)
    if given.delta is not None:
        judged, page = list(under_delta.verdicts(lines)), list(under_delta.tables(lines))
        given.records = 0
    else:
        judged, page = list(verdicts(Found(lines, "1"), families)), []
    for line in page or tables(lines):
        print(line)
    missed: list[dict[str, Any]] = [one.as_dict() for one in judged if not one.met]
    timed: dict[str, float] = {}
    if given.records:
        timed = auto_over_sra(given.records, repeats=3)
        if timed["auto_over_sra"] > QUICKER:
            found = timed["auto_over_sra"]
            missed.append({"target": "auto over sra", "wanted": QUICKER, "found": found})
    for one in missed:
        because = f", because {one['reason']}" if one.get("reason") else ""
        print(f"missed: {one['target']}: {one['found']}, wanted {one['wanted']}{because}")
    if given.write and page:
        write(given.write, page, under_delta.MARKS)
    elif given.write:
        write(given.write, list(markdown(lines, judged)))
    result = {
        "targets": len(judged) + bool(timed), "missed": missed, **timed,
        "minutes": round((time.perf_counter() - start) / 60, 1),
    }  # fmt: skip
    print(json.dumps(result))


if __name__ == "__main__":
    main()
