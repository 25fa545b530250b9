"""Table 5: movie recommendations for men under 25."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.lab.comparison.charts import Axis
from crowdtally.lab.estimates import estimate, estimate_auto
from crowdtally.lab.metrics import in_ties
from crowdtally.lab.rehearse import Rehearsal
from crowdtally.noise.draws import SystemDraws
from crowdtally_research.reproducing.figure import (
    AUTO,
    Claim,
    Data,
    Figure,
    Given,
    Judged,
    Number,
    Numbers,
    Panel,
    Part,
)
from crowdtally_research.reproducing.papers.fan_jin.shared import (
    MARGIN,
    QUICK_RUNS,
    RUNS,
    against,
    larger,
    shown,
)
from crowdtally_research.reproducing.papers.fan_jin.work import Stage, staged

# Table 5: the ten movies for men under 25, as each method finds them.

LISTS, FOUND = "lists", "found"
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


def recommendations(given: Given, *, dataset: str, runs: int) -> Sequence[Number]:
    """The first run's list of each method, and how many of the true ten all runs find."""
    with staged(given.data, dataset) as stage:
        column = _column(stage)
        truth = stage.truth["edges"].reshape(-1, stage.contexts)[:, column]
        ranks = places(truth)
        numbers = [*_listed_recommending(stage, TRUTH, best(truth), ranks), *_printed(stage, ranks)]
        for method in ("sra", "hpa", AUTO):
            lists = [best(one[:, column]) for one in _tables(stage, method, runs)]
            numbers += _listed_recommending(stage, method, lists[0], ranks)
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
    return stage.rehearsal(AUTO, aim="recommend")


def _listed_recommending(
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


# Table 5: movies for men under 25.

DATASET = "movielens"
_NEAR, _FAR = 50, 500
_WHY = {
    "sra": (
        "A sample of 30 records leaves 100 to 200 of the 470 to 590 ratings that each of the ten "
        "has from these men, and noise of scale 30/0.5 = 60 carries more than a hundred of the "
        "3,883 movies as high: most of the list is noise, as in the paper's."
    ),
    "hpa": (
        "HPA's guide is weak with d = min|T_k| = 20: noise of scale 20/0.1 = 200 on counts of 400 "
        "to 830 at the most popular movies; each count then has noise of scale 30/0.45 = 67."
    ),
}
_NO_TITLES = "The look-alike's items have no titles: the paper's lists cannot be found in it."


def _listed_table5(numbers: Numbers, line: str) -> list[Number]:
    return list(numbers.curve(LISTS, line).values())


def _same_truth(numbers: Numbers) -> Judged:
    ours = [one.text for one in _listed_table5(numbers, TRUTH)]
    if not numbers.has(LISTS, PAPER_HPA):
        return Judged("cannot be checked", _NO_TITLES)
    if ours == list(PRINTED):
        return Judged("agrees", "our true top ten is the same, in the same order.")
    common = len(set(ours) & set(PRINTED))
    return Judged("differs", f"{common} of the ten are in our true top ten.")


def _shares(line: str, printed: str, words: str) -> Claim:
    """Whether a run of ours may well find as many of the true ten as the paper's one run did."""

    def judge(numbers: Numbers) -> Judged:
        if not numbers.has(FOUND, printed):
            return Judged("cannot be checked", _NO_TITLES)
        wanted, found = numbers.mean(FOUND, printed, MEN), numbers.at(FOUND, line, MEN)
        deviation = found.standard_error * found.runs**0.5
        holds = abs(found.mean - wanted) <= MARGIN * deviation
        told = (
            f"{shown(found)} of ten on average, runs differ by ± {deviation:.1f}; the paper's one "
            f"run has {wanted:g}"
        )
        why = "" if holds else f" What may be behind it: {_WHY[line]}"
        return Judged("agrees" if holds else "differs", f"{told}.{why}")

    return Claim(words, judge)


def _better(numbers: Numbers) -> Judged:
    sra, hpa, auto = (numbers.at(FOUND, line, MEN) for line in ("sra", "hpa", "auto"))
    told = f"{against(hpa, sra)} of the true ten ({against(auto)})"
    return Judged("agrees" if larger(hpa, sra) else "differs", f"{told}.")


def _interesting(numbers: Numbers) -> Judged:
    """Whether the paper's two strangers of HPA are popular with these men, and SRA's are not."""
    if not numbers.has(LISTS, PAPER_HPA):
        return Judged("cannot be checked", _NO_TITLES)
    ranks = {
        line: [one for one in _listed_table5(numbers, line) if one.mean > TEN]
        for line in (PAPER_HPA, PAPER_SRA)
    }
    told = "; ".join(
        f"{line}: " + ", ".join(f"{one.text} is number {one.mean:g}" for one in found)
        for line, found in ranks.items()
    )
    holds = all(one.mean <= _NEAR for one in ranks[PAPER_HPA])
    holds &= all(one.mean > _FAR for one in ranks[PAPER_SRA])
    return Judged("agrees" if holds else "differs", f"{told} of the true list.")


def _parts(data: Data, quick: bool) -> Sequence[Part]:
    runs = QUICK_RUNS if quick else RUNS
    return [
        Part("recommendations", recommendations, {"dataset": DATASET, "runs": runs}, (DATASET,))
    ]


FIGURE = Figure(
    "table5",
    "Movie recommendations for men under 25",
    "MovieLens 1M, gender and three age groups, l = 30, d = 20, ε = 1; 20 runs. auto is asked `for "
    "recommend`, and told that gender and age belong to the user, and the genres and decades of "
    "the movies.",
    "Left: for each place of a list, which place its movie has in the true list of these men: 1 to "
    "10 are right, 1,000 is a movie that few of them rated. The lists of sra, hpa and auto are "
    "those of the first of our runs. Right: how many of the true ten are on the list, on average "
    "over all runs; the paper's own lists are one run each.",
    (
        Panel(
            LISTS,
            "The lists, by the true place of each movie",
            Axis("place in the list", False),
            Axis("place in the true list", True),
        ),
        Panel(
            FOUND,
            "Movies of the true ten on the list",
            Axis("for whom", False),
            Axis("movies of ten", False, (0.0, 10.0)),
            is_bars=True,
        ),
    ),
    (
        Claim(
            "The first column: the ten true movies, from American Beauty to Braveheart",
            _same_truth,
        ),
        _shares(
            "hpa", PAPER_HPA,
            "HPA's movies “are quite consistent with the original top-10 except for two movies”: 8 "
            "of 10",
        ),
        _shares("sra", PAPER_SRA, "SRA's printed list has 3 of the true ten"),
        Claim("HPA “can make better recommendations than SRA”", _better),
        Claim(
            "“some movies recommended by SRA may not interest the target audience”; HPA's other "
            f"two “may interest the target audience as well” (here: beyond the true {_FAR}, and "
            f"within the true {_NEAR})",
            _interesting,
        ),
    ),
    _parts,
    (
        "The paper prints one run of each method; whether its lists are typical cannot be told.",
        "The printed SRA list shares Star Wars V, American Beauty and Star Wars I with the true "
        "ten.",
    ),
)  # fmt: skip
