"""Figure 10: how many records are left once users are bounded."""

from __future__ import annotations

from collections.abc import Sequence

from crowdtally.lab.compared.pictures.axes import Axis
from crowdtally_research.reproducing.datasets import Data
from crowdtally_research.reproducing.figure import Claim, Figure, Judged, Panel, Part
from crowdtally_research.reproducing.numbers import Numbers
from crowdtally_research.reproducing.papers.fan_jin.comparing import KEPT
from crowdtally_research.reproducing.papers.fan_jin.judging import Check, against, judged
from crowdtally_research.reproducing.papers.fan_jin.sampling import weights
from crowdtally_research.reproducing.papers.fan_jin.shared import QUICK_RUNS, methods_part
from crowdtally_research.reproducing.papers.fan_jin.subjects import SOURCES

_HALF, _TWENTIETH = 0.5, 0.05
_RUNS = 5
OURS = ("sra", "hpa")


def _less_than(words: str, level: float, titles: Sequence[str]) -> Claim:
    def judge(numbers: Numbers) -> Judged:
        checks = []
        for title in titles:
            found = [numbers.at(KEPT, line, title) for line in OURS]
            checks.append(Check(title, all(one.mean < level for one in found), against(*found)))
        return judged(checks)

    return Claim(words, judge)


def _parts(data: Data, quick: bool) -> Sequence[Part]:
    parts = [methods_part(name, quick) for name in SOURCES]
    runs = QUICK_RUNS if quick else _RUNS
    return [
        *parts,
        *(
            Part(f"weights-{name}", weights, {"dataset": name, "runs": runs}, (name,))
            for name in SOURCES
        ),
    ]


FIGURE = Figure(
    "10",
    "Data reduction",
    "l = 10 (MovieLens: 30) at ε = 1.",
    "The share of all records that SRA and HPA count: both keep min(l, |T_k|) of each user, so "
    "they are equal. auto drops no record: it scales each user's row to a sum of at most θ, which "
    "it chooses privately. Its bar is the weight that is left, Σ min(|T_k|, θ) / Σ |T_k|, with the "
    "records at items that it counts apart.",
    (
        Panel(
            KEPT,
            "Share of the records that are counted",
            Axis("data set", False),
            Axis("share of all records", False),
            is_bars=True,
        ),
    ),
    (
        _less_than(
            "“the sampled data is much smaller than the raw input for every data set” (here: less "
            "than half)",
            _HALF,
            [source.title for source in SOURCES.values()],
        ),
        _less_than(
            "On Netflix “sample databases with less than 5% of the original data”",
            _TWENTIETH,
            [SOURCES["netflix"].title],
        ),
    ),
    _parts,
    (
        "auto is run 5 times up to its table of items; its other small tables look at the records "
        "again.",
    ),
)
