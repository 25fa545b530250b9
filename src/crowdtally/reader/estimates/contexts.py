"""Items in contexts of a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from crowdtally.core.profile import BETA, FINE, WEIGHT, Profile
from crowdtally.format import Published
from crowdtally.format.manifest import TableFacts
from crowdtally.inference.contexts import (
    UNMEASURED,
    ContextEstimates,
    ContextFacts,
    estimate_contexts,
)
from crowdtally.inference.lifts import Head, Rows, common_of
from crowdtally.inference.rows import read_sizes
from crowdtally.inference.stopping import squares_of
from crowdtally.inference.tastes import Tastes
from crowdtally.laws.base import NoiseLaw
from crowdtally.reader.axes import Axes, AxisLookup
from crowdtally.reader.estimates.cell_sums import Believed, Floats, Ints, Mask, deviations
from crowdtally.reader.estimates.facts import counts, found_alike, places

# Estimates of items in contexts, from what ``auto`` measured of contexts.

_TOO_FEW = "Each context has the overall ranking: too few people per context."
_OTHER_AIM = (
    "Each context has the overall ranking: the release was made for something else. One with --for "
    "recommend measures what is popular in each context, where there are enough people."
)
_ALIKE = "Each context has the overall ranking: no difference between contexts is above the noise."
_KIND = (
    "Items that were not measured in each context are ranked there by what the users there like: "
    "by their kind."
)
_ONLY_HEAD = "Items that were not measured in each context have the overall ranking there."

_ASSUMED = (
    f"Intervals there assume, unmeasured, that an item's share of a context is typically within "
    f"{UNMEASURED:.0%} of its overall share."
)


@dataclass(frozen=True, eq=False)
class AutoContexts:
    """What is believed of items in contexts."""

    items: Believed
    """Of items overall."""
    found: ContextEstimates
    """Of items in contexts."""
    recommends: bool
    """Whether the release is for what to recommend in each context."""
    alike: bool
    """Whether a first look found that contexts hardly differ."""

    @property
    def assumes(self) -> bool:
        """Whether intervals rest on how far items usually differ between contexts."""
        return self.found.measured is None

    @property
    def remark(self) -> str:
        """What must be said beside every list of one context."""
        return f"{self._ranking} {_ASSUMED}" if self.assumes else self._ranking

    @property
    def _ranking(self) -> str:
        if not self.found.same_ranking:
            return _ONLY_HEAD if self.found.tastes is None else _KIND
        if self.alike:
            return _ALIKE
        return _TOO_FEW if self.recommends else _OTHER_AIM

    def shares_error(self, mask: Mask) -> float:
        """How uncertain the share of some contexts is, as a part of all records."""
        facts = self.found.facts
        return float(np.sqrt((facts.shares**2 * facts.shares_variance)[mask].sum()))

    def column(self, mask: Mask, level: Fraction) -> Believed:
        """Of every item, summed over the contexts of a mask."""
        items = self.items
        if mask.all():
            return items
        some = np.maximum(items.mean, 1e-300)
        relative = items.deviation / some
        mean, beyond = np.zeros(len(items)), np.zeros(len(items))
        for context in np.flatnonzero(mask).tolist():
            cells = self.found.column(context)
            mean += cells.mean
            beyond += np.maximum(cells.deviation**2 - (cells.mean * relative) ** 2, 0.0)
        share, more = mean / some, deviations(level) ** 2 * beyond
        low = mean - np.sqrt((mean - share * items.low) ** 2 + more)
        high = mean + np.sqrt((share * items.high - mean) ** 2 + more)
        return Believed(
            mean,
            share * items.median,
            np.maximum(low, 0.0),
            np.maximum(high, mean),
            np.sqrt((share * items.deviation) ** 2 + beyond),
            np.sqrt((share * items.own) ** 2 + beyond),
        )


def auto_contexts(axes: Axes, items: Believed) -> AutoContexts | None:
    """The estimates of a release of ``auto`` that has contexts; None for any other."""
    published = axes.published
    auto, totals = published.auto, published.table("contexts")
    sizes, base = published.table("sizes"), published.table("items")
    if auto is None or totals is None or sizes is None or base is None:
        return None
    lists, alike = axes.of(base), found_alike(auto)
    head = None if alike else _cells(published, "split_head", lists)
    rows = None if alike else _cells(published, "head_rows", lists)
    facts = ContextFacts(
        counts(published, totals),
        totals.law.std(),
        read_sizes(counts(published, sizes), sizes.law.std()).users,
        auto.repeats,
        None if head is None else Head(*head[:2], head[2].std(), common_of(head[2])),
        None if alike else _tastes(published),
        None if rows is None else Rows(*rows[:2], rows[2].std(), squares_of(rows[2])),
    )
    return AutoContexts(items, estimate_contexts(items, facts), auto.purpose == "recommend", alike)


def _tastes(published: Published) -> Tastes | None:
    table = _finest(published, "tastes")
    return None if table is None else tastes_of(table.more, counts(published, table), table.law)


def tastes_of(facts: Mapping[str, Any], noisy: Floats, law: NoiseLaw) -> Tastes:
    """What users of each context like; the last row of the table is what every user adds."""
    profile = Profile.from_dict(facts)
    values = noisy.reshape(profile.size + 1, -1)
    return Tastes(
        profile.shares, values[:-1], values[-1], profile.means / FINE, profile.weights / WEIGHT,
        BETA / WEIGHT, law.std(), squares_of(law),
    )  # fmt: skip


def _finest(published: Published, name: str) -> TableFacts | None:
    """A table; where its noise was refined, the finer one: beside it the first says nothing."""
    return published.table(f"{name}_again") or published.table(name)


def _cells(
    published: Published, name: str, lists: Sequence[AxisLookup]
) -> tuple[Ints, Floats, NoiseLaw] | None:
    """Items, their values in each context, and the law of their noise."""
    table = _finest(published, name)
    if table is None:
        return None
    where = places(published, table, lists)
    chosen = where[np.sort(np.unique(where, return_index=True)[1])]
    return chosen, counts(published, table).reshape(len(chosen), -1), table.law


# Counts of items in contexts, from noisy ones of the same records: shrunk towards the expected.
#
# Without anything of its own an item is spread over contexts like the large items: e = c·share.
# How far noisy counts scatter around that beyond their noise says how much of the difference to
# believe: in bins of similar e, the factor t²/(t² + v), t² the mean squared difference less the
# noise v.

_BINS = 40
_LEAST = 50
"""Cells of a bin, at least: fewer say too little about how they scatter."""
_HEAD = 0.5
"""The share of the estimated mass whose items say how all are spread over contexts."""


@dataclass(frozen=True, eq=False)
class InContexts:
    """Estimates of items (rows) in contexts (columns)."""

    mean: Floats
    """Each row adds up to the item's estimate."""
    variance: Floats
    """Of each cell by itself."""

    def column(self, contexts: Mask, level: Fraction) -> Believed:
        """The sum over some contexts, of which a mask tells."""
        picked = _run(np.flatnonzero(contexts))
        mean = self.mean[:, picked].sum(axis=1)
        own = np.sqrt(self.variance[:, picked].sum(axis=1))
        reach = deviations(level) * own
        return Believed(mean, mean, np.maximum(mean - reach, 0.0), mean + reach, own, own)

    def of_all(self, contexts: Mask) -> tuple[float, float]:
        """The mean and the variance of the sum of all items in some contexts."""
        means, variances = self._sums
        return float(means[contexts].sum()), float(variances[contexts].sum())

    @cached_property
    def _sums(self) -> tuple[Floats, Floats]:
        """Over all items, in each context: most questions for sums name contexts alone."""
        return self.mean.sum(axis=0), self.variance.sum(axis=0)


