"""Tasks, runs, folder."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.layout import EDGES
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.bounding.scaling import Auto
from crowdtally.curator.counting.count import Reading
from crowdtally.curator.method import method_of
from crowdtally.errors import UsageError
from crowdtally.format import NoisyTable
from crowdtally.lab.baselines import BASELINES
from crowdtally.lab.comparison.plan import baseline_of, request_of
from crowdtally.lab.comparison.records import Held
from crowdtally.lab.comparison.summary import Measured, Setting
from crowdtally.lab.estimates import estimate, estimate_auto, range_answers
from crowdtally.lab.methods import (
    ANOTHER_FOLDER,
    CHOSEN_BY_LOOKING,
    NOT_PRIVATE,
    check_own_folder,
    write_json,
)
from crowdtally.lab.metrics import Compared, measured, ranges
from crowdtally.lab.processes import Run, Work, run_apart
from crowdtally.lab.rehearse import Halfway, Rehearsal
from crowdtally.noise.draws import Draws, SystemDraws
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.prepare import Prepared

# The work of a comparison, cut into tasks: one key of one method and bound, at one ε or more.

Row = tuple[str, str, int | None, float]
"""Table, metric, K and value."""


@dataclass(frozen=True)
class Unit:
    """One key of one setting: what is kept together, and not made again."""

    setting: Setting
    key: int
    """Which draw of the sampling key."""


@dataclass(frozen=True)
class Outcome:
    """What the runs of a unit measured."""

    unit: Unit
    noises: tuple[tuple[Row, ...], ...]
    """The numbers of each run, one for each draw of the last noise."""

    def measured(self, noises: int) -> Iterator[Measured]:
        """The numbers of the first so many runs."""
        for noise, rows in enumerate(self.noises[:noises]):
            for table, metric, k, value in rows:
                yield Measured(self.unit.setting, self.unit.key, noise, table, metric, k, value)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Outcome:
        """From JSON; KeyError, TypeError or ValueError where it is damaged."""
        unit = Unit(Setting(**told["unit"]["setting"]), int(told["unit"]["key"]))
        return cls(unit, tuple(tuple(_row(*row) for row in rows) for rows in told["noises"]))


def _row(table: str, metric: str, k: int | None, value: float) -> Row:
    return str(table), str(metric), None if k is None else int(k), float(value)


@dataclass(frozen=True)
class Task:
    """Units of one method, bound and key, which differ in ε: their records are counted once."""

    units: tuple[Unit, ...]
    noises: int
    """How many noises are drawn for each unit."""


def tasks_of(
    settings: Sequence[Setting],
    keys: int,
    noises: int,
    is_done: Callable[[Unit], bool],
    counts_once: Callable[[Setting], bool],
) -> list[Task]:
    """The tasks that are left: the first keys of all settings come first.

    Where nothing is released before the last noise, the counts are the same for every ε.
    """
    tasks = []
    for key in range(keys):
        for (method, bound), group in groupby(settings, lambda s: (s.method, s.max_records)):
            units = [Unit(setting, key) for setting in group]
            left = [unit for unit in units if not is_done(unit)]
            if left and counts_once(Setting(method, left[0].setting.epsilon, bound)):
                tasks.append(Task(tuple(left), noises))
            else:
                tasks += [Task((unit,), noises) for unit in left]
    return tasks


def counts_once(setting: Setting, held: Held, options: Mapping[str, Any]) -> bool:
    """Whether what is counted is the same for every ε: where nothing is released before."""
    return (
        setting.method in BASELINES or method_of(request_of(setting, held, options)).questions == 1
    )


# Runs tasks: the real questions of a release, or a baseline, each run beside the truth.

KS = (1, 3, 10, 30, 100)
"""The lengths of lists, where nothing else is said."""


@dataclass(frozen=True, eq=False)
class _Found:
    """What a reader makes of one table of one run."""

    estimate: NDArray[np.float64]
    answers: NDArray[np.float64] | None = None
    """For each range of the workload, where that is not the sum of its cells."""

    @classmethod
    def of(cls, table: NoisyTable) -> _Found:
        found = estimate(table)
        return cls(found, range_answers(table, *ranges(len(found))))


@dataclass(frozen=True)
class Given:
    """All that a process needs to run tasks."""

    held: Held
    options: Mapping[str, Any]
    """What methods are given beside their names and bounds."""
    seed: int
    """Where the keys of this comparison begin."""
    ks: tuple[int, ...] = KS
    """The lengths of lists that are measured."""


class Bench:
    """The records in an engine, beside the truth."""

    def __init__(self, given: Given, engine: DuckDBEngine, draws: Draws | None = None) -> None:
        self._given = given
        self._engine = engine
        self._draws = SystemDraws() if draws is None else draws
        self._prepared: Prepared = given.held.prepared(engine)

    @cached_property
    def _truth(self) -> dict[str, NDArray[np.int64]]:
        return self._given.held.truth()

    def run(self, task: Task) -> list[Outcome]:
        """Every unit of the task; what does not depend on ε is counted once."""
        name = task.units[0].setting.method
        return list(self._baseline(task) if name in BASELINES else self._method(task))

    def _method(self, task: Task) -> Iterator[Outcome]:
        counted: Halfway | None = None
        for unit in task.units:
            request = request_of(unit.setting, self._given.held, self._given.options)
            rehearsal = Rehearsal(request, self._engine, self._prepared)
            if isinstance(request.method.rule, Auto):
                yield Outcome(unit, tuple(self._auto(rehearsal, unit, task.noises)))
                # The rows of a key are as many as the records: those of several would pile up.
                self._engine.forget()
                continue
            if counted is None or rehearsal.method.questions > 1:
                counted = rehearsal.halfway(self._seed(unit), self._draws)
            noises = []
            for _ in range(task.noises):
                released = rehearsal.finish(counted, self._draws)
                tables = [table for table in released.tables if table.name in self._truth]
                found = {table.name: _Found.of(table) for table in tables}
                noises.append(self._measured(found, rehearsal.kept(counted)))
            yield Outcome(unit, tuple(noises))

    def _auto(self, rehearsal: Rehearsal, unit: Unit, noises: int) -> Iterator[tuple[Row, ...]]:
        """Whole runs: what is counted depends on all that was released before."""
        for _ in range(noises):
            released = rehearsal.run(self._seed(unit), self._draws)
            made = estimate_auto(rehearsal.request, released).by_table()
            yield self._measured({name: _Found(one) for name, one in made.items()}, {})

    def _baseline(self, task: Task) -> Iterator[Outcome]:
        first, *_ = task.units
        method = baseline_of(first.setting, self._given.held)
        counted = method.count(Reading(self._engine, self._prepared), seed=self._seed(first))
        for unit in task.units:
            epsilon = Epsilon.of(unit.setting.epsilon)
            runs = (method.release(counted, epsilon, self._draws) for _ in range(task.noises))
            found = ({name: _Found(one) for name, one in run.items()} for run in runs)
            yield Outcome(unit, tuple(self._measured(one, {}) for one in found))

    def _seed(self, unit: Unit) -> int:
        return self._given.seed + unit.key

    def _measured(self, found: Mapping[str, _Found], kept: Mapping[str, float]) -> tuple[Row, ...]:
        rows: list[Row] = []
        ks = self._given.ks
        for name, truth in self._truth.items():
            contexts = self._given.held.domain.contexts_size if name == EDGES.name else 1
            one = found[name]
            compared = Compared(truth, one.estimate, contexts, kept.get(name), one.answers)
            rows += [(name, metric, k, value) for metric, k, value in measured(compared, ks)]
        return tuple(rows)


# The tasks of a comparison, here or in processes; outcomes are kept at once.

Keep = Callable[[Outcome], None]
"""Is handed each outcome as soon as there is one."""
Progress = Callable[[int, int], None]
"""Is told how many tasks are done, and how many there are."""


def run_tasks(tasks: Sequence[Task], given: Given, jobs: int, keep: Keep, tell: Progress) -> None:
    """Run every task; whatever stops it, what was finished was kept."""
    tell(0, len(tasks))
    if min(jobs, len(tasks)) <= 1:
        _run_here(tasks, given, keep, tell)
        return
    work = Work("the comparison", opened, given, tasks, given.held.folder)

    def kept(outcomes: Sequence[Mapping[str, Any]]) -> None:
        for outcome in outcomes:
            keep(Outcome.of(outcome))

    run_apart(work, min(jobs, len(tasks)), kept, lambda done: tell(done, len(tasks)))


@contextmanager
def opened(given: Given, settings: Mapping[str, str]) -> Iterator[Run]:
    """What runs tasks in a process: the records in an engine, opened once."""
    with DuckDBEngine(settings=settings) as engine:
        bench = Bench(given, engine)
        yield lambda task: [outcome.to_dict() for outcome in bench.run(task)]


def _run_here(tasks: Sequence[Task], given: Given, keep: Keep, tell: Progress) -> None:
    if not tasks:
        return
    with DuckDBEngine() as engine:
        bench = Bench(given, engine)
        for done, task in enumerate(tasks, 1):
            for outcome in bench.run(task):
                keep(outcome)
            tell(done, len(tasks))


# The folder of a comparison: each unit's runs in a file of its own, whole or not at all.
#
# ``compare.json`` says which records and settings they are of, so that no other runs are mixed
# with them. What is asked for may grow: more ε, methods, bounds or runs use what is there.

_MANIFEST = "compare.json"
_RUNS = "runs"


def check_folder(path: Path) -> None:
    """Refuse, before anything is read, a place that is no comparison's and not free."""
    check_own_folder(path, _MANIFEST, "comparison")


