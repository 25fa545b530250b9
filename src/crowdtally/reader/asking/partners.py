"""One item together with every other: what the table of pairs says, and what is believed of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from crowdtally.format.load import what_counts
from crowdtally.format.manifest import TableFacts
from crowdtally.inference.facts import ItemFacts, Noisy, Summary
from crowdtally.inference.items import estimate_items
from crowdtally.laws.base import ONE_CELL, as_counts
from crowdtally.reader import tables
from crowdtally.reader.asking.answering import in_units
from crowdtally.reader.asking.floor import floor_of_cells, floor_words
from crowdtally.reader.asking.top import item_axis
from crowdtally.reader.asking.top_list import TopItem, TopList
from crowdtally.reader.axes import Axes
from crowdtally.reader.estimating.believed import BOUNDED, TRUE, Believed, Floats, Ints, Mask
from crowdtally.reader.estimating.covering import NOISE, is_bounded
from crowdtally.reader.estimating.covering import words as covering_words
from crowdtally.reader.estimating.estimator import LEVEL
from crowdtally.reader.estimating.sampled import Sampled, weighted_sum


@dataclass(frozen=True, eq=False)
class Partners:
    """What a release says of one item together with every other."""

    axes: Axes
    """The release."""
    table: TableFacts
    """Its table of pairs."""
    place: int
    """The item's place in the list."""
    places: Ints
    """Of the partners that were published, in the order of the list."""
    counts: Floats
    """Their noisy counts."""
    believed: Believed
    """Of every item of the list; the item itself is never with itself."""

    @classmethod
    def of(cls, axes: Axes, table: TableFacts, place: int) -> Partners:
        """The partners of the item at a place."""
        item, path = item_axis(axes), axes.published.path(table)
        (value,) = item.axis.values[place : place + 1].tolist()
        names, counts = tables.partners(path, table.axes, value)
        where = item.places_of(names) if len(names) else np.empty(0, dtype=np.int64)
        order = np.argsort(where)
        where, values = where[order], counts[order].astype(np.float64)
        if table.summary is None:
            facts = ItemFacts(len(item) - 1, Noisy(values, table.law))
        else:
            kept = Summary(where - (where > place), values, table.law, table.summary.keeping)
            facts = ItemFacts(len(item) - 1, summary=kept)
        made = estimate_items(facts, LEVEL)
        parts = (made.mean, made.median, made.low, made.high, made.deviation, made.own)
        believed = Believed(*(np.insert(part, place, 0.0) for part in parts))
        return cls(axes, table, place, where, values, believed)

    def largest(self, k: int, left: Mask) -> list[TopItem]:
        """The k largest estimates of those in ``left``.

        Equal ones go by their noisy counts, then by the order of the list.
        """
        of, places = self.believed, np.flatnonzero(left)
        noisy = np.full(len(left), -np.inf)
        noisy[self.places] = self.counts
        chances = np.zeros(len(left))
        chances[places] = Believed(*(part[places] for part in of.parts())).chance_among(k)
        order = places[np.lexsort((places, -noisy[places], -of.mean[places]))][:k]
        return self.at(order, chances)

    def at(self, places: Ints, chances: Floats) -> list[TopItem]:
        """The lines of some partners, in this order."""
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
        """The k largest noisy counts of those in ``left``, by what they stand for."""
        inside = np.flatnonzero(left[self.places])
        stands_for = Sampled.of(self.table).adjusted(in_units(self.table, self.counts[inside]))
        order = inside[np.lexsort((inside, -self.counts[inside], -stands_for))][:k]
        return list(self._lines(self.places[order]))

    def listed(self, rows: Iterable[TopItem], k: int, *, raw: bool = False) -> TopList:
        """The lines, and what must be said beside them."""
        published, table, others = self.axes.published, self.table, len(self.believed) - 1
        return TopList(
            tuple(rows), table.kind.counts(published.counted), self.floor, others,
            floor_words(table, others, self.floor), what_counts(published, table).sentence(),
            covering_words(published, table, NOISE if raw else self.covers), k,
            item_kind=published.domain.lists[0].kind,
        )  # fmt: skip

    @property
    def covers(self) -> str:
        """What the intervals of estimates cover."""
        return BOUNDED if is_bounded(self.axes.published) else TRUE

    @cached_property
    def floor(self) -> float:
        """What the largest noisy count rarely exceeds where nobody is counted."""
        return floor_of_cells(self.table, len(self.believed) - 1)

    def _lines(self, places: Ints) -> Iterable[TopItem]:
        """Lines by noisy counts alone; 0 stands for one that was not published."""
        law, sampled = self.table.law, Sampled.of(self.table)
        reach = float(as_counts(law.half_width(self.table.interval_level), law.unit))
        std, floor = law.std(), self.floor
        noisy = dict(zip(self.places.tolist(), self.counts.tolist(), strict=True))
        values = item_axis(self.axes).axis.values[places].tolist()
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
