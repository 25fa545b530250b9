"""Tiny databases, all of a stated family, and their neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from typing import Literal

Ids = Literal["none", "stored", "repeated", "quantities", "several"]
"""Whether records have a stored id: none; 0, 1, … within each user; or one and the same. Or what
the column says instead: quantities 3, 2, 1; or by which of her ids, 0 or 1, a user made it."""
History = tuple[int, ...]
"""One user's records: the cell of each."""
Database = tuple[History, ...]
"""The history of each user; an empty one is nobody."""
Row = tuple[int, int, int, int]
"""User, item, context, id."""

USERS = (1, 2, 3)


@dataclass(frozen=True)
class Space:
    """A public domain of items × contexts."""

    items: int
    contexts: int

    @property
    def cells(self) -> int:
        return self.items * self.contexts

    def rows(self, database: Database, ids: Ids) -> list[Row]:
        """The records as rows, user by user."""
        return [
            (user, *divmod(cell, self.contexts), _last(ids, place))
            for user, history in zip(USERS, database, strict=False)
            for place, cell in enumerate(history)
        ]


def _last(ids: Ids, place: int) -> int:
    return {"repeated": 7, "quantities": 3 - place, "several": place % 2}.get(ids, place)


def histories(cells: int, most: int) -> list[History]:
    """Every multiset of at most ``most`` cells."""
    return [h for n in range(most + 1) for h in combinations_with_replacement(range(cells), n)]


def databases(family: Sequence[History], users: int) -> list[Database]:
    """Every database of so many users, each with a history of the family, which has the empty one.

    So the family of databases is closed under taking a user away.
    """
    assert () in family
    return list(product(family, repeat=users))


def neighbours(database: Database) -> Iterator[Database]:
    """The database without one of its users, for each of them."""
    for user, history in enumerate(database):
        if history:
            yield (*database[:user], (), *database[user + 1 :])
