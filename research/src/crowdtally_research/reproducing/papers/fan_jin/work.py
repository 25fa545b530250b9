"""The four data sets, and the work that figures share: errors by method, ε and l."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from pathlib import Path
from statistics import fmean
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from crowdtally.core.domain import Domain
from crowdtally.core.records import Records
from crowdtally.core.values import fitting
from crowdtally.curator.bounding import BOUNDINGS
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.request.declare import read_list
from crowdtally.curator.request.request import Subject, make_request, make_subject
from crowdtally.lab.comparison.compare import Question, compared, standard_error
from crowdtally.lab.comparison.summary import Summary
from crowdtally.lab.estimates import estimate_auto
from crowdtally.lab.metrics import precision
from crowdtally.lab.processes import cores, engine_settings
from crowdtally.lab.rehearse import Rehearsal, mean_contribution, true_counts
from crowdtally.noise.draws import SystemDraws
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.prepare import Prepared, prepare
from crowdtally_research.lookalikes.drawing import SHAPES
from crowdtally_research.reproducing.figure import AUTO, Data, Given, Number

# The paper's four data sets: how each is read, and the paper's settings for it.

EPSILON = 1
"""The whole ε of every release, as in the paper."""
_FILMS = """
    SELECT user_id, movie_id AS item_id, gender, CASE WHEN age < 25 THEN 'Under 25'
    WHEN age < 35 THEN '25-34' ELSE 'Above 34' END AS age
    FROM {0} AS rated JOIN {1} AS users USING (user_id)
"""
_CATALOGUE = "SELECT movie_id, title FROM {2} ORDER BY movie_id"


@dataclass(frozen=True)
class Source:
    name: str
    """Of the look-alike, and of the real file where there is one."""
    title: str
    limit: int = 10
    """l: the records that SRA and HPA keep of a user."""
    popularity_records: int = 1
    """d: the records of a user in HPA's popularity; the paper reads it off the data, min|T_k|."""
    declared: Mapping[str, Any] = field(default_factory=dict)
    """What a curator knows of it: the fields that ``auto`` is told."""
    auto_runs: int = 20


SOURCES: Mapping[str, Source] = {
    one.name: one
    for one in (
        Source("gowalla", "Gowalla"),
        Source("foursquare", "Foursquare"),
        Source("netflix", "Netflix", declared={"repeats": False}, auto_runs=5),
        Source(
            "movielens",
            "MovieLens",
            30,
            20,
            {"repeats": False, "context_per_user": ["gender", "age"]},
        ),
    )
}
"""In the paper's order."""


@dataclass(frozen=True)
class Read:
    """A data set, ready to be counted."""

    source: Source
    subject: Subject
    titles: tuple[str, ...] = ()
    """What a reader calls each item, in the order of the list; none where items have numbers."""

    def method(self, name: str, **fields: Any) -> Any:
        papers = {
            "max_records": self.source.limit,
            "popularity_records": self.source.popularity_records,
        }
        return fitting(BOUNDINGS.load(name), {**papers, **self.source.declared, **fields})


@contextmanager
def read(data: Data, name: str) -> Iterator[Read]:
    """The data set, in a folder of its own while it is used: the real file, or its look-alike."""
    source = SOURCES[name]
    with tempfile.TemporaryDirectory(prefix="crowdtally-") as folder:
        yield _real(data, source, Path(folder)) if data.is_real(name) else _made(data, source)


def _made(data: Data, source: Source) -> Read:
    path = data.lookalike(source.name)
    items = read_list(path.with_name(f"{path.stem}.items.parquet"), "item_id")
    contexts = SHAPES[source.name].contexts.values
    columns = dict.fromkeys(contexts)
    records = Records(str(path), "user_id", "item_id", columns, record_id="record_id")
    return Read(source, make_subject(records, Domain(items, contexts)))


def _real(data: Data, source: Source, folder: Path) -> Read:
    """MovieLens: ratings with the gender and age of their users, and the catalogue of movies."""
    files = [str(path).replace("'", "''") for path in data.files(source.name)]
    records = folder / "records.parquet"
    with duckdb.connect(":memory:") as connection:

        def select(query: str) -> str:
            return query.format(*(f"read_parquet('{file}')" for file in files))

        def write(query: str, to: Path, form: str) -> None:
            target = str(to).replace("'", "''")
            connection.execute(f"COPY ({select(query)}) TO '{target}' ({form})")

        write(_FILMS, records, "FORMAT parquet")
        catalogue = connection.execute(select(_CATALOGUE)).fetchall()
    contexts = SHAPES[source.name].contexts.values
    declared = Records(str(records), "user_id", "item_id", dict.fromkeys(contexts))
    domain = Domain([item for item, _ in catalogue], contexts)
    titles = tuple(str(title) for _, title in catalogue)
    return Read(source, make_subject(declared, domain), titles)


