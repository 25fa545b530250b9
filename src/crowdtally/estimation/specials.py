"""The two lists of a context: what is popular there, and what is special there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdtally.estimation.chances import chances_among
from crowdtally.estimation.contexts import ContextEstimates

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

AMONG = 200
"""Special items are sought among so many of the largest estimates: beyond, all is noise."""


@dataclass(frozen=True, eq=False)
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
    measured: NDArray[np.bool_]
    """Whether the item itself was counted in the context. Otherwise "special" says no more than
    that items of its kind are special there."""


def popular(estimates: ContextEstimates, context: int, k: int) -> Ranked:
    """The k items with the largest e_ij of the context; ties by the order of the list."""
    cells = estimates.column(context)
    everything = np.arange(len(cells.mean), dtype=np.int64)
    return _ranked(estimates, everything, cells.mean, cells.deviation, k)


def special(estimates: ContextEstimates, context: int, k: int) -> Ranked:
    """The k largest lifts of the context among the 200 largest items; ties by their size.

    Where each context has the overall ranking (``same_ranking``) no item is special: none is given.
    """
    largest = np.argsort(-np.asarray(estimates.items.mean), kind="stable")[:AMONG]
    if estimates.same_ranking:
        largest = largest[:0]
    cells = estimates.at(largest)
    return _ranked(
        estimates, largest, cells.lift[:, context], cells.lift_deviation[:, context], k
    )  # fmt: skip


def _ranked(
    estimates: ContextEstimates, places: Ints, score: Floats, deviation: Floats, k: int
) -> Ranked:
    order = np.argsort(-score, kind="stable")[: max(k, 0)]
    wanted = min(max(k, 0), len(places))
    chance = chances_among(score, deviation, wanted) if wanted else np.zeros(len(places))
    chosen = places[order]
    return Ranked(
        chosen, score[order], deviation[order], chance[order], estimates.is_measured(chosen)
    )
