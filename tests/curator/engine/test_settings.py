"""What the embedded engine is told before it reads: no type is guessed."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pandas as pd
import pytest

from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.locate import locate


@pytest.fixture
def engine() -> Iterator[DuckDBEngine]:
    with DuckDBEngine() as opened:
        yield opened


def test_objects_are_read_one_by_one(engine: DuckDBEngine) -> None:
    """As they are read in a column of their own type, whatever stands beside them."""
    mixed = pd.Series([7, 7.0, True, Decimal("7.00"), "07"], dtype=object)
    engine.open(locate(pd.DataFrame({"user": mixed})), "records")
    users = engine.columns(engine.table("records"))["user"].tolist()
    assert users == ["7", "7", "true", "7", "07"]


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
