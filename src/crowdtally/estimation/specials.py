"""The two lists of a context: what is popular there, and what is special there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdtally.estimation.contexts import ContextEstimates, Items

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

AMONG = 200
"""Special items are sought among so many of the largest estimates: beyond, all is noise."""


@dataclass(frozen=True)
class Ranked:
    """A list of items of one context, best first."""

    places: Ints
    """The items' places in the list."""
    score: Floats
    """e_ij where popular, the lift where special."""
    deviation: Floats
    """The score's posterior deviation."""
    chance: Floats
    """The probability to be among the best k of the context by this score."""


def popular(estimates: ContextEstimates, context: int, k: int) -> Ranked:
    """The k items with the largest e_ij of the context."""
    raise NotImplementedError


def special(items: Items, estimates: ContextEstimates, context: int, k: int) -> Ranked:
    """The k largest lifts of the context among the 200 largest items."""
    raise NotImplementedError
