"""Recommend items: popular or special in some contexts, or used together with an item."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import hypot

import numpy as np

from crowdtally.errors import UsageError, did_you_mean
from crowdtally.format.load import what_counts
from crowdtally.format.manifest import TableFacts
from crowdtally.inference.facts import Chosen, ItemFacts, Noisy
from crowdtally.inference.items import estimate_items
from crowdtally.inference.lifts import AMONG, Seen, found_lifts
from crowdtally.laws.base import ONE_CELL, as_counts
from crowdtally.reader import tables
from crowdtally.reader.axes import Axes, Floats, Ints, Mask
from crowdtally.reader.conditions import Stated
from crowdtally.reader.estimates.cell_sums import BOUNDED, TRUE, Believed, Sampled, weighted_sum
from crowdtally.reader.estimates.estimator import LEVEL, NOISE, OfItems, ReleaseView, is_bounded
from crowdtally.reader.estimates.estimator import words as covering_words
from crowdtally.reader.questions.chosen import chosen_contexts, how_many, places_of_items, several
from crowdtally.reader.questions.noisy_sums import in_units
from crowdtally.reader.questions.recommendations import (
    POPULAR,
    SPECIAL,
    Recommendations,
    value_words,
)
from crowdtally.reader.questions.special import (
    KNOWN,
    NOT_KNOWN,
    Lifted,
    are_told,
    known_places,
    recommendations,
    special,
    with_lifts,
)
from crowdtally.reader.questions.sum import sum_over
from crowdtally.reader.questions.top import item_axis, top_in
from crowdtally.reader.questions.top_list import TopItem, TopList, floor_of_cells, floor_words


@dataclass(frozen=True, eq=False)
class Partners:
    """What a release says of one item together with every other."""

    view: ReleaseView
    table: TableFacts
    place: int
    places: Ints
    """Of the partners that were published, in the order of the list."""
    counts: Floats
    believed: Believed
    """Of every item of the list; the item itself is never with itself."""

    @classmethod
    def of(cls, view: ReleaseView, table: TableFacts, place: int) -> Partners:
        item, path = item_axis(view), view.published.path(table)
        (value,) = item.axis.values[place : place + 1].tolist()
        names, counts = tables.partners(path, table.axes, value)
        where = item.places_of(names) if len(names) else np.empty(0, dtype=np.int64)
        order = np.argsort(where)
        where, values = where[order], counts[order].astype(np.float64)
        if table.summary is None:
            facts = ItemFacts(len(item) - 1, Noisy(values, table.law))
        else:
            others, keeping = where - (where > place), table.summary.keeping
            kept = Chosen(values, table.law, places=others, keeping=keeping)
            facts = ItemFacts(len(item) - 1, kept)
        parts = Believed.of(estimate_items(facts, LEVEL)).parts()
        believed = Believed(*(np.insert(part, place, 0.0) for part in parts))
        return cls(view, table, place, where, values, believed)

    def largest(self, k: int, left: Mask) -> list[TopItem]:
        """The k largest estimates in ``left``; ties by noisy counts, then in the list's order."""
        of, places = self.believed, np.flatnonzero(left)
        noisy = np.full(len(left), -np.inf)
        noisy[self.places] = self.counts
        chances = np.zeros(len(left))
        chances[places] = Believed(*(part[places] for part in of.parts())).chance_among(k)
        order = places[np.lexsort((places, -noisy[places], -of.mean[places]))][:k]
        return self.at(order, chances)

    def at(self, places: Ints, chances: Floats) -> list[TopItem]:
        of, rows = self.believed, list[TopItem]()
        for line, at in zip(self._lines(places), places.tolist(), strict=True):
            rows.append(
                replace(
                    line,
                    estimate=float(of.mean[at]),
                    estimate_low=float(of.low[at]),
                    estimate_high=float(of.high[at]),
                    covers=self.covers,
                    median=float(of.median[at]),
                    chance_in_top=float(chances[at]),
                    standard_error=float(of.deviation[at]),
                )
            )
        return rows

    def largest_noisy(self, k: int, left: Mask) -> list[TopItem]:
        """The k largest noisy counts in ``left``, by the values that they represent."""
        inside = np.flatnonzero(left[self.places])
        stands_for = Sampled.of(self.table).adjusted(in_units(self.table, self.counts[inside]))
        order = inside[np.lexsort((inside, -self.counts[inside], -stands_for))][:k]
        return list(self._lines(self.places[order]))

    def listed(self, rows: Iterable[TopItem], k: int, *, raw: bool = False) -> TopList:
        published, table, others = self.view.published, self.table, len(self.believed) - 1
        return TopList(
            tuple(rows), table.kind.counts(published.counted), self.floor, others,
            floor_words(table, others, self.floor), what_counts(published, table).sentence(),
            covering_words(published, table, NOISE if raw else self.covers), k,
            item_kind=published.domain.lists[0].kind,
        )  # fmt: skip

    @property
    def covers(self) -> str:
        return BOUNDED if is_bounded(self.view.published) else TRUE

    @cached_property
    def floor(self) -> float:
        """What the largest noisy count rarely exceeds where nobody is counted."""
        return floor_of_cells(self.table, len(self.believed) - 1)

    def _lines(self, places: Ints) -> Iterable[TopItem]:
        """Lines by noisy counts alone; one that was not published has None."""
        law, sampled = self.table.law, Sampled.of(self.table)
        reach = float(as_counts(law.half_width(self.table.interval_level), law.unit))
        std, floor = law.std(), self.floor
        noisy = dict(zip(self.places.tolist(), self.counts.tolist(), strict=True))
        values = item_axis(self.view).axis.values[places].tolist()
        for rank, (place, item) in enumerate(zip(places.tolist(), values, strict=True), start=1):
            count = noisy.get(place)
            seen = in_units(self.table, np.array([] if count is None else [count]))
            stands = weighted_sum(seen, np.ones(len(seen)), ONE_CELL, sampled)
            low, high = (None, None) if count is None else (count - reach, count + reach)
            yield TopItem(
                rank=rank, item=item, estimate=stands.value, estimate_low=low, estimate_high=high,
                covers=NOISE, median=None, chance_in_top=None, count=count,
                noise_std=None if count is None else std, low=low, high=high,
                standard_error=stands.standard_error, floor=floor,
                above_floor=count is not None and count > floor,
            )  # fmt: skip


