"""A search over names of items: text without accents and cases, the largest items first."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from crowdtally.core.deadline import stoppable

MOST_WORDS = 8
"""Words of one search."""
LONGEST = 200
"""Letters of a search that are read, and of a name that are searched."""


def folded(text: str) -> str:
    """Letters without their accents and cases, so that "cafe" finds "Café".

    >>> folded("Café ÉTÉ"), folded("straße")
    ('cafe ete', 'strasse')
    """
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text)
    return "".join(one for one in apart if not unicodedata.combining(one)).casefold()


def searched(text: str) -> list[str]:
    """The words that a name must have.

    >>> searched("Café  au lait")
    ['cafe', 'au', 'lait']
    """
    return folded(text[:LONGEST]).split()[:MOST_WORDS]


@dataclass(frozen=True)
class Index:
    """The names of all items, held by a database in memory."""

    database: Any
    """Its table ``names`` has each name's place in the list, the largest item first."""

    @classmethod
    def of(cls, names: Sequence[str], order: NDArray[np.int64]) -> Index:
        """The index.

        Args:
            names: of all items, in the order of the list.
            order: the items' places, the largest item first.
        """
        database = duckdb.connect(":memory:", config={"threads": 2, "memory_limit": "1GB"})
        texts = np.array([folded(one[:LONGEST]) for one in names], dtype=object)
        columns = {"place": order.astype(np.int64), "folded": texts[order]}
        database.register("columns", columns)
        database.execute("CREATE TABLE names AS SELECT place, folded FROM columns")
        database.unregister("columns")
        return cls(database)

    def found(self, text: str, first: int, count: int) -> list[int]:
        """The places of the items whose names have all words of a text.

        Args:
            text: what was typed.
            first: how many of them are passed over.
            count: how many are wanted.
        """
        words = searched(text)
        if not words:
            return []
        having = " AND ".join("contains(folded, ?)" for _ in words)
        query = f"SELECT place FROM names WHERE {having} LIMIT {int(count)} OFFSET {int(first)}"
        cursor = self.database.cursor()
        with stoppable(cursor.interrupt):
            return [place for (place,) in cursor.execute(query, words).fetchall()]
