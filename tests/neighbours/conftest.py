"""Where sources are written, and what a crowd gives before anybody joins it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit.crowds import Database
from kit.kinds import Kind, Place
from kit.neighbouring import Before, Kept, sampled
from kit.newcomers import LIMIT
from kit.places import place_in


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with place_in(tmp_path_factory.mktemp("sources")) as made:
        yield made


@pytest.fixture(scope="session")
def before(place: Place) -> Before:
    """What a crowd gives, computed once for each kind: many newcomers join the same one."""
    found: dict[tuple[int, int], Kept] = {}

    def of(kind: Kind, base: Database) -> Kept:
        key = (id(kind), id(base))  # both are constants of their modules
        if key not in found:
            found[key] = sampled(place, kind, base, LIMIT)
        return found[key]

    return of
