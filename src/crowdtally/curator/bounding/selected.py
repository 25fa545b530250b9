"""The top items are selected by their numbers of distinct users: nobody is bounded.

That is private because a user changes every number by 0 or 1, all the same way: for the selection
see ``selecting/top_items.md``, for the noise of the numbers ``noise/interval.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from crowdtally.curator.bounding.distinct import Everyone


@dataclass(frozen=True)
class Selected(Everyone):
    """Contract: adding one user changes every cell by 0 or 1, and lowers none."""

    takes: ClassVar[frozenset[str]] = frozenset({"context_per_user"})

    per_user: tuple[str, ...] = ()
    """The contexts that are a property of the user, of which she has one value."""

    def facts(self) -> dict[str, Any]:
        """It has no parameters but the contexts that are a property of the user."""
        return {"context_per_user": list(self.per_user)} if self.per_user else {}
