"""The top items are selected by their numbers of distinct users: nobody is bounded.

That is private because a user changes every number by 0 or 1, all the same way: for the selection
see ``selecting/top_items.md``, for the noise of the numbers ``noise/interval.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar


@dataclass(frozen=True)
class Selected:
    """Contract: adding one user changes every cell by 0 or 1, and lowers none."""

    name: ClassVar[str] = "distinct"
    takes: ClassVar[frozenset[str]] = frozenset({"context_per_user"})
    choices: ClassVar[tuple[str, ...]] = ()
    keeps_records: ClassVar[bool] = False

    per_user: tuple[str, ...] = ()
    """The contexts that are a property of the user, of which she has one value."""

    @property
    def limit(self) -> int:
        """Once in a cell."""
        return 1

    @property
    def l1_bound(self) -> int:
        """What one user changes in each cell, which is no bound on their sum."""
        return 1

    @property
    def unit(self) -> Fraction:
        """Users are counted."""
        return Fraction(1)

    def facts(self) -> dict[str, Any]:
        """It has no parameters but the contexts that are a property of the user."""
        return {"context_per_user": list(self.per_user)} if self.per_user else {}
