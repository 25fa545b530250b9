"""The most popular items of a release, overall or in a context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdtally.core.layout import HEAD, HEAD_ROWS
from crowdtally.errors import UsageError
from crowdtally.format import Published
from crowdtally.format.load import what_counts
from crowdtally.format.manifest import TableFacts
from crowdtally.inference.items import kth_largest
from crowdtally.inference.mixing import FEW
from crowdtally.inference.posterior import flat_posterior
from crowdtally.laws.base import as_counts
from crowdtally.reader import tables
from crowdtally.reader.axes import Axes, AxisLookup, Floats, Ints, Mask
from crowdtally.reader.estimates.cell_sums import TRUE, Believed
from crowdtally.reader.estimates.estimator import LEVEL, NOISE, ReleaseView
from crowdtally.reader.estimates.estimator import words as covering_words
from crowdtally.reader.estimates.facts import counts, places
from crowdtally.reader.questions.chosen import chosen_contexts, how_many
from crowdtally.reader.questions.noisy_sums import in_units
from crowdtally.reader.questions.top_list import (
    MOST,
    NoisyLine,
    NoisyLines,
    TopItem,
    TopList,
    floor_of_cells,
    floor_words,
)


@dataclass(frozen=True)
class Ranked:
    place: int
    item: str | int
    noisy: NoisyLine | None
    """What was released about it; None where that is not one count."""


def by_estimate(
    k: int, item: AxisLookup, believed: Believed, noisy: NoisyLines | None, *, in_order: bool
) -> list[Ranked]:
    """The k items of the largest estimates.

    ``noisy`` asks a table that counts just this, if there is one; ``in_order``: whether its noisy
    counts have the order of the estimates.
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
    return [Ranked(place, line.item, line) for place, line in zip(found, lines, strict=True)]


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


def by_count(k: int, noisy: NoisyLines) -> list[Ranked]:
    return [Ranked(-1, line.item, line) for line in noisy.lines(noisy.largest(k))]


def _largest(k: int, item: AxisLookup, mean: Floats) -> list[tuple[int, Any]]:
    """Places and values of the k items of the largest means; ties in the order of the list."""
    some: Ints = np.arange(len(mean))
    if k < len(mean):
        some = np.flatnonzero(mean >= kth_largest(mean, k))
    order = some[np.argsort(-mean[some], kind="stable")][: min(k, len(mean))]
    return list(zip(order.tolist(), item.axis.values[order].tolist(), strict=True))


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


# Releases of top items only: they were selected, then measured without bounds.


def selected_table(published: Published) -> TableFacts | None:
    """The table of selected items, where that is all a release has."""
    if any(table.kind.answers for table in published.tables):
        return None
    return published.table("head") or published.table("heads")


@dataclass(frozen=True, eq=False)
class Selected:
    lines: list[Ranked]
    believed: Believed
    measured: int
    """How many items were selected, and measured, where they were asked for."""


def selected(axes: Axes, table: TableFacts, k: int, box: Mapping[str, Mask]) -> Selected:
    """The k largest selected items, of the context that is named where each has its own.

    The noise of what was measured is independent of the selection. So estimates add only a flat
    prior on counts of at least 0, and keep the order of the noisy counts.
    """
    if set(box) != set(axes.contexts):
        named = " ".join(f"--context {name}=VALUE" for name in axes.contexts)
        raise UsageError(
            f"this release has the top items of each context alone: name one, with {named} "
            f"(in Python {', '.join(f'{name}=VALUE' for name in axes.contexts)})."
        )
    several = [name for name, mask in box.items() if mask.sum() > 1]
    if several:
        raise UsageError(
            "this release has the top items of each context alone, which cannot be added up: name "
            f"one value of {several[0]!r}."
        )
    path = axes.published.path(table)
    item = next(iter(axes.by_name.values()))
    names, counts = tables.column(path, item.name), tables.column(path, "count")
    inside = np.ones(len(names), dtype=np.bool_)
    for name, mask in box.items():
        inside &= np.isin(tables.column(path, name), axes.by_name[name].axis.values[mask])
    rows = np.flatnonzero(inside)
    measured, law = len(rows), table.law
    rows = rows[np.argsort(-counts[rows].astype(np.float64), kind="stable")][:k]
    std, reach = law.std(), as_counts(law.half_width(table.interval_level), law.unit)
    found = zip(names[rows].tolist(), counts[rows].tolist(), strict=True)
    lines = [
        Ranked(place, name, NoisyLine(name, count, std, count - reach, count + reach, count, std))
        for place, (name, count) in enumerate(found)
    ]
    return Selected(lines, _believed(table, counts[rows]), measured)