# Theorem 2 of the paper, corrected: the mean squared error that SRA is expected to have.
#
# The paper's model: n users with M records each, every record of item i with probability p_i,
# independently; l of the M are kept. Of a count, (M − l) records of each user are missing, so
#
#     MSE = n(M − l)p(1 − p) + n²(M − l)²p² + 2l²/ε²,
#
# where the paper prints the variance of what is kept in place of what is missing. Both agree in
# what the theorem states: the best l grows with ε.


@dataclass(frozen=True, eq=False)
class Theorem:
    users: float
    """n."""
    records: float
    """M: every user is taken to have the mean."""
    shares: Mapping[str, NDArray[np.float64]]
    """p of every cell, by table."""

    def error(self, table: str, limit: int, epsilon: float) -> float:
        """The expected MSE, averaged over the cells; ``epsilon`` is the table's own."""
        p, lost = self.shares[table], max(self.records - limit, 0.0)
        spread = self.users * lost * p * (1 - p)
        return float((spread + (self.users * lost * p) ** 2).mean() + 2 * (limit / epsilon) ** 2)

    def best(self, table: str, epsilon: float) -> float:
        """The l of least expected MSE, within 1 … M."""
        p = self.shares[table]
        squares = 2 * self.users**2 * float((p**2).mean())
        spread = self.users * float((p * (1 - p)).mean())
        found = (squares * self.records + spread) / (4 / epsilon**2 + squares)
        return min(max(found, 1.0), self.records)


def theorem_of(subject: Subject) -> Theorem:
    """The model of these records: n, the mean number of records, and the true shares."""
    tables = make_request(
        subject.records, subject.domain, epsilon=1, method=SRA(1), sources=subject.sources
    ).bounded
    with DuckDBEngine() as engine:
        prepared = prepare(engine, subject.records, subject.domain, subject.sources)
        truth = true_counts(engine, prepared, "records", tables)
        mean = mean_contribution(engine, prepared, "records")
    total = float(truth[tables[0].name].sum())
    return Theorem(total / mean, mean, {name: counts / total for name, counts in truth.items()})


# Work that is a comparison: all methods on one data set, many runs, every metric.

METHODS = ("lpa", "dft", "gs", "sra", "hpa")
"""The paper's, in the order of its figures."""
KS = (1, 3, 10, 20, 30, 50, 100, 300, 1000)
LIMITS = (1, 2, 3, 5, 10, 20, 30, 50, 100)
"""The values of l that figure 6 tries."""
LESS = "0.1"
"""A second ε of figure 6: one alone cannot show how the best l moves with it."""
THEOREM = "theorem 2, corrected"
TABLES = ("items", "edges")
MEASURED = {"mse": None, "kl": None, "kl_reversed": None, "precision": 10}
"""The metrics of figures 7 and 8, with the length of their list."""
_CALLED = "crowdtally lab reproduce fan-jin"


def panel_of(table: str, metric: str) -> str:
    """The panel of figures 7 and 8 for one metric of one table."""
    return f"{table} {metric}"


def top_panel(dataset: str) -> str:
    """The panel of figure 9 for one data set."""
    return f"top {dataset}"


def popularity_panel(dataset: str) -> str:
    """The panel of figure 5 for one data set."""
    return f"popularity {dataset}"


def limits_panel(table: str, epsilon: str) -> str:
    """The panel of figure 6 for one table at one ε."""
    return f"l {table} {epsilon}"


KEPT = "kept"


def methods(given: Given, *, dataset: str, runs: int) -> Sequence[Number]:
    """The paper's methods on one data set, as figures 7 to 10 show them."""
    source = SOURCES[dataset]
    with read(given.data, dataset) as found:
        fields = {"popularity_records": source.popularity_records}
        summaries = _compared(given, found, METHODS, runs, [source.limit], fields)
    return [number for one in summaries for number in _shown(one, source)]


def auto(given: Given, *, dataset: str, runs: int, epsilon: str = str(EPSILON)) -> Sequence[Number]:
    """Our own method on one data set, for every figure that has it as a line."""
    source = SOURCES[dataset]
    with read(given.data, dataset) as found:
        summaries = _compared(given, found, (AUTO,), runs, None, source.declared, epsilon)
    return [
        number
        for one in summaries
        for number in (*_shown(one, source), *_beside_popularity(one, source), *_flat(one))
    ]


