"""The crowd's databases, held by each engine once for all tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import pytest

from kit.databases import Shape
from kit.spark import Crowd, Start, crowd_in


@pytest.fixture(scope="session")
def crowds(start_engine: Start) -> Iterator[Callable[[Shape], Crowd]]:
    """The crowd with records of a given shape."""
    with ExitStack() as stack:

        @cache
        def held(shape: Shape) -> Crowd:
            return stack.enter_context(crowd_in(start_engine, shape))

        yield held
