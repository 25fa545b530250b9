"""What the name of a table means: which lists its cells come from, and what a count counts.

The one place for it: whoever writes, checks or reads a table asks here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from crowdtally.values.layout import other_name


@dataclass(frozen=True)
class TableKind:
    """One kind of table.

    >>> EDGES.axes(["place", "day"]), ITEMS.axes(["place", "day"]), PAIRS.axes(["place"])
    (('place', 'day'), ('place',), ('place', 'other_place'))
    """

    name: str
    """The table's name, which is its file's too."""
    over: Literal["first list", "all lists", "pairs"]
    """What a cell is: a value of the domain's first list, one of each list, or an unordered pair of
    different values of the first."""
    answers: bool = True
    """Whether readers' questions are answered from it."""
    transforms: bool = True
    """Whether it can be transformed."""
    counted: Mapping[str, str] = field(default_factory=dict)
    """What a count counts, where that is not what the release counts."""

    @property
    def is_pairs(self) -> bool:
        """Whether a cell is an unordered pair."""
        return self.over == "pairs"

    def axes(self, lists: Sequence[str]) -> tuple[str, ...]:
        """The names of its axes, slowest first, in a domain of these lists."""
        if self.over == "pairs":
            return (lists[0], other_name(lists[0]))
        return tuple(lists) if self.over == "all lists" else (lists[0],)

    def counts(self, counted: str) -> str:
        """What a count of this table counts, in a release that counts records or users."""
        return self.counted.get(counted, counted)


ITEMS = TableKind("items", "first list")
EDGES = TableKind("edges", "all lists")
PAIRS = TableKind(
    "pairs",
    "pairs",
    transforms=False,
    counted={"records": "pairs of records", "users": "users with both items"},
)
CELLS = TableKind("cells", "all lists")
POPULARITY = TableKind("popularity", "first list", answers=False, transforms=False)

KINDS = {kind.name: kind for kind in (ITEMS, EDGES, PAIRS, CELLS, POPULARITY)}
"""Every kind by its name; those with fewer cells first."""
