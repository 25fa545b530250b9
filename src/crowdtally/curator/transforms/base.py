"""What every transform answers; no transform, and the count sketch."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from crowdtally.core.counts import Counts
from crowdtally.core.domain import Axis
from crowdtally.core.hierarchy import Dyadic, Sketching
from crowdtally.core.integers import group_equal, integers
from crowdtally.core.layout import Buckets, Grid, Layout
from crowdtally.core.numbers import whole_number
from crowdtally.core.values import value
from crowdtally.errors import UsageError


class Transform(Protocol):
    """A public linear map from the cells of a table to what is published instead of them.

    Contract: :meth:`apply` turns counts of L1 bound L into counts of L1 bound L·:meth:`factor`, by
    integers only, and draws nothing.
    """

    name: ClassVar[str]
    """What ``release.json`` calls it."""
    signed: ClassVar[bool]
    """Whether its counts have both signs, so that one side of them means nothing."""

    def for_table(self) -> Self:
        """The same for one more table: chance of its own, such as a seed, is drawn anew."""

    @property
    def ordered(self) -> tuple[str, ...]:
        """The axes whose ranges it serves."""

    def layout(self, cells: Layout) -> Layout:
        """What is published of a table with these cells."""

    def factor(self, cells: Layout) -> int:
        """In how many of them one record counts."""

    def l2_factor(self, cells: Layout) -> int:
        """The most, squared, that one unit of one cell changes in L2."""

    def apply(self, counts: Counts, cells: Layout) -> Counts:
        """Their counts."""

    def tree(self, cells: Layout) -> Dyadic | None:
        """The tree whose nodes they are, if a node's count bounds those below it."""

    def squares(self, cells: Layout, query: int, *, dense: bool) -> float:
        """Σ weight² of what a typical sum over ``query`` cells is made of, for plans.

        Of a dense table readers may weigh all that is published.
        """

    def facts(self) -> dict[str, Any]:
        """What ``release.json`` says about it."""


class Plain:
    """Defaults of our transforms: no chance, no tree, and a record changes each count by 1."""

    def for_table(self) -> Self:
        return self

    def factor(self, cells: Layout) -> int:
        return 1

    def l2_factor(self, cells: Layout) -> int:
        return self.factor(cells)

    def tree(self, cells: Layout) -> Dyadic | None:
        return None


def fits(transform: Transform, cells: Layout) -> bool:
    """Whether the table is a grid with all axes that are made ranges of; else it stays as it is."""
    return isinstance(cells, Grid) and set(transform.ordered) <= set(cells.names)


def box_squares(
    axes: Sequence[Axis], query: int, ordered: tuple[str, ...], along: Callable[[int, int], float]
) -> float:
    """Σ weight² of a box of about ``query`` cells that runs along the ordered axes first.

    ``along(length, cells)`` is that of so many neighbouring values of an ordered axis.
    """
    squares, left = 1.0, query
    for axis in sorted(axes, key=lambda axis: axis.name not in ordered):
        taken = min(left, len(axis))
        squares *= along(len(axis), taken) if axis.name in ordered else taken
        left = ceil(left / taken)
    return squares


def mean_over_starts(length: int, taken: int, squares: Callable[[int, int], float]) -> float:
    """The mean of ``squares(low, high)`` over ranges of ``taken`` values, evenly spread."""
    last = length - taken
    starts = sorted({last * step // 16 for step in range(17)})
    return sum(squares(low, low + taken) for low in starts) / len(starts)


@value
@dataclass(frozen=True)
class Untransformed(Plain):
    """Counts as they are."""

    name: ClassVar[str] = "none"
    signed: ClassVar[bool] = False
    ordered: ClassVar[tuple[str, ...]] = ()

    def layout(self, cells: Layout) -> Layout:
        return cells

    def apply(self, counts: Counts, cells: Layout) -> Counts:
        return counts

    def squares(self, cells: Layout, query: int, *, dense: bool) -> float:
        return float(query)

    def facts(self) -> dict[str, Any]:
        return {"kind": self.name, "ordered": []}


# The count sketch: every cell added, with a public sign, to one public bucket of each row.
#
# Contract. If the table's counts have L1 bound L, the buckets have L·R: a record changes one
# bucket of each of R rows by 1. The hashes are public and were fixed before the records were
# read. Buckets are signed. Nothing is drawn here. The proof is in ``sketch.md``.


@value
@dataclass(frozen=True)
class Sketch(Plain):
    """A count sketch of R rows of B buckets."""

    name: ClassVar[str] = "sketch"
    signed: ClassVar[bool] = True
    ordered: ClassVar[tuple[str, ...]] = ()

    buckets: int
    """How many buckets a row has."""
    rows: int = 5
    """How many rows there are; each counts all cells, by other hashes."""
    seed: int = field(default=0, kw_only=True)
    """Of the hashes: public, and fixed before a count is seen."""

    def __post_init__(self) -> None:
        whole_number(self.buckets, "buckets of Sketch", 1, 2**31)
        whole_number(self.rows, "rows of Sketch", 1, 1000)

    def for_table(self) -> Self:
        return replace(self, seed=secrets.randbits(62))

    def layout(self, cells: Layout) -> Buckets:
        return Buckets(Sketching(cells.size, self.buckets, self.rows, self.seed))

    def factor(self, cells: Layout) -> int:
        return self.rows

    def apply(self, counts: Counts, cells: Layout) -> Counts:
        return sketch_counts(counts, self.layout(cells).sketching)

    def squares(self, cells: Layout, query: int, *, dense: bool) -> float:
        """Each row sums so many buckets, and the rows' mean is taken."""
        return query / self.rows

    def facts(self) -> dict[str, Any]:
        sizes = {"buckets": self.buckets, "rows": self.rows, "seed": self.seed}
        return {"kind": self.name, "ordered": []} | sizes


def sketch_counts(counts: Counts, sketching: Sketching) -> Counts:
    """The buckets that some listed cell falls into; bucket j of row i has number i·B + j."""
    if sketching.cells != counts.size:
        raise UsageError(
            f"the sketch hashes {sketching.cells} cells, and the table has {counts.size}."
        )
    addable, numbers, sums = counts.addable(), [], []
    for row in range(sketching.rows):
        bucket, sign = sketching.places(counts.cells, row)
        found = group_equal(bucket + row * sketching.buckets)
        numbers.append(found.numbers)
        sums.append(found.sums(addable * sign))
    cells, values = np.concatenate(numbers), integers(np.concatenate(sums))
    bound, squared = counts.l1_bound * sketching.rows, counts.l1_bound**2 * sketching.rows
    return Counts(sketching.size, cells, values, bound, counts.unit, signed=True, squared=squared)
