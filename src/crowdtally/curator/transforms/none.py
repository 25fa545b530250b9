"""No transform: the cells themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from crowdtally.core.counts import Counts
from crowdtally.core.hierarchy import Dyadic
from crowdtally.core.layout import Layout


@dataclass(frozen=True)
class Untransformed:
    """Counts as they are."""

    name: ClassVar[str] = "none"
    takes: ClassVar[frozenset[str]] = frozenset()
    signed: ClassVar[bool] = False

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Untransformed:
        """It has no options."""
        return cls()

    @property
    def ordered(self) -> tuple[str, ...]:
        """None."""
        return ()

    def layout(self, cells: Layout) -> Layout:
        """The cells."""
        return cells

    def factor(self, cells: Layout) -> int:
        """A record counts in one cell."""
        return 1

    def l2_factor(self, cells: Layout) -> int:
        """In one cell, by one."""
        return 1

    def apply(self, counts: Counts, cells: Layout) -> Counts:
        """The counts."""
        return counts

    def tree(self, cells: Layout) -> Dyadic | None:
        """There is none."""
        return None

    def squares(self, cells: Layout, query: int, *, dense: bool) -> float:
        """Each cell counts once."""
        return float(query)

    def facts(self) -> dict[str, Any]:
        """Nothing but its name."""
        return {"kind": self.name, "ordered": []}
