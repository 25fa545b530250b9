"""Reading the records once: what is counted, and what falls out, from one pass."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Generic, Self, TypeVar

from crowdtally.records.engine import (
    Dropped,
    Engine,
    Kept,
    MemoryFullError,
    Rows,
    census,
    standing_on,
)

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


class Parts:
    """Parts of the rows by user, where the memory would not hold them at once.

    A context manager: work that does not fit inside it is to be done again, in twice as many parts.
    It is a function of the rows (a key is drawn before), so how often and in how many parts decides
    nothing::

        parts = Parts(engine)
        while not parts.done:
            with parts:
                found = [work(rows) for rows in parts.of(prepared.rows)]
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._number = engine.parts()
        self._doublings = 0
        self.done = False
        """Whether the work inside came to its end."""

    def of(self, rows: Rows) -> list[Rows]:
        """The parts; a user's rows are in one of them."""
        if self._number == 1:
            return [rows]
        number = self._engine.hash(0, [rows.user]) % self._number
        return [rows.filter(number == part) for part in range(self._number)]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> bool:
        self.done = error is None
        again = isinstance(error, MemoryFullError) and self._doublings < _MOST_DOUBLINGS
        if again:
            self._number, self._doublings = 2 * self._number, self._doublings + 1
        return again
