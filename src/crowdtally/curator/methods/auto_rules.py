"""What ``auto`` decides: shares of the price, paths, bounds. All from released values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, inf, sqrt

import numpy as np

from crowdtally.core.privacy import Epsilon, Price
from crowdtally.curator.bounding.scaling import Aim
from crowdtally.curator.row_questions import Scaled
from crowdtally.inference.facts import Noisy, Path
from crowdtally.inference.posterior import Floats, Ints
from crowdtally.inference.rows import BOUNDS, HIGH, LARGEST_BOUND, RowLengths

# Nothing here can spend too much or count wrongly: these are choices, and whatever they choose,
# the account and the bounds of the questions hold.

WEAK_BOUND = 8
"""θ where the histogram says nothing."""
RICH = 10
"""Users × ε per item from which a look at tastes is paid for."""
KAPPA = 0.55
"""How much more than chance tastes change with the length of a row, where it was not measured."""
_KAPPA_MORE = 1.5
_LEAST_KEPT = 0.08
"""A bound leaves at least this share of the records."""
_RANKS = 600
_SKEW = 0.8
"""The r-th largest item is taken to have a share that falls as r^−0.8."""
_SPARSE, _LEAST_ITEMS = 0.5, 30
"""Users × ε per item below which items are looked at twice; of no fewer items than that."""
_HALF_SEEN = 0.3
"""The second look is at the items that have this share of the records."""
_FOUND = 20
"""So many large items are measured again in the head, and do not choose the bound."""
_HEAD = 16
_CLASS_KEPT = 0.8


SIZES = Fraction(25, 1000)
"""The share of the sizes, on every path."""
PAID_AS = {
    "pilot_short": "pilot", "items_short": "items", "cells": "items", "head_rows": "head",
}  # fmt: skip
"""The share that pays for a table of another name. Two classes of users are paid for once."""

_TASTES = "tells whether users of long rows like other items than users of short ones"
_OF_ITEMS: dict[Path, str] = {
    "short": "all rows are short: a bound loses next to nothing",
    "rich": "very many users: the noise is small, and the bound is high",
    "long": "rows are long: the bound is where noise and what is left out err least",
}
_WHY = {
    "sizes": "how long users' rows are decides the rest",
    "pilot_short": _TASTES,
    "pilot": _TASTES,
    "items_short": "users of short rows, counted whole: at one price, since nobody is in both",
    "total": "how many records there are in all, hardly bounded",
    "edges": "every item in every context",
    "contexts": "how many records each context has",
    "zoom": "few users for so many items: those that seem to have much are looked at again",
    "head": "the largest items, by their distinct users: nobody is bounded",
    "head_rows": "the largest items, in rows that have nothing else",
}


def why(name: str, path: Path) -> str:
    """Why a table is there, in words for the release."""
    return _WHY.get(name) or _OF_ITEMS[path]


def shares_of(
    path: Path, aim: Aim, *, rich: bool = False, zoom: bool = False, head: bool = False,
    contexts: bool = False, cells: bool = False,
) -> dict[str, Fraction]:  # fmt: skip
    """The share of each table, in thousandths of the price that add up to it.

    >>> {name: float(share) for name, share in shares_of(
    ...     "long", "counts", head=True).items()}
    {'sizes': 0.025, 'items': 0.845, 'total': 0.045, 'head': 0.085}
    """
    edges = {"short": 500, "rich": 200, "long": 200 if rich else 80}[path]
    if aim == "recommend" and not zoom:  # so few users show too little of each context
        edges = {"short": 600, "rich": 400, "long": 400}[path]
    wanted = {
        "sizes": (25, True),
        "pilot": (70, rich),
        "items": (0, True),
        "total": (45, path == "long"),
        "edges": (edges, cells),
        "contexts": (30, contexts),
        "zoom": (350, zoom),
        "head": (400 if aim == "top" else 85, path == "long" and head),
    }
    found = {name: share for name, (share, there) in wanted.items() if there}
    found["items"] = 1000 - sum(found.values())
    return {name: Fraction(share, 1000) for name, share in found.items()}


@dataclass(frozen=True)
class Purse:
    """What later tables are paid out of: ε, or ρ of zCDP."""

    left: Price
    ones: bool
    """Whether a user has an item once: then Gaussian noise is smaller."""

    def price(self, share: Fraction) -> Price:
        """What a share of the release costs. It pays for all shares but that of the sizes."""
        return type(self.left)(self.left.value * share / (1 - SIZES))

    @property
    def worth(self) -> float:
        """The ε whose Laplace noise deviates as much as that which all of it buys."""
        value = float(self.left.value / (1 - SIZES))
        return value if isinstance(self.left, Epsilon) else 2 * sqrt(value)

    @property
    def fourth(self) -> int:
        """The variance of a squared noise over the square of its variance: Laplace, or Gauss."""
        return 5 if isinstance(self.left, Epsilon) else 2

    def deviation(self, share: Fraction, bound: float, *, once: bool | None = None) -> float:
        """Of the noise, in records, on rows scaled to a bound."""
        value = float(self.price(share).value)
        if isinstance(self.left, Epsilon):
            return sqrt(2) * bound / value
        once = self.ones if once is None else once
        return sqrt((bound if once else bound**2) / (2 * value))

    def head_variance(self, share: Fraction, size: int) -> float:
        """Of the noise on the distinct users of so many items."""
        value = float(self.price(share).value)
        if isinstance(self.left, Epsilon):
            return (size + 2) * (size + 3) / 6 / value**2
        return size / (2 * value)


@dataclass(frozen=True)
class Ranks:
    """Items by their rank, as their counts are expected to fall."""

    share: Floats
    """Of the records, of the items of each of some ranks."""
    times: Floats
    """For how many ranks it stands."""

    @classmethod
    def of(cls, items: int, *, without: int = 0) -> Ranks:
        """Of the items after the first few; of very many, some ranks stand for their neighbours."""
        first = np.arange(1, min(items, _RANKS) + 1, dtype=np.float64)
        times = np.ones(len(first))
        if items > _RANKS:
            edges = np.unique(np.rint(np.geomspace(_RANKS + 1, items + 1, _RANKS)))
            first = np.append(first, (edges[:-1] + edges[1:] - 1) / 2)
            times = np.append(times, np.diff(edges))
        shares = first**-_SKEW
        shares /= (shares * times).sum()
        return cls(shares[without:], times[without:])

    def noise(self, records: float, deviation: float) -> float:
        """The squared error of so many records, beside what a prior takes off the noise."""
        counts, variance = (self.share * records) ** 2, deviation**2
        return float((self.times * counts * variance / (counts + variance)).sum())

    def bias(self, records: float, relative: float) -> float:
        """The squared error of counts that are off by this relative to themselves."""
        return float((self.times * (relative * records * self.share) ** 2).sum())


@dataclass(frozen=True)
class Bounds:
    """What rows are scaled to."""

    theta: int
    """Of all rows, or of those longer than ``short``."""
    short: int = 0
    """Rows up to this length are counted whole, in a table of their own; 0: there is none."""
    error: float = inf
    """The squared error that is expected."""

    @property
    def short_rows(self) -> Scaled:
        return Scaled(self.short, only_to=self.short)

    def long_rows(self, *, by_norm: bool) -> Scaled:
        """All rows, where there are no two classes."""
        return Scaled(self.theta, above=self.short, by_norm=by_norm)


def best_bounds(
    lengths: RowLengths, ranks: Ranks, deviation: Callable[[float], float], kappa: float, *,
    classes: bool = False, least_kept: float = 0.0,
) -> Bounds:  # fmt: skip
    """The bounds of least expected error: noise grows with them, and what they shift falls.

    Args:
        lengths: of the rows.
        ranks: the items that matter.
        deviation: of the noise at a bound.
        kappa: how far tastes change with the length of a row.
        classes: whether short and long rows may have a table each.
        least_kept: of the records, where any bound leaves so many.
    """

    def error(theta: int, short: int = 0) -> float:
        of_short = lengths.records_up_to(short)
        of_long = lengths.records - of_short
        if short and (of_short <= 0 or of_long <= 0):
            return inf
        kept, shift = lengths.kept(theta, above=short)
        if kept < least_kept:
            return 1e99 * (1 - kept)
        noise = ranks.noise(of_short, deviation(short)) if short else 0.0
        noise += ranks.noise(of_long, deviation(theta) / kept)
        shift = max(shift, 0.5 * (1 - kept)) if short else shift
        return noise + ranks.bias(of_long, kappa * shift)

    first, last = lengths.run
    splits = map(int, HIGH[first:last]) if classes else ()
    pairs = [(theta, short) for short in (0, *splits) for theta in lengths.bounds if theta > short]
    return min((Bounds(*pair, error(*pair)) for pair in pairs), key=lambda found: found.error)


def of_the_pilot(lengths: RowLengths) -> Bounds:
    """The two classes of the pilot: each has about half of the records."""
    share = np.cumsum(lengths.users_in * lengths.mean_row) / lengths.records
    first, last = lengths.run
    place = min(max(int(np.searchsorted(share, 0.5)), first), last - 1)
    short = int(HIGH[place])
    longer = [bound for bound in lengths.bounds if bound > short]
    enough = (bound for bound in longer if lengths.kept(bound, above=short)[0] >= _CLASS_KEPT)
    return Bounds(next(enough, longer[-1]), short)


def measured_kappa(
    lengths: RowLengths, split: int, short: Noisy, long: Noisy, fourth: int
) -> float | None:
    """How far users of long rows like other items; None where noise hides it.

    The items at the top of a noisy list are left out: they are there because of their noise.

    Args:
        lengths: of the rows.
        split: the longest of the short rows.
        short: their counts.
        long: those of the long rows.
        fourth: the variance of a squared noise over the square of its variance.
    """
    sums = max(float(short.values.sum()), 1.0), max(float(long.values.sum()), 1.0)
    f_short, f_long = short.values / sums[0], long.values / sums[1]
    v_short, v_long = short.std**2 / sums[0] ** 2, long.std**2 / sums[1] ** 2
    part = lengths.records_up_to(split) / lengths.records
    order = np.argsort(-(f_short * v_long + f_long * v_short), kind="stable")
    rest = order[min(_FOUND, len(order) // 4) :]
    noise, every = v_short + v_long, part * f_short + (1 - part) * f_long
    differ = float(((f_long - f_short)[rest] ** 2 - noise).sum())
    mass = float((every[rest] ** 2).sum())
    mass -= len(rest) * (part**2 * v_short + (1 - part) ** 2 * v_long)
    if mass <= 0 or differ <= 4 * noise * sqrt(fourth * len(rest)):
        return None
    return max(_KAPPA_MORE * sqrt(differ / mass), KAPPA)


def zoomed(counts: Floats, least: int) -> Ints:
    """The items that are looked at again, ascending: the fewest that have much of the records."""
    order = np.argsort(-counts, kind="stable")
    mass = np.cumsum(counts[order])
    enough = int(np.searchsorted(mass, _HALF_SEEN * mass[-1])) + 1
    return np.sort(order[: min(max(enough, least), len(counts) // 2)])


def bound_inside(counts: Floats, users: float) -> int:
    """What rows cut to the head are scaled to: half more than their mean, and one.

    No more than any other bound: counting stays within 64 bits, however large the noise was.
    """
    return min(ceil(1.5 * float(counts.sum()) / users + 1), LARGEST_BOUND)


@dataclass(frozen=True)
class Setting:
    """What is known once the sizes are released; the rest is decided by it."""

    items: int
    aim: Aim
    contexts: bool
    cells: bool
    """Whether items are counted in contexts too."""
    listed: bool
    """Whether the items' table is published whole: else no items are measured again."""
    purse: Purse
    lengths: RowLengths

    @property
    def zooms(self) -> bool:
        """Whether there are so few users for so many items that a first look finds few of them."""
        few = self.lengths.users * self.purse.worth < _SPARSE * self.items
        return few and self.listed and self.items >= _LEAST_ITEMS and not self.lengths.by_norm

    @property
    def head(self) -> int:
        """How many items are measured again, where rows are long; 0: none."""
        return min(_HEAD, self.items // 4) if self.listed else 0

    def shares(self, path: Path, *, alone: bool = False) -> dict[str, Fraction]:
        """The share of each table; with ``alone``, as if there were no contexts."""
        return shares_of(
            path, self.aim, rich=self.lengths.rich, zoom=path == "long" and self.zooms,
            head=self.head > 0, contexts=self.contexts and not alone,
            cells=self.cells and not alone,
        )  # fmt: skip

    def prices(self, path: Path) -> dict[str, Price]:
        """The price of each table that comes after the sizes."""
        shares = self.shares(path).items()
        return {name: self.purse.price(share) for name, share in shares if name != "sizes"}

    def bounds(self, path: Path, kappa: float) -> Bounds:
        """What rows are scaled to on a path."""
        lengths, purse, long = self.lengths, self.purse, path == "long"
        share = self.shares(path, alone=True)["items"]
        if lengths.weak or path == "short":
            theta = WEAK_BOUND if lengths.weak else lengths.end
            return Bounds(theta, error=2.0 * self.items * purse.deviation(share, theta) ** 2)
        return best_bounds(
            lengths,
            Ranks.of(self.items, without=min(_FOUND, self.items // 4) if long else 0),
            lambda bound: purse.deviation(share, bound),
            kappa,
            classes=not long and not self.contexts,
            least_kept=_LEAST_KEPT if long else 0.0,
        )

    def bound_of_total(self) -> int:
        """What rows are cut to where all records are counted together."""
        lengths = replace(self.lengths, by_norm=False)
        share = self.shares("long")["total"]

        def relative(bound: int) -> float:
            lost = 0.5 * (1 - lengths.kept(bound)[0])
            noise = self.purse.deviation(share, bound, once=False) / lengths.records
            return noise**2 + lengths.doubt(bound) ** 2 + lost**2

        return int(min(BOUNDS, key=relative))

    def bound_of_contexts(self, theta: int) -> int:
        """What rows are scaled to where a context adds several of their records up."""
        lengths = self.lengths
        return min(theta, ceil(lengths.records / lengths.users)) if lengths.by_norm else theta

    def expected_error(self) -> float:
        """As far as it is known before any look at tastes."""
        return self.bounds("short" if self.lengths.short else "long", KAPPA).error

    def looking_at_tastes(self) -> Setting:
        """The same, where many users pay for a look at tastes; never where only ranks matter."""
        ranked = self.aim != "counts" and self.purse.ones
        users = RICH * self.items / self.purse.worth if self.listed and not ranked else inf
        return replace(self, lengths=replace(self.lengths, rich_from=users))

    def path_without_kappa(self) -> Path:
        """Where a look at tastes found nothing: one more measurement of the head, or none."""
        once, again = self.bounds("rich", KAPPA).error, self.bounds("long", KAPPA).error
        again += min(_FOUND, self.items // 4) * self._head_variance()
        return "rich" if once < again else "long"

    def _head_variance(self) -> float:
        """Of a count in the head; 0 where the list is too short for one."""
        share = self.shares("long").get("head")
        if share is None:
            return 0.0
        if self.purse.ones:
            return self.purse.head_variance(share, self.head)
        of_head = self.lengths.records * Ranks.of(self.items).share[: self.head]
        return self.purse.deviation(share, bound_inside(of_head, self.lengths.users)) ** 2
