"""Every method on the same records, at the same ε, beside the truth. Not private."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from crowdtally.core.domain import Domain
from crowdtally.core.privacy import Epsilon
from crowdtally.core.records import Records
from crowdtally.curator.failures import reading
from crowdtally.curator.manifest import versions
from crowdtally.curator.request.request import Subject, make_subject
from crowdtally.curator.request.wording import python_words
from crowdtally.errors import UsageError, check_libraries
from crowdtally.lab.baselines import BASELINES
from crowdtally.lab.comparison.plan import (
    USUAL_BOUNDS,
    USUAL_RUNS,
    Plan,
    Runs,
    bounds_of,
    epsilons_of,
    given_fields,
    jobs_of,
    names_of,
    plan_of,
    spelled,
    taken_of,
)
from crowdtally.lab.comparison.records import Held, hold
from crowdtally.lab.comparison.run import (
    KS,
    Folder,
    Given,
    Outcome,
    Progress,
    Unit,
    check_folder,
    run_tasks,
    tasks_of,
)
from crowdtally.lab.comparison.summary import Facts, Setting, Summary
from crowdtally.lab.methods import Method
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.start import starter


def notes_of(held: Held, *, joined: bool) -> Iterator[str]:
    """Remarks beside the numbers; ``joined`` where rows may lack a partner in a join."""
    dropped, quantity = held.dropped, held.records.quantity
    lost = dropped.without_user + dropped.outside
    if lost:
        partner = ", or no join partner" if joined else ""
        counted = ", or no quantity of at least 1" if quantity is not None else ""
        yield (
            f"Of {dropped.rows:,} rows, {lost:,} have no user or a value outside the lists"
            f"{partner}{counted}: no method counts them, and the truth does not either."
        )
    if not held.known_by["records"]:
        yield "No row is left to count: every number here is about noise alone."
    if quantity is not None:
        yield (
            "The truth counts each record as often as its quantity says; methods count it up to "
            f"{quantity.most} times."
        )


def summaries_of(outcomes: Iterable[Outcome], noises: int) -> list[Summary]:
    """One summary for each number of each setting, over the first so many noises of each key.

    A metric that is not defined in some run, such as a share of nothing, is averaged over the
    others.
    """
    values: dict[tuple[Setting, str, str, int | None], dict[int, list[float]]] = {}
    for outcome in outcomes:
        unit = outcome.unit
        for table, metric, k, value in chain.from_iterable(outcome.noises[:noises]):
            by_key = values.setdefault((unit.setting, table, metric, k), {})
            by_key.setdefault(unit.key, []).append(value)
    summaries = []
    for of, by_key in values.items():
        every = list(chain.from_iterable(by_key.values()))
        error = standard_error(by_key)
        summaries.append(Summary(*of, fmean(every), error, len(by_key), len(every)))
    return summaries


def standard_error(by_key: Mapping[int, list[float]]) -> float:
    """Of the mean: s/√K of the K keys' own means, because runs with one key are alike.

    NaN for one key alone.

    >>> standard_error({0: [1.0, 3.0], 1: [4.0, 4.0]})
    1.0
    """
    means = [fmean(values) for values in by_key.values()]
    return stdev(means) / math.sqrt(len(means)) if len(means) > 1 else math.nan


@dataclass(frozen=True)
class Question:
    """The parameters of a comparison, checked before any record is read."""

    epsilons: tuple[Epsilon, ...]
    names: tuple[str, ...] | None
    """The methods; None for every one that can run."""
    bounds: tuple[int, ...] | None
    """The bounds per user; None for the usual ones, up to the first that cuts nobody."""
    runs: Runs
    jobs: int
    options: Mapping[str, Any]
    """Fields of methods, beside their names and bounds."""
    ks: tuple[int, ...] = KS

    @classmethod
    def of(
        cls,
        *,
        epsilon: object,
        methods: object = None,
        max_records: object = None,
        runs: object = USUAL_RUNS,
        jobs: object = None,
        fields: Mapping[str, Any],
    ) -> Question:
        return cls(
            epsilons_of(epsilon), spelled(names_of(methods)), bounds_of(max_records),
            Runs.of(runs), jobs_of(jobs), given_fields(fields),
        )  # fmt: skip

    def bounds_within(self, largest: int) -> tuple[int, ...]:
        """The given bounds, or the usual ones up to the first that cuts nobody.

        That one costs little more than M, and may be named without a look at the records.
        """
        cutting = sum(bound < largest for bound in USUAL_BOUNDS)
        return self.bounds or USUAL_BOUNDS[: cutting + 1]


@dataclass(frozen=True)
class Comparison:
    summaries: Sequence[Summary]
    facts: Facts


def compare(
    records: Records,
    domain: Domain | None = None,
    *,
    epsilon: object,
    methods: str | Sequence[str] | None = None,
    max_records: int | Sequence[int] | None = None,
    runs: int = USUAL_RUNS,
    jobs: int | None = None,
    output: str | os.PathLike[str] | None = None,
    count: str = "records",
    **fields: Any,
) -> Any:
    """Compare methods on your own records, as a pandas frame. Not private; see ``frame.attrs``.

    Every method is run with the same total ε. A method that is chosen by the outcome was chosen by
    looking at the data, which no ε covers.

    Args:
        records: from :func:`crowdtally.read`.
        domain: the public items and context values.
        epsilon: the whole ε, or several: ``"0.1,1"``, ``[0.1, 1]``.
        methods: names such as ``["sra", "hpa+rank", "sra/filter", "lpa"]``; by default all that can
            run on these records.
        max_records: the bounds per user to try; by default 1, 3, 10, 30 and 100, up to the first
            that cuts nobody. A private choice has the largest as its largest candidate.
        runs: of each method, bound and ε: several draws of the last noise with each of several
            sampling keys. 20 runs are 5 keys with 4 noises each.
        jobs: processes; by default as many as there are cores.
        output: a folder that keeps every run, and gets tables, pictures and a page. The same
            comparison with the same folder goes on where it was interrupted. Without one nothing is
            kept.
        count: ``records``, or ``users`` for distinct users in each cell.
        fields: fields of methods, summaries and transforms, such as ``cap=5`` or ``size=3000``;
            methods that do not have a field do without it.

    Returns:
        A frame with a row for each method, bound, ε, table, metric and K: the mean over all runs,
        and its standard error, from the means of the keys. Its ``attrs`` have the ``warning``, the
        ``recommendation``, what was ``skipped`` and why, and ``notes``.
    """
    from crowdtally.lab.comparison.page import as_frame

    with python_words():
        check_libraries()
        question = Question.of(
            epsilon=epsilon, methods=methods, max_records=max_records, runs=runs, jobs=jobs,
            fields=fields,
        )  # fmt: skip
        if output is not None:
            if not isinstance(output, str | os.PathLike):
                raise UsageError(
                    f"output is the path of a folder: received a {type(output).__name__}."
                )
            check_folder(Path(output))
        subject = make_subject(records, domain, count=count)
        with tempfile.TemporaryDirectory(prefix="crowdtally-") as temporary:
            folder = Path(temporary if output is None else output)
            found = compared(subject, question, folder, called="crowdtally.lab.compare(…)")
        if output is not None:
            write(found, folder)
    return as_frame(found.summaries, found.facts)


def compared(
    subject: Subject,
    question: Question,
    path: Path,
    *,
    called: str,
    stage: Callable[[str], None] = lambda _: None,
    progress: Progress = lambda done, total: None,
) -> Comparison:
    """Run what was not run before, keep it in the folder, and sum all of it up."""
    starter(None, {}, subject.sources.every)  # refuses what DuckDB does not read
    runs = question.runs
    with tempfile.TemporaryDirectory(prefix="crowdtally-") as private:
        stage("reading the records")
        with reading(), DuckDBEngine() as engine:
            held = hold(subject, Path(private), engine)
        plan = plan_of(
            held, question.epsilons, question.names, question.bounds_within(held.largest),
            question.options,
        )  # fmt: skip
        folder = Folder.open(path, held.known_by, _settings(held, question))
        given = Given(held, question.options, folder.seed, question.ks)
        tasks = tasks_of(plan.settings, runs, given, folder)
        run_tasks(tasks, given, question.jobs, folder.keep, progress)
        units = [Unit(setting, key) for setting in plan.settings for key in range(runs.keys)]
        summaries = summaries_of(
            (folder.finished(unit, runs.noises) for unit in units), runs.noises
        )
    finished = max((folder.ended(unit) for unit in units), default=datetime.now(UTC))
    facts = _facts(subject, question, held, plan, (folder.started, finished), called)
    return Comparison(summaries, facts)


def write(found: Comparison, folder: Path) -> None:
    from crowdtally.lab.comparison.charts import write_pictures
    from crowdtally.lab.comparison.page import write_page, write_tables

    for part in (write_tables, write_pictures, write_page):
        part(folder, found.summaries, found.facts)


def _settings(held: Held, question: Question) -> dict[str, Any]:
    """What all runs of a folder share, beside the records."""
    lists = {} if question.ks == KS else {"lists": list(question.ks)}
    return {
        **{name: versions()[name] for name in ("crowdtally", "duckdb")},
        **lists,
        "count": held.what,
        "tables": dict(held.tables),
        "contexts": held.domain.contexts_size if held.domain.has_items else 1,
        **{name: str(value) for name, value in sorted(question.options.items())},
    }


def _facts(
    subject: Subject,
    question: Question,
    held: Held,
    plan: Plan,
    times: tuple[datetime, datetime],
    called: str,
) -> Facts:
    domain, has_items = held.domain, held.domain.has_items
    methods = dict.fromkeys(setting.method for setting in plan.settings)
    return Facts(
        source=subject.sources.records.label or "a frame",
        count=held.what,
        records=held.known_by["records"],
        users=held.known_by["users"],
        items=len(domain.items) if has_items else 0,
        cells=dict(held.tables),
        largest=held.largest,
        epsilons=tuple(map(str, question.epsilons)),
        runs=question.runs.total,
        keys=question.runs.keys,
        started=times[0],
        finished=times[1],
        command=called,
        versions=versions(),
        contexts={axis.name: len(axis) for axis in domain.contexts} if has_items else {},
        baselines=frozenset(BASELINES),
        fields={
            name: taken_of(Method.of(name), held.what, question.options)
            for name in methods
            if name not in BASELINES
        },
        skipped=plan.skipped,
        notes=tuple(notes_of(held, joined=bool(subject.records.joins))),
    )
