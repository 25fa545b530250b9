"""What every transform answers: what is counted instead of cells, and what that costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import Any, ClassVar, Protocol, Self

from crowdtally.core.counts import Counts
from crowdtally.core.domain import Axis
from crowdtally.core.hierarchy import Dyadic
from crowdtally.core.layout import Grid, Layout


class Transform(Protocol):
    """A public linear map from the cells of a table to what is published instead of them.

    Contract: :meth:`apply` turns counts of L1 bound L into counts of L1 bound L·:meth:`factor`, by
    integers only, and draws nothing.
    """

    name: ClassVar[str]
    """What a person types."""
    takes: ClassVar[frozenset[str]]
    """The options of a release that are for it."""
    signed: ClassVar[bool]
    """Whether its counts have both signs, so that one side of them means nothing."""

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """From the options of a release; a UsageError says what is missing."""

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


def fits(transform: Transform, cells: Layout) -> bool:
    """Whether a table can be transformed: it is a grid and has all axes that are made ranges of.

    A table that lacks one, as the items beside their contexts, stays as it is.
    """
    return isinstance(cells, Grid) and set(transform.ordered) <= set(cells.names)


def box_squares(
    axes: Sequence[Axis], query: int, ordered: tuple[str, ...], along: Callable[[int, int], float]
) -> float:
    """Σ weight² of a box of about ``query`` cells that runs along the ordered axes first.

    ``along(length, cells)`` is that of so many neighbouring values of an ordered axis; other axes
    take their values one by one.
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
