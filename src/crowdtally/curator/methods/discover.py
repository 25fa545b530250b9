"""Cells without public lists: those that enough users have, under (ε, δ)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from crowdtally.curator.converse import Asking, Facts
from crowdtally.curator.questions import CommonCells
from crowdtally.ledger import Part


@dataclass(frozen=True)
class DiscoverFacts(Facts):
    other: Mapping[str, Any]
    """The noisy mass of the cells that were not released, and what it counts."""

    def as_dict(self) -> dict[str, Any]:
        return {"other": dict(self.other)}


@dataclass(frozen=True)
class DiscoverMethod:
    questions: ClassVar[int] = 1

    cells: CommonCells

    @property
    def parts(self) -> tuple[Part, ...]:
        return self.cells.parts()

    def ask(self) -> Asking:
        found = yield self.cells
        return DiscoverFacts(found.other)