_LIFTS = (
    "Lift: how many times as often both are used by one user as the popularity of each, and how "
    "much users have, would explain. Special: the probability that it is above 1. Only the "
    f"{AMONG} items with the largest estimates are looked at, as far as they are told apart from "
    "noise, and chance alone does not decide their share."
)


def _beside(
    view: ReleaseView, like: object, k: int, without: Ints, *, by: str, raw: bool
) -> Recommendations:
    """The k items that most go together with one: by count, or by lift."""
    item, table = item_axis(view), view.published.table("pairs")
    (place,) = places_of_items(item, [like]).tolist()
    if table is None:
        raise UsageError(
            "this release has no pairs of items, from which it could tell what is used together. "
            "One of `crowdtally release … --pairs --method sra:max-records=10` has them."
        )
    found = Partners.of(view, table, place)
    left = np.ones(len(item), dtype=np.bool_)
    left[without] = False
    left[place] = False
    k = min(k, int(left.sum()))
    if by != POPULAR:
        return _by_lift(found, k, np.flatnonzero(~left))
    rows = found.largest_noisy(k, left) if raw else found.largest(k, left)
    return recommendations(found.listed(rows, k, raw=raw), POPULAR)


def _by_lift(found: Partners, k: int, without: Ints) -> Recommendations:
    of_items = found.view.items
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
    scale, common = _expected(found, of_items)
    values, deviation = _counts(found, places)
    expected = np.maximum(scale * own.mean[places], 1e-9)
    told = are_told(values, deviation, expected)
    places = places[told]
    seen = Seen(
        values[told], deviation[told], expected[told], relative[places],
        hypot(common, float(relative[found.place])),
    )  # fmt: skip
    lifted = Lifted(places, found_lifts(seen))
    wanted, chances = lifted.best(k, without)
    listed = found.listed(found.at(places[wanted], np.zeros(len(own))), k)
    return with_lifts(lifted, wanted, chances, listed, (_LIFTS if len(places) else NOT_KNOWN,))


