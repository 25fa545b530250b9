"""Item to item: who used one item also used others, from the table of pairs."""

from __future__ import annotations

from math import hypot

import numpy as np

from crowdtally.errors import UsageError
from crowdtally.format.manifest import TableFacts
from crowdtally.inference.contexts import AMONG
from crowdtally.inference.lifts import Seen, found_lifts
from crowdtally.reader.asking.partners import Partners
from crowdtally.reader.asking.recommended import POPULAR, Recommendations
from crowdtally.reader.asking.special import (
    KNOWN,
    NOT_KNOWN,
    Lifted,
    are_told,
    known_places,
    recommendations,
    with_lifts,
)
from crowdtally.reader.asking.sum import sum_over
from crowdtally.reader.asking.top import item_axis
from crowdtally.reader.axes import Axes
from crowdtally.reader.estimating.believed import Floats, Ints
from crowdtally.reader.estimating.estimator import Estimator, OfItems
from crowdtally.reader.stated import Stated

_LIFTS = (
    "Lift: how many times as often both are used by one user as the popularity of each, and how "
    "much users have, would explain. Special: the probability that it is above 1. Only the "
    f"{AMONG} items with the largest estimates are looked at, as far as they are told apart from "
    "noise, and chance alone does not decide their share."
)


def pairs_table(axes: Axes) -> TableFacts:
    """The table of pairs; refused where a release has none."""
    item_axis(axes)
    table = axes.published.table("pairs")
    if table is None:
        raise UsageError(
            "this release has no pairs of items, from which it could tell what is used together. "
            "One of `crowdtally release … --pairs --bounding sra --max-records 10` has them."
        )
    return table


def also(
    axes: Axes, estimator: Estimator, place: int, k: int, without: Ints, *, by: str, raw: bool
) -> Recommendations:
    """The k items that most go together with the item at a place: by count, or by lift."""
    found = Partners.of(axes, pairs_table(axes), place)
    left = np.ones(len(item_axis(axes)), dtype=np.bool_)
    left[without] = False
    left[place] = False
    k = min(k, int(left.sum()))
    if by != POPULAR:
        return _by_lift(found, estimator, k, np.flatnonzero(~left))
    rows = found.largest_noisy(k, left) if raw else found.largest(k, left)
    return recommendations(found.listed(rows, k, raw=raw), POPULAR)


def _by_lift(found: Partners, estimator: Estimator, k: int, without: Ints) -> Recommendations:
    """Largest lifts first, among the partners that are known well enough."""
    of_items = estimator.items
    if of_items is None:
        raise UsageError(
            "this release has no estimates of single items, so lifts cannot be told: ask --by "
            "popular."
        )
    own = of_items.believed
    relative = own.own / np.maximum(own.mean, 1e-300)
    if relative[found.place] * KNOWN >= 1:
        raise UsageError(
            "the item to compare with is not told apart from noise, so lifts cannot be told: ask "
            "--by popular, or with a more popular item."
        )
    places = known_places(own)
    places = places[places != found.place]
    scale, common = _expected(found, estimator, of_items)
    values, deviation = _counts(found, places)
    expected = np.maximum(scale * own.mean[places], 1e-9)
    told = are_told(values, deviation, expected)
    places = places[told]
    seen = Seen(
        values[told], deviation[told], expected[told], relative[places],
        hypot(common, float(relative[found.place])),
    )  # fmt: skip
    lifted = Lifted(places, found_lifts(seen), np.ones(len(places), dtype=np.bool_))
    wanted, chances = lifted.best(k, without)
    listed = found.listed(found.at(places[wanted], np.zeros(len(own))), k)
    return with_lifts(lifted, wanted, chances, listed, (_LIFTS if len(places) else NOT_KNOWN,))


def _counts(found: Partners, places: Ints) -> tuple[Floats, Floats]:
    """Noisy counts of pairs, and deviations of their noise.

    Where cells were left out, estimates that know of that choice are taken instead.
    """
    if found.table.summary is not None:
        own = found.believed
        return own.mean[places], np.maximum(own.own[places], 1e-9)
    noisy = np.zeros(len(found.believed))
    noisy[found.places] = found.counts
    return noisy[places], np.full(len(places), max(found.table.law.std(), 1e-9))


def _expected(found: Partners, estimator: Estimator, of_items: OfItems) -> tuple[float, float]:
    """Pairs to expect for each time that a partner counts, and how uncertain that is, relatively.

    Where items go together by chance, and users have unlike numbers of them, Σ_u m_u(m_u−1) = 2P
    ordered pairs fall on two items by their shares: c_ij = 2P·(c_i/C)·(c_j/C). That is the usual
    lift c_ij·N/(c_i·c_j) with N = C²/2P: as many users as make the mean lift 1.
    """
    every = sum_over(found.axes, estimator, Stated(True, frozenset(found.table.axes)))
    error = max(every.standard_error or 0.0, 1e-9)
    pairs = max(float(every.value or 0.0), 0.2 * error)
    overall = max(float(of_items.believed.mean.sum()), 1e-9)
    scale = 2 * pairs * float(of_items.believed.mean[found.place]) / overall**2
    return scale, hypot(error / pairs, 2 * of_items.whole / overall)