def _believed(table: TableFacts, counts: Floats) -> Believed:
    found = flat_posterior(in_units(table, counts), table.law, LEVEL).times(float(table.law.unit))
    deviation = np.sqrt(found.variance)
    return Believed(found.mean, found.median, found.low, found.high, deviation, deviation)


def spoken_for(view: ReleaseView, where: Sequence[int]) -> Mask:
    """Whether an interval whose low end is above 0 shows that the item was counted at all.

    Under a flat prior, which fewer than 200 items have, every low end is above 0. Then a count of
    the item by itself must be above the noise floor of its table.
    """
    base = view.base
    if base is None or base.cells >= FEW:
        return np.full(len(where), base is not None)
    asked = np.asarray(where, dtype=np.int64)
    found: Mask = view.noisy_at(asked) > floor_of_cells(base, base.cells)
    for kind in (HEAD, HEAD_ROWS):
        table = view.published.table(kind.name)
        if table is not None:
            above = counts(view.published, table) > floor_of_cells(table, table.cells)
            found |= np.isin(asked, places(view.published, table, view.axes_of(base))[above])
    return found


_NONE: Ints = np.empty(0, dtype=np.int64)


def top(view: ReleaseView, k: int, context: Mapping[str, object], *, raw: bool = False) -> TopList:
    """The k items with the largest estimates; contexts that are not named are summed over."""
    return top_in(view, how_many(k), chosen_contexts(view, context), raw=raw)


def top_in(
    view: ReleaseView,
    k: int,
    box: Mapping[str, Mask],
    *,
    raw: bool = False,
    without: Ints = _NONE,
    only: Ints | None = None,
    chances: bool = True,
    among: int | None = None,
) -> TopList:
    """The same in a box of contexts.

    Args:
        view: the release.
        k: how many.
        box: which values of contexts.
        raw: whether noisy counts alone decide.
        without: places of items that are left out.
        only: places of the items of the list, in this order, instead of the largest.
        chances: whether to compute how likely each is among the first k: slow for a long list.
        among: instead of k: among how many first ones.
    """
    item = item_axis(view)
    left = len(item) - len(np.unique(without))
    first = min(among or k, left)
    asked = _Asked(view, item, min(k, left), box, raw, without, only, chances, first)
    if (selection := selected_table(view.published)) is not None:
        return _of_selected(asked, selection)
    table = view.find([item.name, *box])
    if table is None and raw:
        raise UsageError(
            "this release has no noisy counts of items in contexts, only estimates: leave out "
            "--raw (in Python raw=True), or ask without a context."
        )
    if table is None and view.alike is None:
        table = view.table([item.name, *box])  # which says what is wrong
    return _of_table(asked, table)


def item_axis(axes: Axes) -> AxisLookup:
    if not axes.published.domain.has_items:
        raise UsageError(
            "this release is a table of attributes: it has no items. Ask for sums, with "
            "`crowdtally sum RELEASE --where CONDITION`."
        )
    return next(iter(axes.by_name.values()))


@dataclass(frozen=True, eq=False)
class _Asked:
    view: ReleaseView
    item: AxisLookup
    k: int
    box: Mapping[str, Mask]
    raw: bool
    without: Ints
    only: Ints | None
    tells_chances: bool
    first: int
    """``chance_in_top`` is that of being among so many."""

    @property
    def looked_at(self) -> int:
        """How many lines may be needed, of which some are left out."""
        return min(self.k + len(self.without), len(self.item))

    def left(self, lines: Sequence[Ranked]) -> list[Ranked]:
        """The first k lines that are not left out."""
        if not len(self.without):
            return list(lines)
        out = set(self.item.axis.values[self.without].tolist())
        return [line for line in lines if line.item not in out][: self.k]

    def chances(self, believed: Believed) -> Sequence[float]:
        """How likely each item is among the first of those that are not left out."""
        if not len(self.without):
            return list(believed.chance_among(self.first).tolist())
        inside = np.ones(len(believed), dtype=np.bool_)
        inside[self.without] = False
        found = np.zeros(len(believed))
        some = Believed(*(part[inside] for part in believed.parts()))
        found[inside] = some.chance_among(self.first)
        return list(found.tolist())


