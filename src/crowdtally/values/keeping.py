"""Which cells of a noisy table are kept, and what a kept one stands for."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Literal

from crowdtally.errors import UsageError
from crowdtally.values.rational import show
from crowdtally.values.whole import is_whole

Sides = Literal["one", "two"]

_LARGEST_CUT = 1 << 62


@dataclass(frozen=True)
class Keeping:
    """A public rule: a cell of noisy count v is kept with a probability that v alone decides.

    Its weight w is |v| (two-sided, for the noisy table) or v (one-sided, for its positive part).
    It is dropped if w < κ; otherwise it is kept with probability min(w/τ, 1), or surely if there is
    no τ. Where τ ≤ κ, sampling never bites and the rule is the filter κ.

    >>> Keeping(5, Fraction(4)).samples, Keeping(5, Fraction(11, 2)).samples
    (False, True)
    """

    cut: int = 0
    """κ: smaller weights are dropped."""
    threshold: Fraction | None = None
    """τ: smaller weights are kept in proportion to them; None: all that pass the cut are kept."""
    sides: Sides = "two"
    """Whether large negative counts are kept too."""

    def __post_init__(self) -> None:
        if not is_whole(self.cut) or not 0 <= self.cut <= _LARGEST_CUT:
            raise UsageError(
                f"the cut must be a whole number of at least 0: received {self.cut!r}. Cells whose "
                "noisy count is smaller than it are dropped."
            )
        if self.threshold is not None and not isinstance(self.threshold, Fraction):
            raise UsageError(f"the threshold must be a Fraction: received {type(self.threshold)}.")
        if self.threshold is not None and self.threshold <= 0:
            raise UsageError(
                f"the threshold must be greater than 0: received {show(self.threshold)}. Cells "
                "whose noisy count is smaller than it are kept in proportion to their count."
            )
        if self.sides not in ("one", "two"):
            raise UsageError(f"sides must be 'one' or 'two': received {self.sides!r}.")

    @property
    def samples(self) -> bool:
        """Whether some weight that passes the cut is kept by chance only."""
        return self.threshold is not None and self.threshold > self.cut

    @property
    def keeps_all(self) -> bool:
        """Whether every cell is kept, so that the table is dense."""
        return self.sides == "two" and self.cut == 0 and not self.samples

    @property
    def least(self) -> int:
        """The smallest weight that can be kept: a weight of 0 is never sampled."""
        return max(self.cut, 1) if self.samples else self.cut

    @property
    def doubtful_to(self) -> int:
        """T = ⌊τ⌋: up to here a weight w counts w/τ (which is 1 at w = τ)."""
        return floor(self.threshold) if self.samples and self.threshold else self.cut - 1
