"""Work on single steps: HPA's popularity, what a sample keeps of a week, what auto weighs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.curator.engine.duckdb import DuckDBEngine
from crowdtally.curator.engine.prepare import Prepared, prepare
from crowdtally.curator.request.request import make_request
from crowdtally.curator.steps.auto.estimating import crowd_of
from crowdtally.curator.steps.step import Released
from crowdtally.lab.apart.machine import cores, engine_settings
from crowdtally.lab.auto_estimates import estimate_auto
from crowdtally.lab.comparing.summarising import standard_error
from crowdtally.lab.metrics.lists import precision
from crowdtally.lab.rehearsing import Rehearsal
from crowdtally.lab.truth import true_counts
from crowdtally.noise.draws import SystemDraws
from crowdtally.values.counts import Counts
from crowdtally_research.reproducing.datasets import Data
from crowdtally_research.reproducing.figure import AUTO, Given
from crowdtally_research.reproducing.numbers import Number
from crowdtally_research.reproducing.papers.fan_jin.comparing import KEPT, KS, popularity_panel
from crowdtally_research.reproducing.papers.fan_jin.subjects import EPSILON, SOURCES, Read, read

WEEK, MOVED = "week", "moved"
"""The panels of figure 11: the shares of days, and how far they are from those of all records."""
ORIGINAL = "original"
POPULARITY = "popularity of hpa"
_PERCENT = 100


@dataclass(frozen=True)
class Stage:
    """A data set in an engine, on which methods are rehearsed."""

    read: Read
    """The data set."""
    engine: DuckDBEngine
    """What counts."""
    prepared: Prepared
    """Its records, not yet bounded."""

    def rehearsal(self, method: str, **options: Any) -> Rehearsal:
        """A release with the paper's settings, to be run as often as wanted."""
        subject, asked = self.read.subject, self.read.options(method) | options
        request = make_request(
            subject.records, subject.domain, epsilon=EPSILON, sources=subject.sources, **asked
        )
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
                table = rehearsal.step(0, key, Released(), draws).tables[0]
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
            shares.append(_weighed(rehearsal, stage.truth["items"], draws) / total)
    return [Number.over(KEPT, AUTO, SOURCES[dataset].title, shares)]


def _weighed(rehearsal: Rehearsal, truth: NDArray[np.int64], draws: SystemDraws) -> float:
    """The total of the scaled rows, and all records at the items that are counted apart."""
    released = Released()
    for place in range(len(rehearsal.steps)):
        counted = rehearsal.counted(place, 0, released)
        released = rehearsal.steps[place].release(counted, released, draws)
        if released.table("items") is not None:
            exact: Counts = counted.found[1]
            apart = float(truth[crowd_of(released)].sum())
            return float(int(exact.values.sum()) * exact.unit) + apart
    raise ValueError("a release of auto has a table of items")


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
    _, (_, edges) = rehearsal.halfway(seed, SystemDraws()).counted.found
    return np.asarray(edges.dense())


def _said(rehearsal: Rehearsal, seed: int) -> NDArray[Any]:
    """What a reader of auto takes for each count."""
    released = rehearsal.run(seed, SystemDraws())
    return estimate_auto(rehearsal.request, released).by_table()["edges"]


def _shares(edges: NDArray[Any], contexts: int) -> list[float]:
    """Of all records, the percentage of each context."""
    totals = np.asarray(edges, dtype=np.float64).reshape(-1, contexts).sum(axis=0)
    return [float(one) for one in totals / totals.sum() * _PERCENT]