def _counts(found: Partners, places: Ints) -> tuple[Floats, Floats]:
    """Noisy counts of pairs and their deviations; where cells were left out, estimates instead."""
    if found.table.summary is not None:
        own = found.believed
        return own.mean[places], np.maximum(own.own[places], 1e-9)
    noisy = np.zeros(len(found.believed))
    noisy[found.places] = found.counts
    return noisy[places], np.full(len(places), max(found.table.law.std(), 1e-9))


def _expected(found: Partners, of_items: OfItems) -> tuple[float, float]:
    """Pairs to expect for each time that a partner counts, and how uncertain that is, relatively.

    Where items go together by chance, and users have unlike numbers of them, Σ_u m_u(m_u−1) = 2P
    ordered pairs fall on two items by their shares: c_ij = 2P·(c_i/C)·(c_j/C). That is the usual
    lift c_ij·N/(c_i·c_j) with N = C²/2P: as many users as make the mean lift 1.
    """
    every = sum_over(found.view, Stated(True, frozenset(found.table.axes)))
    error = max(every.standard_error or 0.0, 1e-9)
    pairs = max(float(every.value or 0.0), 0.2 * error)
    overall = max(float(of_items.believed.mean.sum()), 1e-9)
    scale = 2 * pairs * float(of_items.believed.mean[found.place]) / overall**2
    return scale, hypot(error / pairs, 2 * of_items.every.error / overall)


_SHOWN = 4
"""Values of one context that are named in words."""


def recommend(
    view: ReleaseView,
    k: object,
    by: str,
    contexts: Mapping[str, object],
    *,
    without: object,
    like: object,
    raw: bool,
) -> Recommendations:
    """The k best items where the contexts have these values, or beside an item."""
    k = how_many(k)
    if by not in (POPULAR, SPECIAL):
        suggestion = did_you_mean(str(by), (POPULAR, SPECIAL))
        raise UsageError(f"a list goes by what is popular or special, not {by!r}. {suggestion}")
    if by == SPECIAL and raw:
        raise UsageError(
            "what is special follows from estimates: leave out --raw (in Python raw=True), or ask "
            "--by popular."
        )
    left_out = np.unique(places_of_items(item_axis(view), several(without)))
    if like is not None:
        if contexts:
            raise UsageError(
                "pairs of items are not counted in contexts: ask --like ITEM without --context (in "
                "Python item=… alone)."
            )
        found = _beside(view, like, k, left_out, by=by, raw=raw)
        return replace(found, where=f"beside {value_words(like)}")
    box = chosen_contexts(view, contexts)
    if by == SPECIAL:
        found = special(view, k, box, left_out)
    else:
        found = recommendations(top_in(view, k, box, raw=raw, without=left_out), POPULAR)
    return replace(found, where=_words(view, box))


def _words(axes: Axes, box: Mapping[str, Mask]) -> str:
    """Where a list holds: ``in day = Saturday or Sunday``."""
    parts = []
    for name, mask in box.items():
        values = axes.contexts[name].axis.values[mask].tolist()
        named = " or ".join(map(value_words, values[:_SHOWN]))
        more = f" or {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
        parts.append(f"{value_words(name)} = {named}{more}")
    return f"in {', '.join(parts)}" if parts else ""