@dataclass(frozen=True)
class Folder:
    path: Path
    seed: int
    """Where its sampling keys begin: drawn once, so that runs go on where they ended."""
    started: datetime

    @classmethod
    def open(cls, path: Path, data: Mapping[str, Any], settings: Mapping[str, Any]) -> Folder:
        """The folder of these records and settings, made where there is none."""
        check_folder(path)
        manifest = path / _MANIFEST
        if not manifest.is_file():
            _begin(manifest, data, settings)
        told = _told(manifest)
        _check_same(path, told, data, settings)
        return cls(path, told["seed"], told["started"])

    def outcome(self, unit: Unit, noises: int = 1) -> Outcome | None:
        """What a unit measured in so many runs; None where that was not done, or not all of it."""
        try:
            found = Outcome.of(json.loads(self._file(unit).read_bytes()))
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return found if found.unit == unit and len(found.noises) >= noises else None

    def keep(self, outcome: Outcome) -> None:
        """Keep what a unit measured; what is there already stays, as it may have been shown."""
        if self.outcome(outcome.unit, len(outcome.noises)) is not None:
            return  # by another process with the same folder
        self._file(outcome.unit).parent.mkdir(exist_ok=True)
        write_json(self._file(outcome.unit), {"warning": NOT_PRIVATE, **outcome.to_dict()})

    def ended(self, unit: Unit) -> datetime:
        """When a unit was kept."""
        return datetime.fromtimestamp(self._file(unit).stat().st_mtime, UTC)

    def _file(self, unit: Unit) -> Path:
        setting = unit.setting
        bound = "M" if setting.max_records is None else str(setting.max_records)
        name = f"{setting.method}-l{bound}-e{setting.epsilon}-k{unit.key}.json"
        return self.path / _RUNS / name.replace("/", "_")


