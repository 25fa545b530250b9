"""Dyadic trees over a table's axes: how nodes are numbered, and which nodes make up a range.

An ordered axis of m values is padded, publicly, to 2^k leaves. Its nodes are numbered like a heap,
from the root 0; the children of c are 2c+1 and 2c+2, and the leaf of value i is 2^k − 1 + i. A node
of several axes is one node of each, numbered in mixed radix, the last axis fastest. So a node's
number is always larger than those of its ancestors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from crowdtally.errors import UsageError
from crowdtally.values.whole import is_whole

LARGEST_FACTOR = 10_000
"""Nodes that one record may count in: beyond it noise drowns every count."""


@dataclass(frozen=True)
class DyadicAxis:
    """One axis of a tree.

    >>> axis = DyadicAxis(6)
    >>> axis.levels, axis.nodes, axis.cover(1, 6)
    (3, 15, [8, 4, 5])
    """

    length: int
    """m: how many values it has."""
    ordered: bool = True
    """Whether ranges of it will be asked for; else it has no tree, and its nodes are its values."""

    def __post_init__(self) -> None:
        if not is_whole(self.length) or self.length < 1:
            raise UsageError(f"an axis needs at least one value: received {self.length!r}.")

    @property
    def levels(self) -> int:
        """k: steps from the root to a leaf."""
        return (self.length - 1).bit_length() if self.ordered else 0

    @property
    def leaves(self) -> int:
        """How many there are after padding."""
        return 1 << self.levels if self.ordered else self.length

    @property
    def nodes(self) -> int:
        """How many nodes there are: 2^(k+1) − 1, or the values of an axis without a tree."""
        return 2 * self.leaves - 1 if self.ordered else self.length

    def cover(self, low: int, high: int) -> list[int]:
        """The fewest nodes whose leaves are low..high−1: at most 2k, or 1 where k = 0."""
        if not 0 <= low < high <= self.length:
            raise UsageError(
                f"a range must hold at least one of the {self.length} values of its axis: received "
                f"positions {low} to {high - 1}."
            )
        if not self.ordered:
            return list(range(low, high))
        # Heap numbers from 1, as usual: a left end that is a right child stands alone.
        left, right = low + self.leaves, high + self.leaves
        front, back = [], []
        while left < right:
            if left & 1:
                front.append(left - 1)
                left += 1
            if right & 1:
                right -= 1
                back.append(right - 1)
            left, right = left >> 1, right >> 1
        return front + back[::-1]


@dataclass(frozen=True)
class Dyadic:
    """The tree of a table.

    >>> tree = Dyadic.over([6, 3], ordered=[True, False])
    >>> tree.size, tree.factor, tree.cover([(0, 4), (2, 3)])
    (45, 4, [5])
    """

    axes: tuple[DyadicAxis, ...]
    """Its axes, slowest first."""

    def __post_init__(self) -> None:
        if not any(axis.ordered for axis in self.axes):
            raise UsageError("dyadic ranges need at least one ordered attribute.")
        if self.factor > LARGEST_FACTOR:
            raise UsageError(
                f"a record would count in {self.factor} nodes of this tree, with as many times the "
                f"noise; the most is {LARGEST_FACTOR}: use fewer ordered attributes."
            )

    @classmethod
    def over(cls, lengths: Sequence[int], *, ordered: Sequence[bool] | None = None) -> Dyadic:
        """The tree over axes of these lengths; all are ordered unless said otherwise."""
        which = [True] * len(lengths) if ordered is None else list(ordered)
        pairs = zip(lengths, which, strict=True)
        return cls(tuple(DyadicAxis(length, flag) for length, flag in pairs))

    @property
    def cells(self) -> int:
        """Cells of the table it stands over."""
        return prod(axis.length for axis in self.axes)

    @property
    def size(self) -> int:
        """How many nodes it has."""
        return prod(axis.nodes for axis in self.axes)

    @property
    def factor(self) -> int:
        """In how many nodes one record counts: Π(k_i + 1), the root's and the leaf's level too."""
        return prod(axis.levels + 1 for axis in self.axes)

    def number(self, codes: Sequence[int]) -> int:
        """The number of the node that is node ``codes[i]`` on axis i."""
        number = 0
        for axis, code in zip(self.axes, codes, strict=True):
            number = number * axis.nodes + code
        return number

    def cover(self, ranges: Sequence[tuple[int, int]]) -> list[int]:
        """The nodes that make up a box, ascending; one half-open range of positions per axis."""
        if len(ranges) != len(self.axes):
            raise UsageError(
                f"a box needs one range for each of the {len(self.axes)} axes: received "
                f"{len(ranges)}."
            )
        pairs = zip(self.axes, ranges, strict=True)
        covers = [axis.cover(low, high) for axis, (low, high) in pairs]
        return sorted(self.number(codes) for codes in product(*covers))