def shrink(items: Believed, noisy: Floats, variance: float) -> InContexts:
    """Estimates of all cells.

    Args:
        items: the items' own estimates.
        noisy: (items, contexts) noisy counts without bias.
        variance: of the noise of each.
    """
    shares = _shares(items.mean, noisy)
    expected = items.mean[:, None] * shares
    difference = noisy - expected
    factors = _factors(expected, difference, variance)
    found = np.maximum(expected + factors * difference, 0.0)
    sums = found.sum(axis=1, keepdims=True)
    scaled = np.where(sums > 0, found * items.mean[:, None] / np.maximum(sums, 1e-300), expected)
    of_items = (1 - factors) * shares * items.deviation[:, None]
    # Column by column, because each question adds up some of them.
    own = np.asfortranarray(factors * variance + of_items**2)
    return InContexts(np.asfortranarray(scaled), own)


def _run(places: Ints) -> Ints | slice:
    """Places that follow each other as a slice, of which no copy is made."""
    if len(places) and places[-1] - places[0] == len(places) - 1:
        return slice(int(places[0]), int(places[-1]) + 1)
    return places


def _shares(items: Floats, noisy: Floats) -> Floats:
    """How the items that hold half of the mass are spread, no context being below 0."""
    order = np.argsort(-items, kind="stable")
    mass = np.cumsum(np.maximum(items[order], 0.0))
    head = order[: int(np.searchsorted(mass, _HEAD * mass[-1])) + 1]
    sums = np.maximum(noisy[head].sum(axis=0), 0.0)
    if sums.sum() <= 0:
        return np.full(noisy.shape[1], 1.0 / noisy.shape[1])
    return np.asarray(sums / sums.sum(), dtype=np.float64)


def _factors(expected: Floats, difference: Floats, variance: float) -> Floats:
    """How much of each difference is believed, from all of similar expectation."""
    if variance <= 0:
        return np.ones_like(expected)
    flat = expected.ravel()
    bins = max(1, min(_BINS, flat.size // _LEAST))
    order = np.argsort(flat, kind="stable")
    number = np.empty(flat.size, dtype=np.int64)
    number[order] = np.arange(flat.size) * bins // flat.size
    squares = np.bincount(number, difference.ravel() ** 2, bins)
    cells = np.maximum(np.bincount(number, minlength=bins), 1)
    beyond = np.maximum(squares / cells - variance, 0.0)
    return np.asarray((beyond / (beyond + variance))[number].reshape(expected.shape))