def _begin(manifest: Path, data: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    # What is computed from the true records is nobody else's to read.
    manifest.parent.mkdir(mode=0o700, exist_ok=True)
    write_json(
        manifest,
        {
            "warning": f"{NOT_PRIVATE} {CHOSEN_BY_LOOKING}",
            "seed": secrets.randbits(48),
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "data": dict(data),
            "settings": dict(settings),
        },
        put=_put_first,
    )


def _told(manifest: Path) -> dict[str, Any]:
    """What the manifest says; a UsageError where it is none of ours."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        told = json.loads(manifest.read_bytes())
        known = {name: dict(told[name]) for name in ("data", "settings")}
        started = datetime.fromisoformat(told["started"])
        return {"seed": int(told["seed"]), "started": started, **known}
    raise UsageError(f"{manifest} is damaged, or of something else: {ANOTHER_FOLDER}")


def _check_same(
    path: Path, told: Mapping[str, Any], data: Mapping[str, Any], settings: Mapping[str, Any]
) -> None:
    known = told["settings"]
    differ = [name for name in {**known, **settings} if known.get(name) != settings.get(name)]
    if differ:
        name = differ[0]
        raise UsageError(
            f"{path} holds a comparison with other settings ({name}: {_shown(known.get(name))} "
            f"there, {_shown(settings.get(name))} here), and is left as it is: {ANOTHER_FOLDER}"
        )
    if told["data"] != dict(data):
        before, now = (f"{d.get('records')} of {d.get('users')}" for d in (told["data"], data))
        how = "as many records and users, which are not the same"
        if before != now:
            how = f"records of users were {before} there and are {now} here"
        raise UsageError(
            f"{path} holds a comparison of other data ({how}), and is left as it is: "
            f"{ANOTHER_FOLDER}"
        )


def _shown(value: object) -> str:
    return "not given" if value is None else str(value)


def _put_first(staged: Path, path: Path) -> None:
    """Where another process was quicker, its file stays: it may be of other records."""
    try:
        os.link(staged, path)
    except FileExistsError:
        return
    except OSError:  # a file system without links
        os.replace(staged, path)
