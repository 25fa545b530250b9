"""Reading the records once: what is counted, and what falls out, from one pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from crowdtally.curator.engine.census import Dropped, census
from crowdtally.curator.engine.engine import Engine, MemoryFullError
from crowdtally.curator.engine.prepare import Prepared
from crowdtally.curator.engine.relations import Kept, Rows, standing_on

Found = TypeVar("Found")
_MOST_DOUBLINGS = 8
"""How often the work is cut in half again before a full memory is said to be full."""


@dataclass(frozen=True)
class Read(Generic[Found]):
    """What a read of all records found. Exact, private, never released as it is."""

    found: Found
    """What it was for."""
    dropped: Dropped
    """The rows that it could not use."""


def dropped_in(engine: Engine, rows: Rows) -> Dropped:
    """How many of the rows fall out: all rows, or an aggregate that carries their numbers."""
    return Dropped.of(engine.arrays(census(rows)))


def computed(engine: Engine, kept: Kept, rows: Rows) -> tuple[Rows, Dropped]:
    """What a rule keeps of ``rows``, and how many of them fall out, by one pass if it can be."""
    if kept.census is None:
        return kept.rows, dropped_in(engine, rows)
    if kept.shared is None:
        return kept.rows, Dropped.of(engine.arrays(kept.census))
    held = engine.materialise(kept.shared, "shared")
    bounded, counted = (standing_on(use, kept.shared, held) for use in (kept.rows, kept.census))
    return bounded, Dropped.of(engine.arrays(counted))


def in_parts(engine: Engine, prepared: Prepared, work: Callable[[Rows], Found]) -> list[Found]:
    """The work on all rows, in parts by user where the memory would not hold them at once.

    Where it still does not, the work is done again in twice as many parts. It is a function of
    the rows (a key is drawn before), so how often and in how many parts decides nothing.
    """
    parts = engine.parts()
    for _ in range(_MOST_DOUBLINGS):
        try:
            return [work(part) for part in _parts(engine, prepared.rows, parts)]
        except MemoryFullError:
            parts *= 2
    return [work(part) for part in _parts(engine, prepared.rows, parts)]


def _parts(engine: Engine, rows: Rows, parts: int) -> list[Rows]:
    if parts == 1:
        return [rows]
    number = engine.hash(0, [rows.user]) % parts
    return [rows.filter(number == part) for part in range(parts)]