def limits(given: Given, *, dataset: str, runs: int, tried: Sequence[int]) -> Sequence[Number]:
    """SRA and HPA with many values of l, at two ε, beside what theory expects of SRA."""
    source = SOURCES[dataset]
    epsilons = (LESS, str(EPSILON))
    with read(given.data, dataset) as found:
        fields = {"popularity_records": source.popularity_records}
        summaries = _compared(
            given, found, ("sra", "hpa"), runs, tried, fields, ",".join(epsilons), ks=()
        )
        theory = theorem_of(found.subject)
    measured = [
        _number(one, limits_panel(one.table, one.setting.epsilon), float(one.setting.max_records))
        for one in summaries
        if one.metric == "mse" and one.setting.max_records is not None
    ]
    return [*measured, *(number for e in epsilons for number in _expected(theory, e, tried))]


def _compared(
    given: Given,
    found: Read,
    names: Sequence[str],
    runs: int,
    bounds: Sequence[int] | None,
    fields: Mapping[str, Any],
    epsilon: object = EPSILON,
    ks: tuple[int, ...] = KS,
) -> Sequence[Summary]:
    question = Question.of(
        epsilon=epsilon, methods=list(names), max_records=bounds, runs=runs, jobs=given.jobs,
        fields=fields,
    )  # fmt: skip
    name = found.source.title
    return compared(
        found.subject, replace(question, ks=ks), given.folder, called=_CALLED,
        stage=lambda words: given.tell(f"{name}: {words}"),
        progress=lambda done, total: given.tell(f"{name}: {done} of {total} runs"),
    ).summaries  # fmt: skip


def _shown(one: Summary, source: Source) -> Iterator[Number]:
    """What figures 7 to 10 show of it."""
    if one.setting.epsilon != str(EPSILON):
        return
    if one.metric in MEASURED and one.k == MEASURED[one.metric]:
        yield _number(one, panel_of(one.table, one.metric), source.title)
    if (one.table, one.metric) == ("items", "precision") and one.k is not None:
        yield _number(one, top_panel(source.name), float(one.k))
    if (one.table, one.metric) == ("items", "reduction"):
        yield _number(one, KEPT, source.title)


def _beside_popularity(one: Summary, source: Source) -> Iterator[Number]:
    for number in _shown(one, source):
        if number.panel == top_panel(source.name) and number.x in KS[2:]:
            yield replace(number, panel=popularity_panel(source.name))


def _flat(one: Summary) -> Iterator[Number]:
    """One number for every l: what has no l."""
    if one.metric == "mse":
        for limit in LIMITS:
            yield _number(one, limits_panel(one.table, one.setting.epsilon), float(limit))


def _number(one: Summary, panel: str, x: float | str) -> Number:
    return Number(panel, one.setting.method, x, one.mean, one.standard_error, one.runs)


def _expected(theory: Theorem, epsilon: str, tried: Sequence[int]) -> Iterator[Number]:
    share = float(epsilon) / 2  # SRA divides ε evenly between its two tables
    for table in TABLES:
        for limit in tried:
            mean = theory.error(table, limit, share)
            yield Number(limits_panel(table, epsilon), THEOREM, float(limit), mean)


# Work on single steps: HPA's popularity, what a sample keeps of a week, what auto weighs.

WEEK, MOVED = "week", "moved"
"""The panels of figure 11: the shares of days, and how far they are from those of all records."""
ORIGINAL = "original"
POPULARITY = "popularity of hpa"
_PERCENT = 100


@dataclass(frozen=True)
class Stage:
    """A data set in an engine, on which methods are rehearsed."""

    read: Read
    engine: DuckDBEngine
    prepared: Prepared

    def rehearsal(self, name: str, **fields: Any) -> Rehearsal:
        """A release with the paper's settings, to be run as often as wanted."""
        subject = self.read.subject
        request = make_request(
            subject.records, subject.domain, epsilon=EPSILON, sources=subject.sources,
            method=self.read.method(name, **fields),
        )  # fmt: skip
        return Rehearsal(request, self.engine, self.prepared)

    @cached_property
    def truth(self) -> Mapping[str, NDArray[np.int64]]:
        """The exact counts of items, and of items in contexts."""
        tables = self.rehearsal("sra").request.bounded
        return true_counts(self.engine, self.prepared, "records", tables)

    @property
    def contexts(self) -> int:
        """How many values of contexts each item has."""
        return self.prepared.domain.contexts_size


