"""What a sparse publishing publishes: some cells, and every public parameter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from crowdtally.core.counts import Keeping
from crowdtally.core.numbers import Integers, show
from crowdtally.curator.publishing.publishing import Noisy

SampleName = Literal[
    "dense", "filter", "threshold", "filter-threshold", "priority", "filter-priority"
]


@dataclass(frozen=True, eq=False)
class Summary:
    """A sparse noisy table, safe to show to anyone."""

    publishing: SampleName
    """How the cells were chosen."""
    cells: Integers
    """Numbers of the published cells, ascending and distinct."""
    values: Integers
    """Their noisy counts, as drawn: what a reader makes of them depends on ``threshold``."""
    size: int
    """N: cells of the public domain. Those not listed were dropped."""
    cost: Mapping[str, Any]
    """The price, and what one user can change, as ``release.json`` says them."""
    keeping: Keeping
    """The public rule by which cells were kept."""
    threshold: Fraction | None = None
    """What a reader counts a kept cell for, at least: τ, or τ_S of a priority sample."""
    wanted: int | None = None
    """S: the size asked for, of a priority sample."""
    short: bool = False
    """Whether a priority sample found no more than S cells, and published all of them."""
    consistency: Literal["none", "ancestors"] = "none"
    """Whether nodes below a dropped node were dropped too."""

    def facts(self) -> dict[str, Any]:
        """What ``release.json`` says about it: all a reader needs, and nothing that is private."""
        return {
            "publishing": self.publishing,
            **self.cost,
            "domain_cells": self.size,
            "published_cells": len(self.cells),
            "sides": self.keeping.sides,
            "cut": self.keeping.cut,
            "sampling_threshold": _shown(self.keeping.threshold),
            "estimating_threshold": _shown(self.threshold),
            "size": self.wanted,
            "short": self.short,
            "consistency": self.consistency,
        }

    def noisy(self) -> Noisy:
        """As a publishing returns it."""
        return Noisy(self.values, self.cells, self.facts())


def _shown(number: Fraction | None) -> str | None:
    return None if number is None else show(number)
