"""Declared lists, features and columns of a request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import crowdtally as ct
from crowdtally.core.domain import Axis
from crowdtally.core.records import Records
from crowdtally.curator.manifest import parameters
from crowdtally.curator.request.request import make_request
from crowdtally.errors import CrowdtallyError

# ---- What is declared in Python, with things of the wrong type: a message in Python's words ------


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
    ["epsilon", "delta", "guess_users", "guess_records", "guess_total", "query_cells", "count",
     "noise", "pairs", "method", "summary", "transform", "half_width"],
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


# ---- What is said to auto about contexts ---------------------------------------------------------


ITEMS = Axis.of("film", [1, 2, 3, 4])


def stored(tmp_path: Path) -> str:
    path = tmp_path / "records.parquet"
    parquet.write_table(pa.table({"user": [1], "film": [1], "sex": ["f"], "genre": ["x"]}), path)
    return str(path)


def asked(tmp_path: Path, **options: Any) -> Any:
    declared = Records(stored(tmp_path), "user", "film", {"sex": None})
    domain = ct.Domain(ITEMS, {"sex": ["f", "m"]})
    return make_request(declared, domain, epsilon=1, **options)


def test_a_request_holds_what_auto_is_told(tmp_path: Path) -> None:
    told = parameters(asked(tmp_path, method=ct.Auto(context_per_user="sex")))
    assert told["context_per_user"] == ["sex"]
    assert told["for"] == "counts"
    assert told["repeats"] == "yes"
    assert "max_records" not in told


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a name that is none": ({"method": ct.Auto(context_per_user="sx")}, "Did you mean 'sex'?"),
    "an item's name": ({"method": ct.Auto(context_per_user="film")}, "'film', which is no context"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_nothing_uses_is_refused(tmp_path: Path, name: str) -> None:
    options, words = REFUSED[name]
    with pytest.raises(CrowdtallyError) as error:
        asked(tmp_path, **options)
    assert words in str(error.value)


def test_without_contexts_there_is_nothing_to_say_about_them(tmp_path: Path) -> None:
    declared = Records(stored(tmp_path), "user", "film", {})
    for options, words in (
        ({"method": ct.Auto(context_per_user="sex")}, "there are no contexts: add --context NAME"),
    ):
        with pytest.raises(CrowdtallyError, match=words):
            make_request(declared, ct.Domain(ITEMS), epsilon=1, **options)


def test_a_joint_family_with_a_property_of_the_record_is_refused(tmp_path: Path) -> None:
    declared = Records(stored(tmp_path), "user", "film", {"sex": None, "day": "1"})
    domain = ct.Domain(ITEMS, {"sex": ["f", "m"], "day": [0, 1]})
    with pytest.raises(CrowdtallyError, match="'day' is not in context-per-user"):
        make_request(declared, domain, epsilon=1, method=ct.Auto(context_per_user="sex"))
    both = make_request(
        declared, domain, epsilon=1, method=ct.Auto(context_per_user=["sex", "day"])
    )
    assert both.method.rule.per_user == ("sex", "day")


def test_combinations_beyond_what_is_published_are_refused(tmp_path: Path) -> None:
    declared = Records(stored(tmp_path), "user", "film", {"a": "1", "b": "2"})
    domain = ct.Domain(ITEMS, {"a": range(2049), "b": range(2048)})
    with pytest.raises(CrowdtallyError, match="4,196,352 combinations"):
        make_request(declared, domain, epsilon=1)
