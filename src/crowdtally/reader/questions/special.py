"""What is special in some contexts: items whose share there is larger than overall."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import hypot, inf

import numpy as np

from crowdtally.errors import UsageError
from crowdtally.format.manifest import TableFacts
from crowdtally.inference.items import chances_among
from crowdtally.inference.lifts import AMONG, FoundLifts, Seen, found_lifts
from crowdtally.reader.axes import Floats, Ints, Mask
from crowdtally.reader.conditions import Among, Stated, every
from crowdtally.reader.estimates.cell_sums import Believed
from crowdtally.reader.estimates.estimator import OfItems, ReleaseView
from crowdtally.reader.questions.recommendations import (
    SPECIAL,
    Recommendation,
    Recommendations,
    value_words,
)
from crowdtally.reader.questions.sum import sum_over
from crowdtally.reader.questions.top import item_axis, selected_table, top_in
from crowdtally.reader.questions.top_list import NoisyLines, TopList

KNOWN = 2.0
"""An item is known well enough where its estimate is so many times its own deviation."""
NOTHING = "Nothing is special there."
ENOUGH = 5.0
"""A lift is reported where so many are expected, or a count is so many deviations above that:
of fewer, a share is next to nothing or a multiple of itself by chance alone."""
NOT_KNOWN = (
    "Nothing can be said to be special: no item is told apart from noise well enough, or too few "
    "are counted there."
)
_LIFTS = (
    "Lift: how many times as large an item's share is there as overall. Special: the probability "
    f"that it is above 1. Only the {AMONG} items with the largest estimates are looked at, as far "
    "as they are told apart from noise, and chance alone does not decide their share there."
)


@dataclass(frozen=True, eq=False)
class Lifted:
    places: Ints
    lifts: FoundLifts

    def best(self, k: int, without: Ints) -> tuple[Ints, Floats]:
        """Which of these are the k of the largest lifts, and how likely each is one of them."""
        inside = np.flatnonzero(~np.isin(self.places, without))
        mean, deviation = self.lifts.mean[inside], self.lifts.deviation[inside]
        order = np.argsort(-mean, kind="stable")[:k]
        chances = np.clip(chances_among(mean, deviation, min(k, len(inside))), 0.0, 1.0)
        return inside[order], chances[order]


def special(view: ReleaseView, k: int, box: Mapping[str, Mask], without: Ints) -> Recommendations:
    """The k items of the largest lifts where the contexts have these values."""
    found, why = _lifted(_there(view, box))
    wanted, chances = found.best(k, without)
    beside = top_in(view, k, box, only=found.places[wanted])
    return with_lifts(found, wanted, chances, beside, (why or _LIFTS,))


def with_lifts(
    found: Lifted, wanted: Ints, chances: Floats, beside: TopList, remarks: tuple[str, ...]
) -> Recommendations:
    """The list of some items, each with its lift beside what is known of its count."""
    lifts, rows = found.lifts, list[Recommendation]()
    for line, at, chance in zip(beside.rows, wanted.tolist(), chances.tolist(), strict=True):
        lift = float(lifts.mean[at]), float(lifts.low[at]), float(lifts.high[at])
        told = float(lifts.above[at]), chance
        rows.append(Recommendation.of(line, lift, told, rank=len(rows) + 1))
    return replace(recommendations(beside, SPECIAL, remarks), rows=tuple(rows))


def recommendations(beside: TopList, by: str, remarks: tuple[str, ...] = ()) -> Recommendations:
    return Recommendations(
        tuple(map(Recommendation.of, beside.rows)), by, "", beside.counted, beside.floor,
        beside.floor_words, beside.what_counts, beside.estimate_words,
        len(beside) if beside.k is None else beside.k, remarks, item_kind=beside.item_kind,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _There:
    """Where something may be special, in a release that can tell."""

    view: ReleaseView
    of_items: OfItems
    box: Mapping[str, Mask]
    inside: Mask
    """The combinations of contexts that they mean."""


def _there(view: ReleaseView, box: Mapping[str, Mask]) -> _There:
    """Where it is asked; refused where nothing can be special."""
    item_axis(view)
    if not view.contexts:
        raise UsageError(
            "this release has no contexts, so nothing is special in one: ask --by popular."
        )
    if selected_table(view.published) is not None:
        raise UsageError(
            "this release has the top items alone, and nothing tells how popular the others are: "
            "ask --by popular."
        )
    if view.published.domain.is_discovered:
        raise UsageError(
            "this release has the cells alone that enough users have, so that nothing tells an "
            "item's share of all there: ask --by popular."
        )
    if not box:
        named = " ".join(f"--context {value_words(name)}=VALUE" for name in view.contexts)
        raise UsageError(f"special where? Name a context, with {named}; or ask --by popular.")
    inside = view.context_mask(box)
    if inside.all():
        raise UsageError(
            "all values of the context are named, and nothing is special everywhere: name fewer, "
            "or ask --by popular."
        )
    of_items = view.items
    if of_items is None:
        raise UsageError(
            "this release has no estimates of single items, so what is special cannot be told: ask "
            "for the sums of items there, with `crowdtally sum RELEASE --where CONDITION`."
        )
    return _There(view, of_items, box, inside)


def _lifted(there: _There) -> tuple[Lifted, str]:
    """The lifts of all items that are known well enough, and why there are none."""
    view, places = there.view, known_places(there.of_items.believed)
    if view.alike is not None:
        none = np.zeros(0)
        lifted = Lifted(places[:0], FoundLifts(none, none, none, none, none))
        return lifted, f"{NOTHING} {view.alike.remark}"
    if view.cells is not None:
        lifts = view.cells.lifts(places, there.inside)
    else:
        places, seen = _seen(there, places)
        lifts = found_lifts(seen)
    return Lifted(places, lifts), "" if len(places) else NOT_KNOWN


def known_places(believed: Believed) -> Ints:
    """The places of the 200 largest estimates, of those that clearly exceed their own noise."""
    largest = np.argsort(-believed.mean, kind="stable")[:AMONG]
    known = believed.mean[largest] > KNOWN * believed.own[largest]
    return largest[known & (believed.mean[largest] > 0)]


def are_told(values: Floats, deviation: Floats, expected: Floats) -> Mask:
    """Which lifts are reported: not those of counts that chance alone makes none or twice."""
    return np.asarray((expected >= ENOUGH) | (values > expected + ENOUGH * deviation))


def _seen(there: _There, places: Ints) -> tuple[Ints, Seen]:
    """Counts in these contexts beside what the items' shares overall let expect."""
    table = there.view.table([item_axis(there.view).name, *there.box])
    places, values, deviation = _counts(there, table, places)
    total, common = _total_there(there)
    believed = there.of_items.believed
    overall = float(believed.mean.sum())
    expected = np.maximum(believed.mean[places] * total / max(overall, 1e-9), 1e-9)
    told = are_told(values, deviation, expected)
    places, values, deviation = places[told], values[told], deviation[told]
    return places, Seen(
        values,
        deviation,
        expected[told],
        believed.own[places] / believed.mean[places],
        common,
        inf if table.law.drawn_together else float(there.inside.sum()),
        max(1.1 * overall / total, 1.5),
    )


