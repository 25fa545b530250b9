"""What the embedded engine is told before it reads: no type is guessed."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
import pytest

from crowdtally.curator.engine.duckdb import DuckDBEngine
from crowdtally.curator.engine.sources import locate


@pytest.fixture
def engine() -> Iterator[DuckDBEngine]:
    with DuckDBEngine() as opened:
        yield opened


@pytest.mark.parametrize("last", [7, "guest", 2**40, None])
def test_a_frame_of_objects_has_one_type_whatever_it_holds(
    last: object, engine: DuckDBEngine
) -> None:
    """A type guessed from a sample of the values would be decided by one user among them."""
    numbers = [*range(200), last]
    frame = pd.DataFrame({"user": pd.Series(numbers, dtype=object)})
    assert engine.open(locate(frame), "records")["user"].type == "VARCHAR"
    users = engine.columns(engine.table("records"))["user"].tolist()
    assert users[:200] == [str(number) for number in range(200)]
