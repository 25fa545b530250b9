"""A table of a page, as data: what a template needs to draw it so that it can also be heard."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Shown:
    """A table of a page. Cells are text and are escaped by the template."""

    caption: str
    """What it holds."""
    heads: Sequence[str]
    """Of its columns; the first column names the rows."""
    rows: Sequence[Sequence[str]]
    """As many cells as there are heads in each."""
    words: Collection[int] = (0,)
    """Places of the columns that hold words instead of numbers: these may break, to the left."""
    dense: bool = False
    """Whether its numbers may break on paper, because they are many."""
    note: str = ""
    """What must be said below it."""
    links: Sequence[str] = ()
    """For each row the address that its first cell leads to; none: it leads nowhere."""
