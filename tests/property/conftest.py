"""One engine for each shape of records, shared by a module's tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import pytest

from crowdtally.core.domain import Domain
from crowdtally.records.duckdb import DuckDBEngine
from kit.histories import DOMAIN, Counting, Shape

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
