"""GS: cells that look alike share one noisy mean (Kellaris & Papadopoulos 2013).

Contract. Relation: all records of one user added or removed. For each table, of its part ε_t of ε:
half pays for rough counts, in which one record of each user counts: they move by at most 1 (by C
where a record counts up to C times), and get discrete Laplace noise of scale 1/(ε_t/2). They order
the cells, and w neighbours in that order make a group. Half pays for the sums of the groups, in
which each user is cut to L records: they move by at most L in L1 all together, and get noise of
scale L/(ε_t/2). Each sum is divided by its own group's size. Public: the lists, L, w, ε.
The proof note is ``gs.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import isqrt
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.counts import Counts
from crowdtally.core.integers import Integers
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.counting.count import Reading
from crowdtally.curator.request.request import Subject
from crowdtally.lab.baselines.base import Bounded, Floats, keyed, laplace_part, noisy
from crowdtally.ledger import Part
from crowdtally.noise.draws import Draws

ROUGH = Fraction(1, 2)
"""The part of a table's ε that pays for the order of its cells."""


@dataclass(frozen=True)
class Pair:
    rough: Counts
    """One record of each user, exact."""
    full: Counts
    """At most L records of each user."""


@dataclass(frozen=True)
class GS(Bounded):
    """Rough counts, groups of cells that they put side by side, noisy sums of the groups."""

    name: ClassVar[str] = "gs"

    sampled: Bounded = field(kw_only=True)
    """The same tables, each user cut to one record."""

    @classmethod
    def of(cls, subject: Subject, limit: int, *, is_uncut: bool = False) -> Self:
        bounded, sampled = Bounded.of(subject, limit), Bounded.of(subject, 1)
        return cls(bounded.request, is_uncut, sampled=sampled)

    def parts(self, epsilon: Epsilon) -> Sequence[Part]:
        """For each table the rough counts and the sums."""
        parts = []
        for full, rough in zip(self.at(epsilon), self.sampled.at(epsilon), strict=True):
            first, second = full.epsilon * ROUGH, full.epsilon * (1 - ROUGH)
            parts.append(laplace_part(f"{full.name} order", first, rough.bound))
            parts.append(laplace_part(f"{full.name} groups", second, full.bound))
        return parts

    def count(self, reading: Reading, seed: int) -> dict[str, Pair]:
        """Both kinds of counts, each with a sampling key of its own."""
        keys = keyed(reading, seed)
        rough, full = self.sampled.counts(keys), self.counts(keys)
        return {name: Pair(rough[name], full[name]) for name in full}

    def estimate(self, counted: Pair, epsilon: Epsilon, draws: Draws) -> Floats:
        """Give every cell the noisy mean of its group."""
        rough, full = counted.rough, counted.full
        ranked = noisy(rough.dense(), rough.l1_bound, epsilon * ROUGH, draws)
        groups = Groups.of(ranked, width(full.l1_bound, full.size))
        sums = groups.sums(full)
        return groups.means(noisy(sums, full.l1_bound, epsilon * (1 - ROUGH), draws))


def width(bound: int, cells: int) -> int:
    """w, from public numbers: √N rounded down, and not more than L.

    A group's mean has noise of scale L/(w·ε): beyond w = L it is less than that of one record. And
    with √N there are as many groups as cells in a group.

    >>> width(2314, 3883), width(10, 3883), width(1, 3883)
    (62, 10, 1)
    """
    return min(bound, isqrt(cells))


@dataclass(frozen=True, eq=False)
class Groups:
    order: NDArray[np.int64]
    """The cells, group after group."""
    starts: NDArray[np.int64]
    """Where in that order each group begins."""

    @classmethod
    def of(cls, ranked: Integers, columns: int) -> Groups:
        """The largest ones first, ties in the order of the list; the last group may be shorter."""
        order = np.argsort(-ranked, kind="stable")
        return cls(order, np.arange(0, len(order), columns))

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.diff(self.starts, append=len(self.order))

    def sums(self, counts: Counts) -> Integers:
        """The sum of each group's counts; a record is in one of them."""
        return np.add.reduceat(counts.dense()[self.order], self.starts)

    def means(self, sums: Integers) -> Floats:
        """For each cell its group's sum over its group's own size."""
        each = sums.astype(np.float64) / self.sizes
        spread = np.empty(len(self.order))
        spread[self.order] = np.repeat(each, self.sizes)
        return spread
