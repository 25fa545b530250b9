"""Figure 5: what HPA's first, small table alone shows of the most popular items."""

from __future__ import annotations

from collections.abc import Sequence

from crowdtally.lab.compared.pictures.axes import Axis
from crowdtally_research.reproducing.datasets import Data
from crowdtally_research.reproducing.figure import Claim, Figure, Judged, Panel, Part
from crowdtally_research.reproducing.numbers import Numbers
from crowdtally_research.reproducing.papers.fan_jin.comparing import popularity_panel
from crowdtally_research.reproducing.papers.fan_jin.judging import (
    MARGIN,
    Check,
    at_least,
    judged,
    shown,
)
from crowdtally_research.reproducing.papers.fan_jin.sampling import POPULARITY, popularity
from crowdtally_research.reproducing.papers.fan_jin.shared import auto_part
from crowdtally_research.reproducing.papers.fan_jin.subjects import SOURCES

DATASETS = ("foursquare", "netflix")
_STAND_IN = (
    "How steep the head of the list is decides this number, and the paper prints nothing of it: "
    "the look-alike's head is fitted to a public file of the same origin, or invented."
)


def _reaches(dataset: str, k: int, level: float) -> Claim:
    def judge(numbers: Numbers) -> Judged:
        found = numbers.at(popularity_panel(dataset), POPULARITY, float(k))
        told = f"{shown(found)} of the true top {k}"
        return judged([Check("", at_least(found, level), told)], _STAND_IN)

    return Claim(_WORDS[dataset, k], judge)


_WORDS = {
    ("foursquare", 20): "“more than 60% of top-20 popular locations in Foursquare”",
    ("netflix", 20): "“70% top-20 popular movies on Netflix”",
    ("foursquare", 100): "at K = 100 it “captures 40% of the real popular locations”",
    ("netflix", 100): "at K = 100 it captures “almost 80% popular movies” (here: 75% or more)",
}
_LEVELS = {20: {"foursquare": 0.6, "netflix": 0.7}, 100: {"foursquare": 0.4, "netflix": 0.75}}


def _parts(data: Data, quick: bool) -> Sequence[Part]:
    runs = {"keys": 2, "noises": 1} if quick else {"keys": 5, "noises": 4}
    found = [
        Part(f"popularity-{name}", popularity, {"dataset": name, **runs}, (name,))
        for name in DATASETS
    ]
    return [*found, *(auto_part(name, quick) for name in DATASETS)]


FIGURE = Figure(
    "5",
    "Popular items by the first table of HPA alone",
    "One record of each user (d = min|T_k| = 1), ε₀ = 0.1; 5 sampling keys with 4 noises each.",
    "The share of the true top K that the noisy popularity shows. auto is the list of a whole "
    "release at ε = 1, ten times the cost of the popularity: what HPA's guide can at best become.",
    tuple(
        Panel(
            popularity_panel(name),
            SOURCES[name].title,
            Axis("K", True),
            Axis("share of the true top K found", False, (0.0, 1.0)),
        )
        for name in DATASETS
    ),
    tuple(_reaches(name, k, _LEVELS[k][name]) for k in (20, 100) for name in DATASETS),
    _parts,
    (
        f"A share reaches a level where it misses it by less than {MARGIN} standard errors; to "
        "find more than the paper did agrees with it.",
        "d = min|T_k| is read off the data, as in the paper; a release must not do that.",
    ),
)
