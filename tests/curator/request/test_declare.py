"""Declared lists, features and columns of a request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import crowdtally as ct
from crowdtally.core.domain import PARTS, Axis, Features
from crowdtally.core.records import Records
from crowdtally.curator.manifest import parameters
from crowdtally.curator.request.declare import read_features
from crowdtally.curator.request.request import make_request
from crowdtally.errors import CrowdtallyError
from crowdtally.records.locate import Sources

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


# ---- Public features of items: files as people have them, and what is said about bad ones --------


ITEMS = Axis.of("film", [1, 2, 3, 4])
LONG = {"film": [1, 1, 1, 2, 3, 9, 3], "genre": ["x", "y", "z", "x", None, "q", None]}


def sources(tmp_path: Path) -> Sources:
    path = tmp_path / "records.parquet"
    parquet.write_table(pa.table({"user": [1], "film": [1], "sex": ["f"], "genre": ["x"]}), path)
    return Sources(Records(str(path), "user", "film", {"sex": None}))


def read(tmp_path: Path, columns: dict[str, Any], given: str = "", name: str = "f.parquet") -> Any:
    table, path = pa.table(columns), tmp_path / name
    (csv.write_csv if name.endswith("csv") else parquet.write_table)(table, path)
    return read_features(f"{path}{given}", ITEMS, sources(tmp_path))


@pytest.mark.parametrize("name", ["f.parquet", "f.csv"])
def test_several_rows_of_an_item_are_equal_shares(tmp_path: Path, name: str) -> None:
    found: Features = read(tmp_path, LONG, name=name)
    assert found.names == ("genre=x", "genre=y", "genre=z", "genre=other")
    assert found.shares.tolist() == [
        [342, 341, 341, 0], [PARTS, 0, 0, 0], [0, 0, 0, PARTS], [0, 0, 0, PARTS],
    ]  # fmt: skip
    assert found.groups == (0, 0, 0, 0)
    assert found.columns == ("genre",)


def test_each_column_is_a_group_that_adds_up(tmp_path: Path) -> None:
    wide = {"film": [1, 2, 3, 4], "genre": ["x", "y", "x", "y"], "decade": [80, 90, None, 80]}
    found = read(tmp_path, wide)
    assert found.names == ("genre=x", "genre=y", "decade=80", "decade=90", "decade=other")
    for group in (0, 1):
        members = [f for f, of in enumerate(found.groups) if of == group]
        assert (found.shares[:, members].sum(axis=1) == PARTS).all()


def test_the_item_column_is_named_or_the_first(tmp_path: Path) -> None:
    named = {"genre": ["x", "y"], "film": [1, 2]}
    first = {"movie": [1, 2], "genre": ["x", "y"]}
    chosen = {"genre": ["x", "y"], "movie": [1, 2]}
    found = [read(tmp_path, named), read(tmp_path, first), read(tmp_path, chosen, ":movie")]
    assert len({one.sha256 for one in found}) == 1
    other = read(tmp_path, {"film": [1, 2], "genre": ["y", "x"]})
    assert other.sha256 != found[0].sha256


BAD: dict[str, tuple[dict[str, Any], str, str]] = {
    "no such column": ({"film": [1], "genre": ["x"]}, ":flim", "has no column 'flim'"),
    "no feature": ({"film": [1, 2]}, "", "has no column beside the items' ('film')"),
    "unknown items": ({"film": [7], "genre": ["x"]}, "", "none of the 4 items is in column 'film'"),
    "no values": ({"film": [1], "g": pa.array([None], pa.string())}, "", "none of the 4 items"),
    "floats": ({"film": [1], "score": [0.5]}, "", "column 'score' of"),
    "too many": (
        {"film": [1] * 1001, "title": [f"t{n}" for n in range(1001)]}, "",
        "1,001 in column 'title'): at most 1,000",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_refused_in_words(tmp_path: Path, name: str) -> None:
    columns, given, words = BAD[name]
    with pytest.raises(CrowdtallyError) as error:
        read(tmp_path, columns, given)
    assert words in str(error.value)


def test_a_missing_file_and_the_records_own_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CrowdtallyError, match=r"none\.csv"):
        read_features(str(tmp_path / "none.csv"), ITEMS, sources(tmp_path))
    with pytest.raises(CrowdtallyError, match="is the records' own table"):
        read_features(str(tmp_path / "records.parquet"), ITEMS, sources(tmp_path))


# ---- in a request --------------------------------------------------------------------------------


def asked(tmp_path: Path, **options: Any) -> Any:
    declared = sources(tmp_path).declared
    domain = ct.Domain(ITEMS, {"sex": ["f", "m"]})
    return make_request(declared, domain, epsilon=1, **options)


def test_a_request_holds_its_features_and_the_ledger_their_hash(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    parquet.write_table(pa.table(LONG), path)
    request = asked(tmp_path, context_per_user="sex", features=path)
    told = parameters(request)
    features = request.method.rule.features
    assert told["features"] == {"size": 4, "sha256": features.sha256}
    assert told["context_per_user"] == ["sex"]
    assert told["for"] == "counts"
    assert told["repeats"] == "yes"
    assert "max_records" not in told
    parquet.write_table(pa.table({"film": [1, 2], "genre": ["x", "y"]}), path)
    assert parameters(asked(tmp_path, context_per_user="sex", features=path)) != told
    assert np.array_equal(features.shares.sum(axis=1), [PARTS] * 4)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "features without a property of the user": ({"features": "f"}, "add --context-per-user 'sex'"),
    "features for top": (
        {"features": "f", "context_per_user": "sex", "for_": "top"}, "--for top spends nothing",
    ),
    "features of another method": (
        {"features": "f", "bounding": "sra"}, "are for auto, which decides on",
    ),
    "a name that is none": ({"context_per_user": "sx"}, "Did you mean 'sex'?"),
    "an item's name": ({"context_per_user": "film"}, "'film', which is no context"),
    "a property of another method": (
        {"context_per_user": "sex", "max_records": 3}, "are for auto, which decides on",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_nothing_uses_is_refused(tmp_path: Path, name: str) -> None:
    options, words = REFUSED[name]
    with pytest.raises(CrowdtallyError) as error:
        asked(tmp_path, **options)
    assert words in str(error.value)


def test_without_contexts_there_is_nothing_to_say_about_them(tmp_path: Path) -> None:
    declared = Records(sources(tmp_path).declared.source, "user", "film", {})
    for options, words in (
        ({"context_per_user": "sex"}, "there are no contexts: add --context NAME"),
        ({"features": "f.csv"}, "there are no contexts"),
    ):
        with pytest.raises(CrowdtallyError, match=words):
            make_request(declared, ct.Domain(ITEMS), epsilon=1, **options)


def test_a_joint_family_with_a_property_of_the_record_is_refused(tmp_path: Path) -> None:
    declared = Records(sources(tmp_path).declared.source, "user", "film", {"sex": None, "day": "1"})
    domain = ct.Domain(ITEMS, {"sex": ["f", "m"], "day": [0, 1]})
    with pytest.raises(CrowdtallyError, match="'day' is not in --context-per-user"):
        make_request(declared, domain, epsilon=1, context_per_user="sex")
    both = make_request(declared, domain, epsilon=1, context_per_user=["sex", "day"])
    assert both.method.rule.per_user == ("sex", "day")


def test_combinations_beyond_what_is_published_are_refused(tmp_path: Path) -> None:
    declared = Records(sources(tmp_path).declared.source, "user", "film", {"a": "1", "b": "2"})
    domain = ct.Domain(ITEMS, {"a": range(2049), "b": range(2048)})
    with pytest.raises(CrowdtallyError, match="4,196,352 combinations"):
        make_request(declared, domain, epsilon=1)
