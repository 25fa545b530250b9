"""Item to item: who used one item also used others, from the table of pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import hypot

import numpy as np

from crowdtally.errors import UsageError
from crowdtally.estimation.facts import ItemFacts, Noisy, Summary
from crowdtally.estimation.items import estimate_items
from crowdtally.estimation.lifts import Seen, found_lifts
from crowdtally.laws.law import ONE_CELL, as_counts
from crowdtally.published.table import TableFacts
from crowdtally.published.what_counts import what_counts
from crowdtally.reader import tables
from crowdtally.reader.asking.answering import in_units
from crowdtally.reader.asking.floor import floor_of_cells, floor_words
from crowdtally.reader.asking.recommended import POPULAR, Recommendations
from crowdtally.reader.asking.special import Lifted, known_places, recommendations, with_lifts
from crowdtally.reader.asking.sum import sum_over
from crowdtally.reader.asking.top import item_axis
from crowdtally.reader.asking.top_list import TopItem, TopList
from crowdtally.reader.axes import Axes
from crowdtally.reader.estimating.believed import BOUNDED, TRUE, Believed, Floats, Ints, Mask
from crowdtally.reader.estimating.covering import NOISE, is_bounded
from crowdtally.reader.estimating.covering import words as covering_words
from crowdtally.reader.estimating.estimator import LEVEL, Estimator
from crowdtally.reader.estimating.sampled import Sampled, weighted_sum
from crowdtally.reader.stated import Stated

_LIFTS = (
    "Lift: how many times as often both are used by one user as the popularity of each, and how "
    "much users have, would explain. Special: the probability that it is above 1. Only the 200 "
    "items with the largest estimates are looked at, as far as they are told apart from noise."
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


@dataclass(frozen=True, eq=False)
class _Partners:
    """What a release says of one item together with every other."""

    axes: Axes
    table: TableFacts
    """The table of pairs."""
    place: int
    """The item's place in the list."""
    places: Ints
    """Of the partners that were published, in the order of the list."""
    counts: Floats
    """Their noisy counts."""
    believed: Believed
    """Of every item of the list; the item itself is never with itself."""

    @property
    def noisy(self) -> dict[int, float]:
        """Noisy counts by the partners' places."""
        return dict(zip(self.places.tolist(), self.counts.tolist(), strict=True))


def also(
    axes: Axes, estimator: Estimator, place: int, k: int, without: Ints, *, by: str, raw: bool
) -> Recommendations:
    """The k items that most go together with the item at a place: by count, or by lift."""
    found = _partners(axes, pairs_table(axes), place)
    left = np.ones(len(item_axis(axes)), dtype=np.bool_)
    left[without] = False
    left[place] = False
    if by != POPULAR:
        return _by_lift(found, estimator, k, np.flatnonzero(~left))
    k = min(k, int(left.sum()))
    rows = _by_count(found, k, left) if raw else _by_estimate(found, k, left)
    return recommendations(_listed(found, rows, k, raw=raw), POPULAR)


def _partners(axes: Axes, table: TableFacts, place: int) -> _Partners:
    item, path = item_axis(axes), axes.published.path(table)
    names, counts = tables.partners(path, table.axes, _value(axes, place))
    where = item.places_of(names) if len(names) else np.empty(0, dtype=np.int64)
    order = np.argsort(where)
    where, values = where[order], counts[order].astype(np.float64)
    size = len(item) - 1
    if table.summary is None:
        facts = ItemFacts(size, Noisy(values, table.law))
    else:
        others = where - (where > place)
        facts = ItemFacts(
            size, summary=Summary(others, values, table.law, table.summary.keeping)
        )  # fmt: skip
    made = estimate_items(facts, LEVEL)
    parts = (made.mean, made.median, made.low, made.high, made.deviation, made.own)
    believed = Believed(*(np.insert(part, place, 0.0) for part in parts))
    return _Partners(axes, table, place, where, values, believed)


def _by_estimate(found: _Partners, k: int, left: Mask) -> list[TopItem]:
    """Largest estimates first; equal ones by their noisy counts, then by the order of the list."""
    of, places = found.believed, np.flatnonzero(left)
    noisy = np.full(len(left), -np.inf)
    noisy[found.places] = found.counts
    chances = np.zeros(len(left))
    chances[places] = Believed(*(part[places] for part in of.parts())).chance_among(k)
    order = places[np.lexsort((places, -noisy[places], -of.mean[places]))][:k]
    covers = BOUNDED if is_bounded(found.axes.published) else TRUE
    rows = []
    for rank, at in enumerate(order.tolist(), start=1):
        line = _line(found, rank, at)
        rows.append(
            replace(
                line,
                estimate=float(of.mean[at]),
                estimate_low=float(of.low[at]),
                estimate_high=float(of.high[at]),
                covers=covers,
                median=float(of.median[at]),
                chance_in_top=float(chances[at]),
                standard_error=float(of.deviation[at]),
            )  # fmt: skip
        )
    return rows


def _by_count(found: _Partners, k: int, left: Mask) -> list[TopItem]:
    """Largest noisy counts first, by what they stand for."""
    inside = np.flatnonzero(left[found.places])
    stands_for = Sampled.of(found.table).adjusted(in_units(found.table, found.counts[inside]))
    order = inside[np.lexsort((inside, -found.counts[inside], -stands_for))][:k]
    return [
        _line(found, rank, int(found.places[at])) for rank, at in enumerate(order.tolist(), start=1)
    ]


