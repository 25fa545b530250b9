"""What ``auto`` decided once it knew how long the users' rows are: public, like all it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

from crowdtally.curator.bounding.auto import LARGEST_THETA
from crowdtally.inference.rows import Norm, Sizes, best_theta, power_of


@dataclass(frozen=True)
class Shares:
    """Shares of the total that are set aside after step 1; 0 for a step that does not run."""

    bins: Fraction = Fraction(0)
    """Of the totals of popularity bins."""
    head: Fraction = Fraction(0)
    """Of the head, split by context or not."""
    contexts: Fraction = Fraction(0)
    """Of the totals of contexts."""
    tastes: Fraction = Fraction(0)
    """F: of what users of a context like."""
    head_rows: Fraction = Fraction(0)
    """9R: of the head's items by context."""

    @property
    def total(self) -> Fraction:
        """All of them."""
        return self.bins + self.head + self.contexts + self.tastes + self.head_rows


@dataclass(frozen=True)
class Decided:
    """What was decided once the sizes were released."""

    sizes: Sizes
    """What they say."""
    shares: Shares
    """What is set aside."""
    light: bool
    """Whether next to nothing is lost at the best θ: its own formula, and no bins."""
    small: bool
    """Whether the domain is so small that interval noise on all of it beats bounding."""
    split_head: bool
    """7U: whether the head is measured in each context."""
    zooms: bool
    """Whether part of the table's share goes to the items that hold most."""
    zoom_mass: float
    """The share of the estimated mass whose items are zoomed."""
    q: float
    """Users × ε per context value; 0 where sizes are unreliable."""

    items: int
    """m."""
    norm: Norm = "l1"
    """What is bounded of the rows of the table and of the zoom."""
    repeats: bool = False
    """Whether a user may have an item several times."""

    def theta(self, rest: float) -> int:
        """θ for a table (and zoom) whose price is worth so much ε."""
        if not self.sizes.reliable:
            return 1
        power = power_of(self.norm, repeats=self.repeats)
        found = best_theta(self.sizes, rest, self.items, light=self.light, power=power)
        return min(found, largest_theta(self.norm, self.items, repeats=self.repeats))


def largest_theta(norm: Norm, items: int, *, repeats: bool) -> int:
    """The largest θ that may be chosen: no row of ones is longer in L2 than √m.

    >>> largest_theta("l2", 10, repeats=False), largest_theta("l1", 10, repeats=False)
    (4, 8192)
    """
    if norm == "l1" or repeats:
        return LARGEST_THETA
    return min(isqrt(items - 1) + 1, LARGEST_THETA)
