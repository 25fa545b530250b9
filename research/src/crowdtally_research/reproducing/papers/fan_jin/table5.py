"""Table 5: movies for men under 25."""

from __future__ import annotations

from collections.abc import Sequence

from crowdtally.lab.compared.pictures.axes import Axis
from crowdtally_research.reproducing.datasets import Data
from crowdtally_research.reproducing.figure import Claim, Figure, Judged, Panel, Part
from crowdtally_research.reproducing.numbers import Number, Numbers
from crowdtally_research.reproducing.papers.fan_jin.judging import MARGIN, against, larger, shown
from crowdtally_research.reproducing.papers.fan_jin.recommending import (
    FOUND,
    LISTS,
    MEN,
    PAPER_HPA,
    PAPER_SRA,
    PRINTED,
    TEN,
    TRUTH,
    recommendations,
)
from crowdtally_research.reproducing.papers.fan_jin.shared import QUICK_RUNS, RUNS

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


def _listed(numbers: Numbers, line: str) -> list[Number]:
    return list(numbers.curve(LISTS, line).values())


def _same_truth(numbers: Numbers) -> Judged:
    ours = [one.text for one in _listed(numbers, TRUTH)]
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
        line: [one for one in _listed(numbers, line) if one.mean > TEN]
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
