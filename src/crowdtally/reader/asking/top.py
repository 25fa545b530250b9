"""The most popular items of a release, overall or in a context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdtally.errors import UsageError
from crowdtally.format.load import what_counts
from crowdtally.format.manifest import TableFacts
from crowdtally.reader.asking.chosen import chosen_contexts, how_many
from crowdtally.reader.asking.evidence import spoken_for
from crowdtally.reader.asking.floor import floor_of_cells, floor_words
from crowdtally.reader.asking.noisy_lines import NoisyLines
from crowdtally.reader.asking.ranking import Ranked, at_places, by_count, by_estimate, with_crowd
from crowdtally.reader.asking.selected import selected, selected_table
from crowdtally.reader.asking.top_list import TopItem, TopList
from crowdtally.reader.axes import Axes
from crowdtally.reader.estimating.believed import TRUE, Believed, Ints
from crowdtally.reader.estimating.covering import NOISE
from crowdtally.reader.estimating.covering import words as covering_words
from crowdtally.reader.estimating.estimator import Estimator
from crowdtally.reader.lookup import AxisLookup, Mask

_NONE: Ints = np.empty(0, dtype=np.int64)


def top(
    axes: Axes, estimator: Estimator, k: int, context: Mapping[str, object], *, raw: bool = False
) -> TopList:
    """The k items with the largest estimates, overall or where the context has these values.

    A context that is not named is summed over. With ``raw``, noisy counts alone decide.
    """
    wanted = how_many(k)
    return top_in(axes, estimator, wanted, chosen_contexts(axes, context), raw=raw)


def top_in(
    axes: Axes,
    estimator: Estimator,
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
        axes: the release.
        estimator: its estimates.
        k: how many.
        box: which values of contexts.
        raw: whether noisy counts alone decide.
        without: places of items that are left out.
        only: places of the items that make up the list, in this order, instead of the largest.
        chances: whether it is told how likely each item is among the first k, which takes most of
            the time of a long list.
        among: instead of k: how many the first are that chances go by.
    """
    item = item_axis(axes)
    left = len(item) - len(np.unique(without))
    first = min(among or k, left)
    asked = _Asked(axes, estimator, item, min(k, left), box, raw, without, only, chances, first)
    if (selection := selected_table(axes.published)) is not None:
        return _of_selected(asked, selection)
    table = axes.find([item.name, *box])
    if table is None and raw:
        raise UsageError(
            "this release has no noisy counts of items in contexts, only estimates: leave out "
            "--raw (in Python raw=True), or ask without a context."
        )
    if table is None and estimator.contexts is None:
        table = axes.table([item.name, *box])  # which says what is wrong
    return _of_table(asked, table)


def item_axis(axes: Axes) -> AxisLookup:
    """The list of items; a table of attributes has none."""
    if not axes.published.domain.has_items:
        raise UsageError(
            "this release is a table of attributes: it has no items. Ask for sums, with "
            "`crowdtally sum RELEASE --where CONDITION`."
        )
    return next(iter(axes.by_name.values()))


@dataclass(frozen=True, eq=False)
class _Asked:
    """A question for a list."""

    axes: Axes
    estimator: Estimator
    item: AxisLookup
    k: int
    box: Mapping[str, Mask]
    raw: bool
    without: Ints
    only: Ints | None
    tells_chances: bool
    first: int
    """How many the first are that chances go by."""

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
    """What is believed of the lines of a list."""

    of: Believed
    """Each line has its place in it."""
    covers: str
    """What intervals cover."""
    chances: Sequence[float | None]
    """How likely each place is among the first k."""
    in_order: bool
    """Whether noisy counts have the same order."""


def _of_table(asked: _Asked, table: TableFacts | None) -> TopList:
    """From a table of all items, or from estimates where no table has just this."""
    axes, estimator, item = asked.axes, asked.estimator, asked.item
    noisy = None if table is None else NoisyLines.of(axes, table, item, asked.box)
    crowd = None if asked.box else estimator.crowd
    beliefs = None if asked.raw else _beliefs(asked)
    k = asked.looked_at
    if asked.only is not None:
        lines = at_places(asked.only, item, noisy, every=beliefs is not None)
    elif beliefs is not None:
        lines = by_estimate(k, item, beliefs.of, noisy, in_order=beliefs.in_order)
        lines = with_crowd(lines, crowd)
    else:
        lines = [] if noisy is None else by_count(k, item, noisy, crowd)
    lines = asked.left(lines)
    known = table or axes.table([item.name])
    return _answer(asked, known, lines, beliefs, None if noisy is None else noisy.floor)


def _of_selected(asked: _Asked, table: TableFacts) -> TopList:
    """From the table of selected items, which is all that there is."""
    found = selected(asked.axes, table, asked.looked_at, asked.box)
    beliefs = _Beliefs(found.believed, TRUE, [None] * len(found.lines), in_order=True)
    floor = floor_of_cells(table, found.measured)
    known = None if asked.raw else beliefs
    return _answer(asked, table, asked.left(found.lines), known, floor, ranked=found.measured)


def _beliefs(asked: _Asked) -> _Beliefs | None:
    """What is believed of every item; None where there are no estimates."""
    estimator, of_items = asked.estimator, asked.estimator.items
    if of_items is None:
        return None
    believed: Believed | None = of_items.believed
    if asked.box:
        believed = estimator.in_contexts(estimator.context_mask(asked.box))
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
    """The list, and what must be said beside it."""
    published, estimator = asked.axes.published, asked.estimator
    covers = NOISE if beliefs is None else beliefs.covers
    words = covering_words(published, table, covers, measured=estimator.knows_sizes)
    if asked.box and beliefs is not None and estimator.contexts is not None:
        words = f"{words} {estimator.contexts.remark}"
    ranked = len(asked.item) if ranked is None else ranked
    tells = [False] * len(lines)  # whether a low end above 0 says that somebody is counted
    if beliefs is not None and not beliefs.in_order:
        tells = spoken_for(asked.axes, estimator, [line.place for line in lines]).tolist()
    return TopList(
        tuple(
            _line(rank, line, beliefs, floor, told)
            for rank, (line, told) in enumerate(zip(lines, tells, strict=True), start=1)
        ),
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
