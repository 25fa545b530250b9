"""What the name of a table means: which lists its cells come from, and what a count counts.

The one place for it: whoever writes, checks or reads a table asks here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
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
    over: Literal[
        "first list", "all lists", "pairs", "items", "contexts", "items in context", "own",
        "own in context",
    ]  # fmt: skip
    """What a cell is: a value of the domain's first list, one of each list, or an unordered pair of
    different values of the first; of ``auto``: an item (a cell, where there are attributes), a
    combination of contexts, an item in one; or a number of the table's own, perhaps in one."""
    own: str | None = None
    """The column of the table's own numbers."""
    chosen: bool = False
    """Whether it has some items only, which the release chose from what it had released."""
    answers: bool = True
    """Whether readers' questions are answered from it."""
    transforms: bool = True
    """Whether it can be transformed."""
    counted: Mapping[str, str] = field(default_factory=dict)
    """What a count counts, where that is not what the release counts."""
    refines: str | None = None
    """The table whose cells it has with less noise; both together cost no more than it alone."""

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


def _step(
    name: str, over: Literal["items", "contexts", "items in context", "own", "own in context"],
    own: str | None = None, *, chosen: bool = False, counted: Mapping[str, str] | None = None,
    refines: str | None = None,
) -> TableKind:  # fmt: skip
    """A table of a step of ``auto``, from which estimates are made."""
    return TableKind(
        name,
        over,
        own,
        chosen,
        answers=False,
        transforms=False,
        counted=counted or {},
        refines=refines,
    )


_USERS = {"records": "users"}
SIZES = _step("sizes", "own", "bin", counted=_USERS)
PILOT = _step("pilot", "items")
CROWD = _step("crowd", "items", chosen=True, counted=_USERS)
ZOOM = _step("zoom", "items", chosen=True)
BINS = _step("bins", "own", "bin")
HEAD = _step("head", "items", chosen=True, counted=_USERS)
HEADS = _step("heads", "items in context", chosen=True, counted=_USERS)
SPLIT_HEAD = _step("split_head", "items in context", chosen=True, counted=_USERS)
CONTEXTS = _step("contexts", "contexts")
TASTES = _step("tastes", "own in context", "feature")
TASTES_AGAIN = _step("tastes_again", "own in context", "feature", refines="tastes")
HEAD_ROWS = _step("head_rows", "items in context", chosen=True)
HEAD_ROWS_AGAIN = _step("head_rows_again", "items in context", chosen=True, refines="head_rows")

STEPS = (
    SIZES, PILOT, CROWD, ZOOM, BINS, HEAD, SPLIT_HEAD, CONTEXTS, TASTES, TASTES_AGAIN,
    HEAD_ROWS, HEAD_ROWS_AGAIN,
)  # fmt: skip
"""The tables of the steps of ``auto`` beside the items' own; the head is one of top items too."""

KINDS = {kind.name: kind for kind in (ITEMS, EDGES, PAIRS, CELLS, POPULARITY, *STEPS, HEADS)}
"""Every kind by its name; those with fewer cells first."""


def added(costs: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """What each table of a release adds to its cost, by name; ``costs`` is what each says.

    One that refines another says what both cost together.

    >>> told = {"tastes": Fraction(1, 20), "tastes_again": Fraction(1, 10)}
    >>> [str(cost) for cost in added(told).values()]
    ['1/20', '1/20']
    """
    found = {}
    for name, cost in costs.items():
        refined = KINDS[name].refines if name in KINDS else None
        found[name] = max(cost - costs.get(refined or "", Fraction(0)), Fraction(0))
    return found
