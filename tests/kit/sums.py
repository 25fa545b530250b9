"""Sums over subsets of a summary's cells, by the estimator that a reader's questions use."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from crowdtally.core.counts import Keeping
from crowdtally.core.numbers import show
from crowdtally.curator.summaries.base import Summary
from crowdtally.format.manifest import PublicDomain, PublicList, TableFacts
from crowdtally.format.tables import INTERVAL_LEVEL
from crowdtally.laws.base import Combination
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.reader.estimates.cell_sums import Estimate, Sampled, weighted_sum


def sampled(keeping: Keeping, scale: Fraction, **more: Any) -> Sampled:
    """Cells with discrete Laplace noise, kept by this rule."""
    return Sampled(keeping, DiscreteLaplace(scale), **more)


def sum_of(values: ArrayLike, cells: int, how: Sampled) -> Estimate:
    """The sum over so many cells, of which those with these values were published."""
    return weighted_sum(values, np.ones(np.size(values)), Combination.of_cells(cells), how)


def table_of(facts: dict[str, Any], scale: Fraction, cells: int) -> TableFacts:
    """What a release would say about a table of one list with these facts."""
    law = DiscreteLaplace(scale)
    noise = {"std": law.std(), "interval_level": show(INTERVAL_LEVEL), "interval_half_width": 0}
    named = {"name": "cells", "file": "cells.parquet", "columns": ["a"], "cells": cells}
    named |= {"rows": cells, "sha256": "0" * 64}
    domain = PublicDomain((PublicList("a", "integer", cells, range(cells)),), has_items=False)
    return TableFacts.from_json(named | facts | {"noise": law.to_json() | noise}, domain)


def told_by(summary: Summary) -> Sampled:
    """How a summary was made, as its facts tell a reader."""
    scale = Fraction(summary.cost["sensitivity"]) / Fraction(summary.cost["epsilon"])
    return Sampled.of(table_of(summary.facts(), scale, summary.size))
