"""Which items a top list has, largest estimate first, and what is believed of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdtally.inference.items import kth_largest
from crowdtally.laws.base import as_counts
from crowdtally.reader import tables
from crowdtally.reader.asking.noisy_lines import MOST, NoisyLine, NoisyLines
from crowdtally.reader.estimating.believed import Believed, Floats, Ints
from crowdtally.reader.estimating.estimator import Crowd
from crowdtally.reader.lookup import AxisLookup


@dataclass(frozen=True)
class Ranked:
    """One item of a list."""

    place: int
    """In the public list."""
    item: str | int
    """The item."""
    noisy: NoisyLine | None
    """What was released about it; None where that is not one count."""


def by_estimate(
    k: int, item: AxisLookup, believed: Believed, noisy: NoisyLines | None, *, in_order: bool
) -> list[Ranked]:
    """The k items of the largest estimates.

    Args:
        k: how many.
        item: the items' list.
        believed: of every item.
        noisy: the question to the table that has noisy counts of just this; None without one.
        in_order: whether noisy counts have the order of the estimates.
    """
    if noisy is None:
        return [Ranked(place, value, None) for place, value in _largest(k, item, believed.mean)]
    if noisy.table.summary is not None and not in_order:
        return _published(k, item, believed.mean, noisy)
    if in_order:
        lines = noisy.lines(noisy.largest(k))
        found = _places([line.item for line in lines], item, noisy)
    else:
        chosen = _largest(k, item, believed.mean)
        lines = noisy.lines(noisy.named([value for _, value in chosen]))
        found = [place for place, _ in chosen]
    pairs = zip(found, lines, strict=True)
    return [Ranked(place, line.item, line) for place, line in pairs]


def at_places(
    places: Ints, item: AxisLookup, noisy: NoisyLines | None, *, every: bool
) -> list[Ranked]:
    """The items at these places, in this order; unless ``every``, those that were published."""
    values = item.axis.values[places].tolist()
    lines = [] if noisy is None else noisy.lines(noisy.named(values))
    known = {line.item: line for line in lines}
    pairs = zip(places.tolist(), values, strict=True)
    found = [Ranked(place, value, known.get(value)) for place, value in pairs]
    return [line for line in found if every or line.noisy is not None]


def by_count(k: int, item: AxisLookup, noisy: NoisyLines, crowd: Crowd | None) -> list[Ranked]:
    """The k items of the largest noisy counts; the crowd's are those that were measured."""
    if crowd is None:
        return [Ranked(-1, line.item, line) for line in noisy.lines(noisy.largest(k))]
    lines = noisy.lines(noisy.largest(k + len(crowd.counts)))
    found = {line.item for line in lines}
    members = item.axis.values[sorted(crowd.counts)].tolist()
    lines += noisy.lines(noisy.named([one for one in members if one not in found]))
    places = item.places_of([line.item for line in lines]).tolist()
    pairs = zip(places, lines, strict=True)
    ranked = with_crowd([Ranked(place, line.item, line) for place, line in pairs], crowd)
    ranked.sort(key=lambda one: -one.noisy.count if one.noisy is not None else 0.0)
    return ranked[:k]


def with_crowd(lines: Sequence[Ranked], crowd: Crowd | None) -> list[Ranked]:
    """The same lines with the noisy counts of the crowd, which the items' table leaves out."""
    if crowd is None:
        return list(lines)
    law, level = crowd.law, crowd.level
    std, reach = law.std(), float(as_counts(law.half_width(level), law.unit))
    found = []
    for line in lines:
        count = crowd.counts.get(line.place)
        if count is not None and line.noisy is not None:
            noisy = NoisyLine(line.item, count, std, count - reach, count + reach, count, std)
            line = Ranked(line.place, line.item, noisy)
        found.append(line)
    return found


def _largest(k: int, item: AxisLookup, mean: Floats) -> list[tuple[int, Any]]:
    """Places and values of the k items of the largest means; ties in the order of the list."""
    some: Ints = np.arange(len(mean))
    if k < len(mean):
        least = kth_largest(mean, k)
        some = np.flatnonzero(mean >= least)
    order = some[np.argsort(-mean[some], kind="stable")][: min(k, len(mean))]
    values = item.axis.values[order].tolist()
    return list(zip(order.tolist(), values, strict=True))


def _published(k: int, item: AxisLookup, mean: Floats, noisy: NoisyLines) -> list[Ranked]:
    """The same among the items that a summary has, equal ones in the order of their counts."""
    if noisy.once:
        names, counts = (tables.column(noisy.path, one) for one in (noisy.column, "count"))
        places = item.places_of(names)
        order = np.lexsort((places, -counts.astype(np.float64), -mean[places]))[:k]
        names, places = names[order], places[order]
        lines = noisy.lines(noisy.named(names.tolist()))
    else:
        found = noisy.largest(MOST)
        places = item.places_of([one[0] for one in found])
        order = np.argsort(-mean[places], kind="stable")[:k]
        lines, places = noisy.lines([found[n] for n in order.tolist()]), places[order]
    pairs = zip(places.tolist(), lines, strict=True)
    return [Ranked(place, line.item, line) for place, line in pairs]


def _places(names: list[Any], item: AxisLookup, noisy: NoisyLines) -> list[int]:
    """The places of some items; of a table that lists all, without reading the whole list."""
    if noisy.once and noisy.table.is_dense and len(names) <= tables.FEW:
        return tables.row_numbers(noisy.path, noisy.column, names)
    return [int(place) for place in item.places_of(names)]