def _counts(there: _There, table: TableFacts, places: Ints) -> tuple[Ints, Floats, Floats]:
    """Noisy counts of items there and the deviations of their noise, of those that have any.

    A table that leaves cells out has those that happened to be large: estimates allow for that.
    """
    if table.summary is not None:
        believed = there.view.in_contexts(there.inside)
        if believed is not None:
            return places, believed.mean[places], np.maximum(believed.own[places], 1e-9)
    item = item_axis(there.view)
    noisy = NoisyLines.of(there.view, table, item, there.box)
    lines = noisy.lines(noisy.named(item.axis.values[places].tolist()))
    kept = item.places_of([line.item for line in lines]) if lines else places[:0]
    values = np.array([line.stands_for for line in lines], dtype=np.float64)
    deviation = np.array([line.standard_error for line in lines], dtype=np.float64)
    return kept, values, np.maximum(deviation, 1e-9)


def _total_there(there: _There) -> tuple[float, float]:
    """The sum of all items there, and how uncertain the shares are that follow, relatively."""
    condition = every([Among(name, mask) for name, mask in there.box.items()])
    found = sum_over(there.view, Stated(condition, frozenset(there.box)))
    value, error = found.value, found.standard_error
    if value is None or error is None:
        value, error = found.estimate, found.estimate_error
    error = max(float(error), 1e-9)
    total = max(float(value), 0.2 * error)
    overall = max(float(there.of_items.believed.mean.sum()), 1e-9)
    return total, hypot(error / total, there.of_items.every.error / overall)
