"""All scenes."""

from __future__ import annotations

from collections.abc import Iterator

from same import releases
from same.stage import Scene

_PARTS = (releases,)


def scenes() -> Iterator[Scene]:
    """Every scene of every part, in a fixed order."""
    for part in _PARTS:
        yield from part.scenes()
