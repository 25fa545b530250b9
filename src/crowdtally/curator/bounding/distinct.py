"""Nobody is bounded: each user counts once in each of her cells, however many these are.

For interval noise, whose cost does not depend on how many cells a user is in. Contract: one user
changes every cell by 0 or 1, all the same way. The proof note is ``distinct.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from crowdtally.core.counts import What


@dataclass(frozen=True)
class Everyone:
    """Each user counts once in each of her cells."""

    name: ClassVar[str] = "distinct"
    takes: ClassVar[frozenset[str]] = frozenset()
    choices: ClassVar[tuple[str, ...]] = ()
    keeps_records: ClassVar[bool] = False

    @property
    def limit(self) -> int:
        """Once in a cell; there is no limit to the cells."""
        return 1

    @property
    def l1_bound(self) -> int:
        """The most that one user changes *each* cell by: of their sum there is no bound."""
        return 1

    def l2_squared(self, what: What) -> int:
        """There is none: she may be in all cells."""
        raise TypeError("where nobody is bounded there is no L2 bound")

    @property
    def unit(self) -> Fraction:
        """Users are counted."""
        return Fraction(1)

    def facts(self) -> dict[str, Any]:
        """It has no parameters."""
        return {}