@dataclass(frozen=True, eq=False)
class _Beliefs:
    of: Believed
    """Each line has its place in it."""
    covers: str
    chances: Sequence[float | None]
    """How likely each place is among the first k."""
    in_order: bool


def _of_table(asked: _Asked, table: TableFacts | None) -> TopList:
    """From a table of all items, or from estimates where no table has just this."""
    view, item = asked.view, asked.item
    noisy = None if table is None else NoisyLines.of(view, table, item, asked.box)
    beliefs = None if asked.raw else _beliefs(asked)
    k = asked.looked_at
    if asked.only is not None:
        lines = at_places(asked.only, item, noisy, every=beliefs is not None)
    elif beliefs is not None:
        lines = by_estimate(k, item, beliefs.of, noisy, in_order=beliefs.in_order)
    else:
        lines = [] if noisy is None else by_count(k, noisy)
    lines = asked.left(lines)
    known = table or view.table([item.name])
    return _answer(asked, known, lines, beliefs, None if noisy is None else noisy.floor)


def _of_selected(asked: _Asked, table: TableFacts) -> TopList:
    found = selected(asked.view, table, asked.looked_at, asked.box)
    beliefs = _Beliefs(found.believed, TRUE, [None] * len(found.lines), in_order=True)
    floor = floor_of_cells(table, found.measured)
    known = None if asked.raw else beliefs
    return _answer(asked, table, asked.left(found.lines), known, floor, ranked=found.measured)


def _beliefs(asked: _Asked) -> _Beliefs | None:
    view, of_items = asked.view, asked.view.items
    if of_items is None:
        return None
    believed: Believed | None = of_items.believed
    if asked.box:
        believed = view.in_contexts(view.context_mask(asked.box))
    if believed is None:
        return None
    in_order = of_items.in_order and not asked.box
    told = asked.tells_chances and asked.only is None
    chances = asked.chances(believed) if told else []
    return _Beliefs(believed, of_items.covers, chances or [None] * len(believed), in_order)


def _answer(
    asked: _Asked,
    table: TableFacts,
    lines: Sequence[Ranked],
    beliefs: _Beliefs | None,
    floor: float | None,
    ranked: int | None = None,
) -> TopList:
    view, published = asked.view, asked.view.published
    covers = NOISE if beliefs is None else beliefs.covers
    words = covering_words(published, table, covers)
    if asked.box and beliefs is not None and view.alike is not None:
        words = f"{words} {view.alike.remark}"
    ranked = len(asked.item) if ranked is None else ranked
    tells = [False] * len(lines)  # whether a low end above 0 shows that the item was counted
    if beliefs is not None and not beliefs.in_order:
        tells = spoken_for(view, [line.place for line in lines]).tolist()
    rows = [
        _line(rank, line, beliefs, floor, told)
        for rank, (line, told) in enumerate(zip(lines, tells, strict=True), start=1)
    ]
    return TopList(
        tuple(rows),
        table.kind.counts(published.counted),
        floor,
        ranked,
        "" if floor is None else floor_words(table, ranked, floor),
        what_counts(published, table).sentence(),
        words,
        asked.first,
        item_kind=published.domain.lists[0].kind,
    )


def _line(
    rank: int, line: Ranked, beliefs: _Beliefs | None, floor: float | None, tells: bool
) -> TopItem:
    noisy, place = line.noisy, line.place
    above = noisy is not None and floor is not None and noisy.count > floor
    released: dict[str, Any] = {
        "count": None if noisy is None else noisy.count,
        "noise_std": None if noisy is None else noisy.noise_std,
        "low": None if noisy is None else noisy.low,
        "high": None if noisy is None else noisy.high,
    }
    if beliefs is None:
        if noisy is None:
            raise TypeError("a line without estimates has a noisy count")
        return TopItem(
            rank=rank, item=line.item, estimate=noisy.stands_for, estimate_low=noisy.low,
            estimate_high=noisy.high, covers=NOISE, median=None, chance_in_top=None, **released,
            standard_error=noisy.standard_error, floor=floor, above_floor=above,
        )  # fmt: skip
    of = beliefs.of
    above = above or (tells and bool(of.low[place] > 0))
    return TopItem(
        rank=rank, item=line.item, estimate=float(of.mean[place]),
        estimate_low=float(of.low[place]), estimate_high=float(of.high[place]),
        covers=beliefs.covers, median=float(of.median[place]),
        chance_in_top=beliefs.chances[place], **released,
        standard_error=float(of.deviation[place]), floor=floor, above_floor=above,
    )  # fmt: skip
