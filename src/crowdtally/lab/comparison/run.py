"""The runs of a comparison: cut into tasks, measured beside the truth, kept in its folder."""

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
from crowdtally.lab.baselines import BASELINES
from crowdtally.lab.comparison.plan import Runs, baseline_of, request_of
from crowdtally.lab.comparison.records import Held
from crowdtally.lab.comparison.summary import Setting
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

KS = (1, 3, 10, 30, 100)
"""The lengths of lists, unless others are given."""

Floats = NDArray[np.float64]
Row = tuple[str, str, int | None, float]
"""Table, metric, K and value."""


@dataclass(frozen=True)
class Unit:
    """One key of one setting: its runs are kept together, and not made again."""

    setting: Setting
    key: int
    """Which draw of the sampling key, and of all that is released before the last noise."""


@dataclass(frozen=True)
class Outcome:
    unit: Unit
    noises: tuple[tuple[Row, ...], ...]
    """The numbers of each run, one for each draw of the last noise."""

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Outcome:
        """From JSON; KeyError, TypeError or ValueError where it is damaged."""
        unit = Unit(Setting(**content["unit"]["setting"]), int(content["unit"]["key"]))
        return cls(unit, tuple(tuple(_row(*row) for row in rows) for rows in content["noises"]))


def _row(table: str, metric: str, k: int | None, value: float) -> Row:
    return str(table), str(metric), None if k is None else int(k), float(value)


@dataclass(frozen=True)
class Task:
    """Units of one method, bound and key, which differ in ε: their records are counted once."""

    units: tuple[Unit, ...]
    noises: int
    """How many noises are drawn for each unit."""


@dataclass(frozen=True)
class Given:
    """All that a process needs to run tasks."""

    held: Held
    options: Mapping[str, Any]
    """Fields of methods, beside their names and bounds."""
    seed: int
    """Where the keys of this comparison begin."""
    ks: tuple[int, ...] = KS


def tasks_of(settings: Sequence[Setting], runs: Runs, given: Given, folder: Folder) -> list[Task]:
    """The tasks that are left: the first keys of all settings come first."""
    tasks = []
    for key in range(runs.keys):
        for _, group in groupby(settings, lambda setting: (setting.method, setting.max_records)):
            units = (Unit(setting, key) for setting in group)
            left = tuple(unit for unit in units if folder.outcome(unit, runs.noises) is None)
            if left and _counts_once(left[0].setting, given):
                tasks.append(Task(left, runs.noises))
            else:
                tasks += [Task((unit,), runs.noises) for unit in left]
    return tasks


def _counts_once(setting: Setting, given: Given) -> bool:
    """Whether the exact counts are the same for every ε: nothing is released before the last."""
    if setting.method in BASELINES:
        return True
    return method_of(request_of(setting, given.held, given.options)).questions == 1


class Bench:
    """Runs tasks on the records in an engine: questions of a release, or a baseline."""

    def __init__(self, given: Given, engine: DuckDBEngine, draws: Draws | None = None) -> None:
        self._given, self._engine = given, engine
        self._draws = SystemDraws() if draws is None else draws
        self._prepared: Prepared = given.held.prepared(engine)

    @cached_property
    def _truth(self) -> dict[str, NDArray[np.int64]]:
        return self._given.held.truth()

    def run(self, task: Task) -> list[Outcome]:
        """Every unit of the task; counts that do not depend on ε are made once."""
        is_baseline = task.units[0].setting.method in BASELINES
        return list(self._baseline(task) if is_baseline else self._method(task))

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
                tables = {table.name: table for table in released.tables}
                estimates = {name: estimate(tables[name]) for name in self._truth}
                answers = {
                    name: range_answers(tables[name], *ranges(len(cells)))
                    for name, cells in estimates.items()
                }
                noises.append(self._measured(estimates, rehearsal.kept(counted), answers))
            yield Outcome(unit, tuple(noises))

    def _auto(self, rehearsal: Rehearsal, unit: Unit, noises: int) -> Iterator[tuple[Row, ...]]:
        """Whole runs: its counts depend on all that was released before."""
        for _ in range(noises):
            released = rehearsal.run(self._seed(unit), self._draws)
            yield self._measured(estimate_auto(rehearsal.request, released).by_table())

    def _baseline(self, task: Task) -> Iterator[Outcome]:
        first, *_ = task.units
        method = baseline_of(first.setting, self._given.held)
        counted = method.count(Reading(self._engine, self._prepared), seed=self._seed(first))
        for unit in task.units:
            epsilon = Epsilon.of(unit.setting.epsilon)
            runs = (method.release(counted, epsilon, self._draws) for _ in range(task.noises))
            yield Outcome(unit, tuple(self._measured(estimates) for estimates in runs))

    def _seed(self, unit: Unit) -> int:
        return self._given.seed + unit.key

    def _measured(
        self,
        estimates: Mapping[str, Floats],
        kept: Mapping[str, float] | None = None,
        answers: Mapping[str, Floats | None] | None = None,
    ) -> tuple[Row, ...]:
        kept, answers = kept or {}, answers or {}
        rows: list[Row] = []
        ks = self._given.ks
        for name, truth in self._truth.items():
            contexts = self._given.held.domain.contexts_size if name == EDGES.name else 1
            one = Compared(truth, estimates[name], contexts, kept.get(name), answers.get(name))
            rows += [(name, metric, k, value) for metric, k, value in measured(one, ks)]
        return tuple(rows)


