"""What is declared in Python, with things of the wrong type: a message in Python's words."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import crowdtally as ct

FRAME = pd.DataFrame({"user": ["hidden"], "item": ["hidden"]})
WRONG = [5, 1.5, "", b"x", object(), FRAME, [1], [None], [("x",)], [FRAME], {1: 2}]
"""Of no parameter's type."""
COLUMNS = ["user", "item", "contexts", "record_id", "attributes", "quantity", "weight"]


@pytest.mark.parametrize("parameter", COLUMNS)
@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: type(wrong).__name__)
def test_what_names_no_column_is_refused(parameter: str, wrong: object) -> None:
    given: dict[str, Any] = {"user": "user", "item": "item", parameter: wrong}
    if parameter == "weight":
        given |= {"user": None, "user_per_row": True}
    if parameter == "quantity":
        given["max_quantity"] = 3
    with pytest.raises(ct.UsageError) as refused:
        ct.read(FRAME, **given)
    assert "hidden" not in str(refused.value)
    assert "--" not in str(refused.value)


@pytest.mark.parametrize("wrong", [5, None, "films.csv", [5], [("x",)], [(FRAME, 1)]])
def test_what_is_no_list_of_joins_is_refused(wrong: Any) -> None:
    with pytest.raises(ct.UsageError, match=r"such as \[\('users\.parquet', 'user_id'\)\]"):
        ct.read(FRAME, user="user", item="item", joins=wrong)


@pytest.mark.parametrize("wrong", [5, None, "yes", FRAME])
def test_user_per_row_is_true_or_false(wrong: Any) -> None:
    with pytest.raises(ct.UsageError, match="user_per_row is True or False: received a "):
        ct.read(FRAME, item="item", user_per_row=wrong)


@pytest.mark.parametrize(
    "parameter",
    ["epsilon", "delta", "guess_users", "guess_records", "query_cells", "max_records", "count",
     "publishing", "sides", "size", "ordered", "scalings", "transform", "half_width"],
)  # fmt: skip
@pytest.mark.parametrize(
    "wrong", [FRAME, object(), -1, {1: 2}], ids=lambda wrong: type(wrong).__name__
)
def test_a_parameter_of_a_plan_repeats_no_frame(parameter: str, wrong: object) -> None:
    records = ct.read(FRAME, user="user", item="item")
    given: dict[str, Any] = {"epsilon": 1, parameter: wrong}
    if parameter == "half_width":
        del given["epsilon"]
    with pytest.raises(ct.UsageError) as refused:
        ct.plan(records, ct.Domain(["a"]), **given)
    assert "hidden" not in str(refused.value)
    assert "--" not in str(refused.value)


@pytest.mark.parametrize("given", [{"engine": 5}, {"engine_settings": [1]}, {"output": 5}])
def test_what_is_around_a_release_is_checked(given: dict[str, Any], tmp_path: Any) -> None:
    records = ct.read(FRAME, user="user", item="item")
    with pytest.raises(ct.UsageError, match=r"int|list"):
        ct.release(
            records,
            ct.Domain(["a"]),
            epsilon=1,
            dataset="d",
            ledger=tmp_path / "l",
            **given,
            new_dataset=True,
        )


def test_two_options_after_each_other_are_both_in_pythons_words() -> None:
    with pytest.raises(ct.UsageError) as refused:
        ct.plan(ct.read(FRAME, user="user", item="item"), epsilon=1)
    assert "--" not in str(refused.value)
