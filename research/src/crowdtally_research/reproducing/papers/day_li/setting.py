"""What the paper's experiments are made of: six data sets, two ε, six methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from crowdtally_research.reproducing.datasets import Data
from crowdtally_research.reproducing.figure import AUTO, Part
from crowdtally_research.reproducing.papers.day_li.experiment import measured

RUNS = 30
"""As often as the paper runs every algorithm."""
METHODS = ("dpsense", "dpsense-s", "gs", "alpa", "lpa", AUTO)
"""In the order of every figure."""


@dataclass(frozen=True)
class Set:
    """One of the paper's data sets."""

    name: str
    """Of its look-alike."""
    title: str
    """As the paper calls it."""
    rows: int
    """Users, as Table 2 prints them."""
    columns: int
    """Items, d."""
    most: int
    """Δ_D: the most ones in a row."""
    mean: float
    """ac(D): the average column count."""
    largest: int
    """The largest θ that DPSense-S chooses from: public, about seven times the mean row."""
    scale: str = "1"
    """The share of the rows that the look-alike has."""
    autos: int = RUNS
    """How often ``auto`` is run."""
    sampled: bool = True
    """Whether its rows are sampled, too: of the largest set that takes minutes."""

    @property
    def row_mean(self) -> float:
        """The average row count, by Table 2."""
        return self.mean * self.columns / self.rows


SETS = (
    Set("netflix", "Netflix", 480_189, 17_770, 17_653, 5_654.50, 1_500, autos=5, sampled=False),
    Set("transaction", "Transaction", 515_597, 1_657, 164, 2_031.99, 200),
    Set("movielens-10m", "Movielens", 71_567, 10_681, 7_359, 936.25, 1_000),
    Set("document", "Document", 8_200_000, 141_043, 436, 3_427.68, 400, "0.05", autos=20),
    Set("aol", "AOL", 657_426, 46_176, 27_027, 498.85, 300, autos=20),
    Set("kosarak", "Kosarak", 990_002, 41_270, 2_497, 194.31, 200),
)
"""Table 2 of the paper."""
SMALLER = tuple(one for one in SETS if one.scale != "1")
"""Those of which only a share is made."""


def parts(data: Data, quick: bool) -> Sequence[Part]:
    """One part for each data set: it has the numbers of every figure."""
    return [Part(one.name, measured, _arguments(one, quick), (one.name,)) for one in SETS]


def _arguments(one: Set, quick: bool) -> dict[str, Any]:
    shared = {
        "name": one.name,
        "title": one.title,
        "scale": one.scale,
        "largest": one.largest,
        "sampled": one.sampled,
    }
    if quick:
        return shared | {"runs": 2, "autos": 1, "largest": min(one.largest, 40)}
    return shared | {"runs": RUNS, "autos": one.autos}
