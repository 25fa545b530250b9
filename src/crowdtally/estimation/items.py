"""From what a release says about its items to an estimate of each."""

from __future__ import annotations

from fractions import Fraction

from crowdtally.estimation.estimates import ItemEstimates
from crowdtally.estimation.facts import ItemFacts
from crowdtally.estimation.mixing import LEVEL


def estimate_items(facts: ItemFacts, level: Fraction = LEVEL) -> ItemEstimates:
    """An estimate of every item, from whatever was measured."""
    raise NotImplementedError
