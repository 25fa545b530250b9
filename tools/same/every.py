"""All scenes."""

from __future__ import annotations

from collections.abc import Iterator

from same import (
    frames,
    labs,
    ledgers,
    numbers,
    people,
    planning,
    releases,
    serving,
)
from same.stage import Scene

# What takes longest comes first, so that both processes end together.
_PARTS = (serving, planning, labs, people, ledgers, releases, frames, numbers)


def scenes() -> Iterator[Scene]:
    """Every scene of every part, in a fixed order."""
    for part in _PARTS:
        yield from part.scenes()