def _line(found: _Partners, rank: int, place: int) -> TopItem:
    """A line by the noisy count alone; 0 stands for one that was not published."""
    table, law = found.table, found.table.law
    count = found.noisy.get(place)
    floor = floor_of_cells(table, len(found.believed) - 1)
    reach = float(as_counts(law.half_width(table.interval_level), law.unit))
    sampled = Sampled.of(table)
    seen = in_units(table, np.array([] if count is None else [count]))
    stands = weighted_sum(seen, np.ones(len(seen)), ONE_CELL, sampled)
    low, high = (None, None) if count is None else (count - reach, count + reach)
    return TopItem(
        rank=rank, item=_value(found.axes, place),
        estimate=stands.value, estimate_low=low, estimate_high=high, covers=NOISE, median=None,
        chance_in_top=None, count=count, noise_std=None if count is None else law.std(), low=low,
        high=high, standard_error=stands.standard_error, floor=floor,
        above_floor=count is not None and count > floor,
    )  # fmt: skip


def _listed(found: _Partners, rows: list[TopItem], k: int, *, raw: bool) -> TopList:
    """The lines, and what must be said beside them."""
    published, table = found.axes.published, found.table
    others = len(found.believed) - 1
    floor = floor_of_cells(table, others)
    covers = NOISE if raw else BOUNDED if is_bounded(published) else TRUE
    return TopList(
        tuple(rows), table.kind.counts(published.counted), floor, others,
        floor_words(table, others, floor), what_counts(published, table).sentence(),
        covering_words(published, table, covers), k, item_kind=published.domain.lists[0].kind,
    )  # fmt: skip


def _by_lift(found: _Partners, estimator: Estimator, k: int, without: Ints) -> Recommendations:
    """Largest lifts first, among the partners that are known well enough."""
    of_items = estimator.items
    if of_items is None:
        raise UsageError(
            "this release has no estimates of single items, so lifts cannot be told: ask --by "
            "popular."
        )
    own = of_items.believed
    if own.mean[found.place] <= 2 * own.own[found.place]:
        raise UsageError(
            "the item to compare with is not told apart from noise, so lifts cannot be told: ask "
            "--by popular, or with a more popular item."
        )
    places = known_places(own)
    places = places[places != found.place]
    scale, common = _expected(found, estimator, of_items.whole)
    expected = np.maximum(scale * own.mean[places], 1e-9)
    seen = Seen(
        *_seen_counts(found, places), expected, own.own[places] / own.mean[places],
        hypot(common, float(own.own[found.place] / own.mean[found.place])),
    )  # fmt: skip
    lifted = Lifted(places, found_lifts(seen), np.ones(len(places), dtype=np.bool_))
    wanted, chances = lifted.best(k, without)
    listed = _listed(found, _in_order(found, places[wanted]), k, raw=False)
    return with_lifts(lifted, wanted, chances, listed, (_LIFTS,))


def _in_order(found: _Partners, places: Ints) -> list[TopItem]:
    """The lines of some partners, in this order."""
    inside = np.zeros(len(found.believed), dtype=np.bool_)
    inside[places] = True
    by_item = {line.item: line for line in _by_estimate(found, len(places), inside)}
    return [by_item[_value(found.axes, place)] for place in places.tolist()]


def _value(axes: Axes, place: int) -> str | int:
    """The item at a place, as plain Python."""
    (found,) = item_axis(axes).axis.values[place : place + 1].tolist()
    return found  # type: ignore[no-any-return]


def _seen_counts(found: _Partners, places: Ints) -> tuple[Floats, Floats]:
    """Noisy counts of pairs, and deviations of their noise; where cells were left out, estimates
    that know of that choice.
    """
    if found.table.summary is not None:
        own = found.believed
        return own.mean[places], np.maximum(own.own[places], 1e-9)
    noisy = np.zeros(len(found.believed))
    noisy[found.places] = found.counts
    return noisy[places], np.full(len(places), max(found.table.law.std(), 1e-9))


def _expected(found: _Partners, estimator: Estimator, whole: float) -> tuple[float, float]:
    """Pairs to expect for each time that a partner counts, and how uncertain that is, relatively.

    Where items go together by chance, and users have unlike numbers of them, Σ_u m_u(m_u−1) = 2P
    ordered pairs fall on two items as their shares: c_ij = 2P·(c_i/C)·(c_j/C). That is the usual
    lift c_ij·N/(c_i·c_j) with N = C²/2P: as many users as make the mean lift 1.
    """
    table, own = found.table, estimator.items
    assert own is not None
    every = sum_over(found.axes, estimator, Stated(True, frozenset(table.axes)))
    error = max(every.standard_error or 0.0, 1e-9)
    pairs = max(float(every.value or 0.0), 0.2 * error)
    overall = max(float(own.believed.mean.sum()), 1e-9)
    scale = 2 * pairs * float(own.believed.mean[found.place]) / overall**2
    return scale, hypot(error / pairs, 2 * whole / overall)
