"""Table 5: the ten movies for men under 25, as each method finds them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.lab.auto_estimates import estimate_auto
from crowdtally.lab.estimates import estimate
from crowdtally.lab.metrics.lists import in_ties
from crowdtally.lab.rehearsing import Rehearsal
from crowdtally.noise.draws import SystemDraws
from crowdtally_research.reproducing.figure import AUTO, Given
from crowdtally_research.reproducing.numbers import Number
from crowdtally_research.reproducing.papers.fan_jin.sampling import Stage, staged

LISTS, FOUND = "lists", "found"
"""The panels of table 5."""
TRUTH, PAPER_SRA, PAPER_HPA = "truth", "paper's sra", "paper's hpa"
TEN = 10
WHO = ("M", "Under 25")
MEN = "men under 25"
PRINTED = (
    "American Beauty (1999)",
    "Star Wars: Episode VI - Return of the Jedi (1983)",
    "Star Wars: Episode V - The Empire Strikes Back (1980)",
    "Matrix, The (1999)",
    "Star Wars: Episode IV - A New Hope (1977)",
    "Terminator 2: Judgment Day (1991)",
    "Saving Private Ryan (1998)",
    "Jurassic Park (1993)",
    "Star Wars: Episode I - The Phantom Menace (1999)",
    "Braveheart (1995)",
)
"""The paper's first column, as the catalogue spells it."""
PRINTED_SRA = (
    "Phantasm II (1988)",
    "Marvin's Room (1996)",
    "All Dogs Go to Heaven (1989)",
    "In the Line of Duty 2 (1987)",
    PRINTED[2],
    "Slumber Party Massacre III, The (1990)",
    "Story of Xinghua, The (1993)",
    PRINTED[0],
    "Shaft (1971)",
    PRINTED[8],
)
"""Its second column; which of three movies called Shaft it means, it does not say."""
PRINTED_HPA = (
    PRINTED[0], PRINTED[1], PRINTED[5], PRINTED[2], PRINTED[7], PRINTED[3],
    "Men in Black (1997)", "Fugitive, The (1993)", PRINTED[9], PRINTED[6],
)  # fmt: skip
"""Its third column."""


def recommendations(given: Given, *, dataset: str, runs: int) -> Sequence[Number]:
    """The first run's list of each method, and how many of the true ten all runs find."""
    with staged(given.data, dataset) as stage:
        column = _column(stage)
        truth = stage.truth["edges"].reshape(-1, stage.contexts)[:, column]
        ranks = places(truth)
        numbers = [*_listed(stage, TRUTH, best(truth), ranks), *_printed(stage, ranks)]
        for method in ("sra", "hpa", AUTO):
            lists = [best(one[:, column]) for one in _tables(stage, method, runs)]
            numbers += _listed(stage, method, lists[0], ranks)
            hits = [float((ranks[listed] <= TEN).sum()) for listed in lists]
            numbers.append(Number.over(FOUND, method, MEN, hits))
        return numbers


def best(counts: NDArray[Any], number: int = TEN) -> NDArray[np.int64]:
    """The items of the largest counts, the largest first; equal ones as everywhere in the lab."""
    return np.lexsort((in_ties(np.arange(len(counts))), -np.asarray(counts)))[:number]


def places(counts: NDArray[Any]) -> NDArray[np.int64]:
    """For each item its place in the list of all items, from 1."""
    found = np.empty(len(counts), dtype=np.int64)
    found[best(counts, len(counts))] = np.arange(1, len(counts) + 1)
    return found


def _column(stage: Stage) -> int:
    """The column of edges that these users are in; the last context is the fastest."""
    place = 0
    for axis, value in zip(stage.prepared.domain.contexts, WHO, strict=True):
        place = place * len(axis) + [str(one) for one in axis.values].index(value)
    return place


def _tables(stage: Stage, method: str, runs: int) -> Iterator[NDArray[np.float64]]:
    """Each run's counts of items in contexts, a row for each item."""
    rehearsal, contexts = _rehearsal(stage, method), stage.contexts
    for seed in range(runs):
        released = rehearsal.run(seed, SystemDraws())
        if method == AUTO:
            edges = estimate_auto(rehearsal.request, released).by_table()["edges"]
        else:
            (table,) = (one for one in released.tables if one.name == "edges")
            edges = estimate(table)
        yield edges.reshape(-1, contexts)


def _rehearsal(stage: Stage, method: str) -> Rehearsal:
    if method != AUTO:
        return stage.rehearsal(method)
    features = stage.read.features
    given = {} if features is None else {"features": features}
    return stage.rehearsal(AUTO, for_="recommend", **given)


def _listed(
    stage: Stage, line: str, listed: NDArray[np.int64], ranks: NDArray[np.int64]
) -> Iterator[Number]:
    for place, item in enumerate(listed.tolist(), 1):
        rank = float(ranks[item])
        yield Number(LISTS, line, float(place), rank, text=_title(stage, item))


def _printed(stage: Stage, ranks: NDArray[np.int64]) -> Iterator[Number]:
    """The paper's own lists, where its movies are in the catalogue."""
    titles = {title: item for item, title in enumerate(stage.read.titles)}
    for line, column in ((PAPER_SRA, PRINTED_SRA), (PAPER_HPA, PRINTED_HPA)):
        if titles.keys() >= set(column):
            for place, title in enumerate(column, 1):
                yield Number(LISTS, line, float(place), float(ranks[titles[title]]), text=title)
            yield Number(FOUND, line, MEN, float(len(set(column) & set(PRINTED))))


def _title(stage: Stage, item: int) -> str:
    if stage.read.titles:
        return stage.read.titles[item]
    return f"item {stage.prepared.domain.items.values[item]}"
