"""How far off the counts of categories are: with the noise of a plan, and with uniform noise."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import sinh

import numpy as np
from numpy.typing import NDArray

from crowdtally.person.catalogue import Catalogue
from crowdtally.person.planning import Plan
from crowdtally.person.scales import Rates


def uniform(plan: Plan) -> Plan:
    """The usual Laplace mechanism: every category has the noise of the global sensitivity.

    One item changes as many counts as it has categories, Δ at most: the scale is Δ/ε.
    """
    widest = max(map(len, plan.sets))
    rate = min(plan.budgets) / Fraction(widest)
    gap = max(float(1 / rate) / plan.mean_scale - 1, 0.0)
    return replace(plan, noise=Rates((rate,) * len(plan.measured), gap))


def expected_error(plan: Plan) -> float:
    """The mean over the categories of E|noise| = 1/sinh(1/z): the MAE of the noisy counts."""
    return float(np.mean([1 / sinh(float(rate)) for rate in plan.rates]))


def categories_of(catalogue: Catalogue) -> NDArray[np.int64]:
    """1 where an item, a row, has a category, a column."""
    table = np.zeros((len(catalogue.items), len(catalogue.categories)), dtype=np.int64)
    for group in catalogue.groups:
        table[np.ix_(group.places, np.array(group.categories))] = 1
    return table
