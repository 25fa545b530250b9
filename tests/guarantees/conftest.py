"""Where sources are written, what a crowd gives before anybody joins it, and engines to share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import pytest

from crowdtally.core.domain import Domain
from crowdtally.records.duckdb import DuckDBEngine
from kit.crowds import Database
from kit.databases import DOMAIN, Counting, Shape
from kit.every_source import place_in
from kit.kinds import Kind, Place
from kit.newcomers import LIMIT, Before, Kept, sampled

# ---- Where sources are written, and what a crowd gives before anybody joins it -------------------


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


# ---- One engine for each shape of records, shared by a module's tests ----------------------------


Countings = Callable[..., Counting]


@pytest.fixture(scope="module")
def countings() -> Iterator[Countings]:
    with ExitStack() as stack:

        @cache
        def opened(shape: Shape, domain: Domain = DOMAIN) -> Counting:
            return stack.enter_context(Counting(shape, domain))

        yield opened


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDBEngine]:
    """An engine as a release opens one."""
    with DuckDBEngine() as opened:
        yield opened