# The tasks of a comparison, here or in processes; each outcome is kept at once.

Keep = Callable[[Outcome], None]
Progress = Callable[[int, int], None]
"""Gets the number of finished tasks, and that of all."""


def run_tasks(tasks: Sequence[Task], given: Given, jobs: int, keep: Keep, tell: Progress) -> None:
    """Run every task; an interruption loses only unfinished ones."""
    tell(0, len(tasks))
    jobs = min(jobs, len(tasks))
    if jobs > 1:
        work = Work("the comparison", opened, given, tasks, given.held.folder)

        def kept(outcomes: Sequence[Mapping[str, Any]]) -> None:
            for outcome in outcomes:
                keep(Outcome.of(outcome))

        run_apart(work, jobs, kept, lambda done: tell(done, len(tasks)))
    elif jobs:
        with DuckDBEngine() as engine:
            bench = Bench(given, engine)
            for done, task in enumerate(tasks, 1):
                for outcome in bench.run(task):
                    keep(outcome)
                tell(done, len(tasks))


@contextmanager
def opened(given: Given, settings: Mapping[str, str]) -> Iterator[Run]:
    """Open the records in a process, once for all its tasks."""
    with DuckDBEngine(settings=settings) as engine:
        bench = Bench(given, engine)
        yield lambda task: [asdict(outcome) for outcome in bench.run(task)]


# The folder of a comparison: each unit's runs in a file of its own, whole or not at all.
#
# ``compare.json`` names their records and settings, so that no other runs are mixed with them. A
# comparison may grow: one with more ε, methods, bounds or runs uses what is there.

_MANIFEST = "compare.json"
_RUNS = "runs"


def check_folder(path: Path) -> None:
    """Refuse, before anything is read, a place that is neither free nor a comparison's."""
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
        content = _content(manifest)
        _check_same(path, content, data, settings)
        return cls(path, content["seed"], content["started"])

    def outcome(self, unit: Unit, noises: int = 1) -> Outcome | None:
        """The outcome of a unit with so many runs or more; None where they are not all there."""
        try:
            outcome = Outcome.of(json.loads(self._file(unit).read_bytes()))
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return outcome if outcome.unit == unit and len(outcome.noises) >= noises else None

    def finished(self, unit: Unit, noises: int) -> Outcome:
        outcome = self.outcome(unit, noises)
        if outcome is None:
            raise UsageError(
                f"runs of {unit.setting.method} are gone from {self.path}: run the same command "
                "again."
            )
        return outcome

    def keep(self, outcome: Outcome) -> None:
        """Keep an outcome, unless one is there already, which may have been shown."""
        if self.outcome(outcome.unit, len(outcome.noises)) is not None:
            return  # by another process with the same folder
        self._file(outcome.unit).parent.mkdir(exist_ok=True)
        write_json(self._file(outcome.unit), {"warning": NOT_PRIVATE, **asdict(outcome)})

    def ended(self, unit: Unit) -> datetime:
        return datetime.fromtimestamp(self._file(unit).stat().st_mtime, UTC)

    def _file(self, unit: Unit) -> Path:
        setting = unit.setting
        bound = "M" if setting.max_records is None else str(setting.max_records)
        name = f"{setting.method}-l{bound}-e{setting.epsilon}-k{unit.key}.json"
        return self.path / _RUNS / name.replace("/", "_")


def _begin(manifest: Path, data: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    # Only its owner may read what is computed from the true records.
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


def _content(manifest: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError, KeyError, TypeError):
        content = json.loads(manifest.read_bytes())
        known = {name: dict(content[name]) for name in ("data", "settings")}
        started = datetime.fromisoformat(content["started"])
        return {"seed": int(content["seed"]), "started": started, **known}
    raise UsageError(f"{manifest} is damaged, or of something else: {ANOTHER_FOLDER}")


def _check_same(
    path: Path, content: Mapping[str, Any], data: Mapping[str, Any], settings: Mapping[str, Any]
) -> None:
    known = content["settings"]
    for name in {**known, **settings}:
        there, here = known.get(name, "not given"), settings.get(name, "not given")
        if there != here:
            raise UsageError(
                f"{path} holds a comparison with other settings ({name}: {there} there, {here} "
                f"here), and is left as it is: {ANOTHER_FOLDER}"
            )
    if content["data"] != dict(data):
        before, now = (f"{d.get('records')} of {d.get('users')}" for d in (content["data"], data))
        how = "as many records and users, which are not the same"
        if before != now:
            how = f"records of users were {before} there and are {now} here"
        raise UsageError(
            f"{path} holds a comparison of other data ({how}), and is left as it is: "
            f"{ANOTHER_FOLDER}"
        )


def _put_first(staged: Path, path: Path) -> None:
    """Where another process was quicker, its file stays: it may be of other records."""
    try:
        os.link(staged, path)
    except FileExistsError:
        return
    except OSError:  # a file system without links
        os.replace(staged, path)
