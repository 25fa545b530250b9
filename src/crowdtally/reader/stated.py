"""A condition as somebody stated it: which cells are meant, and which columns were named."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from crowdtally.reader.condition import Condition, every


@dataclass(frozen=True)
class Stated:
    """A condition, and the columns that whoever stated it named.

    A test that always holds, such as ``age >= 0``, leaves no trace in the condition. Yet who names
    a column asks the table that has it.
    """

    condition: Condition
    """The cells that are meant."""
    named: frozenset[str]
    """The columns that were named."""


def all_of(parts: Iterable[Stated]) -> Stated:
    """All of these conditions."""
    found = list(parts)
    named = frozenset[str]().union(*(part.named for part in found))
    return Stated(every(part.condition for part in found), named)
