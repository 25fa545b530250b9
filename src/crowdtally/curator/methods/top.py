"""Select, then measure: the K items that most users have, overall or in each context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from crowdtally.curator.converse import Asking, Facts
from crowdtally.curator.questions import MostUsers, UsersOf
from crowdtally.curator.request.top import TopRequest
from crowdtally.ledger import Part


@dataclass(frozen=True)
class TopMethod:
    """Two questions: which items, and how many users those have."""

    questions: ClassVar[int] = 2

    request: TopRequest

    @property
    def parts(self) -> tuple[Part, ...]:
        return (self.request.selection(), self.request.planned().charge())

    def ask(self) -> Asking:
        selected = yield MostUsers(self.request)
        yield UsersOf(self.request, selected.cells)
        return Facts()