@contextmanager
def staged(data: Data, name: str) -> Iterator[Stage]:
    """The data set, while it is used."""
    settings = engine_settings(cores())  # as many of these may run side by side
    with read(data, name) as found, DuckDBEngine(settings=settings) as engine:
        subject = found.subject
        prepared = prepare(engine, subject.records, subject.domain, subject.sources)
        yield Stage(found, engine, prepared)


def popularity(given: Given, *, dataset: str, keys: int, noises: int) -> Sequence[Number]:
    """How much of the true top K HPA's first table alone shows."""
    draws, by_k = SystemDraws(), dict[int, dict[int, list[float]]]()
    with staged(given.data, dataset) as stage:
        rehearsal = stage.rehearsal("hpa")
        for key in range(keys):
            for _ in range(noises):
                table = rehearsal.answer((), key, draws).tables[0]
                values = np.asarray(table.values, dtype=np.float64)
                for k in KS[2:]:
                    share = precision(stage.truth["items"], values, k)
                    if share is not None:
                        by_k.setdefault(k, {}).setdefault(key, []).append(share)
    panel = popularity_panel(dataset)
    return [_over_keys(panel, POPULARITY, k, by_key) for k, by_key in by_k.items()]


def _over_keys(panel: str, line: str, k: int, by_key: Mapping[int, list[float]]) -> Number:
    every = [value for values in by_key.values() for value in values]
    return Number(panel, line, float(k), fmean(every), standard_error(by_key), len(every))


def weights(given: Given, *, dataset: str, runs: int) -> Sequence[Number]:
    """What share of the records' weight auto counts, once rows are scaled."""
    draws, shares = SystemDraws(), []
    with staged(given.data, dataset) as stage:
        rehearsal, total = stage.rehearsal(AUTO), float(stage.truth["items"].sum())
        for run in range(runs):
            given.tell(f"{SOURCES[dataset].title}: run {run + 1} of {runs}")
            shares.append(_weighed(rehearsal, draws) / total)
    return [Number.over(KEPT, AUTO, SOURCES[dataset].title, shares)]


def _weighed(rehearsal: Rehearsal, draws: SystemDraws) -> float:
    """The total of the scaled rows, in the table of all items."""
    asking = rehearsal.method.ask()
    question: Any = next(asking)
    for place in count():
        exact = rehearsal.counted(question, place, 0).found
        found = {table.name: one for table, one in zip(question.tables, exact, strict=True)}
        if "items" in found:
            tables = [found[name] for name in ("items", "items_short") if name in found]
            return sum(float(int(one.values.sum()) * one.unit) for one in tables)
        question = asking.send(question.draw(exact, draws))
    raise ValueError("no table of items was counted")


def week(given: Given, *, dataset: str, runs: int) -> Sequence[Number]:
    """The share of each weekday among all records, in the samples, and in what auto says."""
    with staged(given.data, dataset) as stage:
        days = [str(day)[:3] for day in stage.prepared.domain.contexts[0].values]
        original = _shares(stage.truth["edges"], stage.contexts)
        numbers = [Number(WEEK, ORIGINAL, *one) for one in zip(days, original, strict=True)]
        for name, weekly in (("sra", _kept), ("hpa", _kept), (AUTO, _said)):
            rows = np.array(_runs(stage, name, weekly, runs))
            for panel, shown in ((WEEK, rows), (MOVED, rows - np.array(original))):
                columns = zip(days, shown.T.tolist(), strict=True)
                numbers += [Number.over(panel, name, day, values) for day, values in columns]
    return numbers


Weekly = Callable[[Rehearsal, int], NDArray[Any]]


def _runs(stage: Stage, method: str, weekly: Weekly, runs: int) -> list[list[float]]:
    rehearsal = stage.rehearsal(method)
    return [_shares(weekly(rehearsal, seed), stage.contexts) for seed in range(runs)]


def _kept(rehearsal: Rehearsal, seed: int) -> NDArray[Any]:
    """The records of a sample, before any noise."""
    _, edges = rehearsal.halfway(seed, SystemDraws()).counted.found
    return np.asarray(edges.dense())


def _said(rehearsal: Rehearsal, seed: int) -> NDArray[Any]:
    """What a reader of auto takes for each count."""
    released = rehearsal.run(seed, SystemDraws())
    return estimate_auto(rehearsal.request, released).by_table()["edges"]


def _shares(edges: NDArray[Any], contexts: int) -> list[float]:
    """Of all records, the percentage of each context."""
    totals = np.asarray(edges, dtype=np.float64).reshape(-1, contexts).sum(axis=0)
    return [float(one) for one in totals / totals.sum() * _PERCENT]
