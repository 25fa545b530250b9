"""Means with their standard errors, at their places."""

from __future__ import annotations

import json

import pytest

from crowdtally_research.reproducing.figure import Number, Numbers


def test_a_mean_has_the_standard_error_of_independent_runs() -> None:
    number = Number.over("items", "sra", 10, [1.0, 2.0, 6.0])
    assert number.mean == pytest.approx(3.0)
    assert number.standard_error == pytest.approx((7.0 / 3) ** 0.5)
    assert number.runs == 3
    assert Number.over("items", "sra", 10, [5.0]).standard_error == 0


def test_numbers_come_back_from_json() -> None:
    for one in (Number("a", "b", 1.5, 2.0, 0.5, 4), Number("a", "b", "week", 1.0, text="Star")):
        assert Number.of(json.loads(json.dumps(one.to_dict()))) == one


@pytest.mark.parametrize(
    "damage", [{"x": None}, {"x": True}, {"mean": "many"}, {"mean": float("nan")}, {"runs": None}]
)
def test_damaged_numbers_are_refused(damage: dict[str, object]) -> None:
    told = Number("a", "b", 1.0, 2.0).to_dict() | damage
    with pytest.raises((TypeError, ValueError)):
        Number.of(told)


def test_numbers_are_asked_by_panel_line_and_place() -> None:
    numbers = Numbers(
        [Number("a", "sra", 10, 3.0), Number("a", "sra", 9, 4.0), Number("a", "hpa", 9, 1.0),
         Number("b", "lpa", "Monday", 2.0), Number("b", "lpa", "Friday", 5.0)]
    )  # fmt: skip
    assert numbers.mean("a", "sra", 9) == 4.0
    assert numbers.lines("a") == ["sra", "hpa"]
    assert list(numbers.curve("a", "sra")) == [9, 10]
    assert list(numbers.curve("b", "lpa")) == ["Monday", "Friday"]
    assert numbers.has("b", "lpa")
    assert not numbers.has("b", "sra")
    with pytest.raises(KeyError):
        numbers.at("b", "sra", 9)
