"""Questions to a release of attributes: in Python, on the command line, and those refused."""

from __future__ import annotations

import json

import pytest

import crowdtally as ct
from kit.command import crowdtally
from kit.loud import (
    _ledger,
    people,
    released,
    table_of,
)

__all__ = ["_ledger"]


def test_attributes_have_no_items_to_rank(small):
    with pytest.raises(ct.UsageError, match="table of attributes: it has no items"):
        ct.load(small).top(3)
    with pytest.raises(ct.UsageError, match="no contexts"):
        ct.load(small).top(3, sex="F")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"age": 3, "sex": "F"}, "leave 6 cells of the table 'cells'"),
        ({"age": 3, "sex": "F", "regio": "sea"}, "Did you mean 'region'"),
        ({"age": True}, "text or a whole number"),
        ({"age": 3.5}, "text or a whole number"),
        ({"age": "three"}, "holds whole numbers"),
        ({"sex": []}, "no cell"),
    ],
)
def test_points_that_are_none(small, given, words):
    with pytest.raises(ct.UsageError, match=words):
        ct.load(small).point(**given)


def test_values_may_be_written_as_on_the_command_line(small):
    release = ct.load(small)
    assert release.sum(age="3").value == release.sum(age=3).value == release.sum(age=[3]).value
    assert release.range("age", "3", None, sex="F").cells == 17 * 6


# ---- the command line ---------------------------------------------------------------------------


def test_the_command_prints_what_python_says(tmp_path):
    columns = people(500)
    released(columns, publishing="filter", size=500)
    where = "age between 5 and 12 and sex = 'F'"
    ended = crowdtally("sum", "out", "--where", where, "--json")
    assert ended.code == 0, str(ended)
    answer = json.loads(ended.out)
    assert answer["value"] == table_of(columns)[5:13, 0].sum()
    assert answer["cells"] == 8 * 6
    assert answer["low"] is None
    ended = crowdtally("sum", "out", "--where", where)
    assert f"{answer['value']:.12g} users, standard error" in ended.out
    assert "over 48 cells" in ended.out
    assert "unbiased for the noisy counts of size" in ended.out
    everything = crowdtally("sum", "out", "--json")
    assert json.loads(everything.out)["value"] == table_of(columns).sum()


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A release that many questions are put to."""
    folder = tmp_path_factory.mktemp("small")
    return released(people(5), output=folder / "out", ledger=folder / "ledger.sqlite").folder


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("", "condition is empty"),
        ("agee = 3", "Did you mean 'age'"),
        ("sex = 'f'", "has no value 'f'"),
        ("age = '3'", "whole numbers"),
        ("sex < 3", "holds text"),
        ("age > 3 and age < 4", "no cell of the public domain satisfies"),
        ("region between 'no' and 'north'", "Ranges go by the order of the lists"),
        ("sum(age) = 3", "not understood"),
        ("age = 3; drop table t", "give one condition"),
    ],
)
def test_questions_that_are_refused(small, where, words):
    ended = crowdtally("sum", small, "--where", where)
    assert ended.code == 2
    assert ended.out == ""
    assert words in ended.err
