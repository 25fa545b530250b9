"""The work that several figures share, and the axes that they have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crowdtally_research.reproducing.datasets import Data
from crowdtally_research.reproducing.figure import Part
from crowdtally_research.reproducing.papers.fan_jin.comparing import LESS, auto, methods
from crowdtally_research.reproducing.papers.fan_jin.subjects import EPSILON, SOURCES

RUNS = 20
QUICK_RUNS = 2
READ_OFF = (
    "M = max|T_k| for lpa, dft and gs and d = min|T_k| for HPA are read off the data, as in the "
    "paper; a release must not do that."
)
TOLD = (
    "auto is told what a curator knows: that nobody rates a movie twice (Netflix, MovieLens), and "
    "that gender and age belong to the user. On Netflix it is run 5 times, else 20 times."
)


def methods_part(dataset: str, quick: bool) -> Part:
    """The paper's methods on one data set."""
    runs = QUICK_RUNS if quick else RUNS
    told = {"dataset": dataset, "runs": runs}
    return Part(f"methods-{dataset}", methods, told, (dataset,), is_spread=True)


def auto_part(dataset: str, quick: bool) -> Part:
    """Our own method on one data set; also at the second ε of figure 6."""
    runs = QUICK_RUNS if quick else SOURCES[dataset].auto_runs
    told: dict[str, Any] = {"dataset": dataset, "runs": runs}
    if dataset == "foursquare":
        told["epsilon"] = f"{LESS},{EPSILON}"
    return Part(f"auto-{dataset}", auto, told, (dataset,), is_spread=True)


def all_methods(data: Data, quick: bool) -> Sequence[Part]:
    """Every method on every data set: auto last, so that lines have one order everywhere."""
    parts = [methods_part(name, quick) for name in SOURCES]
    return [*parts, *(auto_part(name, quick) for name in SOURCES)]
