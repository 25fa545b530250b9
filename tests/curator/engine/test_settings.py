"""What the embedded engine is told before it reads: no type is guessed, no function is trusted."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
import pytest

from crowdtally.curator.engine.duckdb import DuckDBEngine
from crowdtally.curator.engine.sources import locate
from crowdtally.errors import UsageError


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


@pytest.mark.parametrize("function", ["random", "uuid", "now", "nextval", "current_setting"])
def test_a_function_that_is_not_of_its_arguments_is_refused_by_the_catalogue(
    function: str, engine: DuckDBEngine
) -> None:
    """Also where the list of known names has a gap: the engine itself says what is consistent."""
    with pytest.raises(UsageError, match=rf"{function}\(\), which is not a function of one record"):
        engine.check_row_wise(f"abs({function}())", "day")


@pytest.mark.parametrize("sql", ["abs(x) + length(y)", "dayname(to_timestamp(t))"])
def test_functions_of_one_row_pass(sql: str, engine: DuckDBEngine) -> None:
    engine.check_row_wise(sql, "day")
