"""What ``auto`` would do, planned from public guesses before anything is spent."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache
from typing import Any

import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.curator.plan.guesses import Imagined, laplace_like

FRAME = pa.table({"who": ["u"], "item": ["i7"], "sex": ["f"]})
"""A plan reads none of it."""
RECORDS = ct.read(FRAME, user="who", item="item", contexts=["sex"])
ITEMS = [f"i{number}" for number in range(2000)]
DOMAIN = ct.Domain(ITEMS, {"sex": ["f", "m"]})


@cache
def planned(users: int | None = 50_000, records: int | None = 1_000_000, **options: Any) -> Any:
    guesses = {"guess_users": users, "guess_records": records}
    return ct.plan(RECORDS, DOMAIN, **({"epsilon": 1} | options), **guesses)


def course(**given: Any) -> dict[str, Any]:
    found: dict[str, Any] = planned(**given).as_dict()["auto"]
    return found


def shares(found: dict[str, Any]) -> dict[str, Fraction]:
    return {step["name"]: Fraction(step["share"]) for step in found["steps"]}


def test_the_steps_and_their_shares_add_up() -> None:
    found = course(repeats="no")
    assert sum(shares(found).values()) + Fraction(found["unspent"]) == 1
    assert shares(found)["sizes"] == Fraction(3, 100)
    assert shares(found)["crowd"] == Fraction(3, 100), "Zipf's first items are in every row"
    assert all(step["why"] for step in found["steps"])
    (items,) = (step for step in found["steps"] if step["name"] == "items")
    assert 2 <= items["theta"] <= 8192


def test_what_it_is_for_moves_the_shares() -> None:
    top, counts = shares(course(for_="top", repeats="no")), shares(course(repeats="no"))
    assert top["head"] == Fraction(45, 100)
    assert top["items"] < counts["items"]
    assert "the order and the numbers of the largest items" in str(planned(for_="top"))


def test_the_expected_error_falls_with_epsilon() -> None:
    errors = [course(epsilon=e)["expected_error"]["rmse"] for e in ("0.2", 1, 5)]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > 2 * errors[2] > 0


def test_a_plan_is_the_same_each_time() -> None:
    given = {"epsilon": 1, "guess_users": 5000, "guess_records": 20_000}
    first, second = (ct.plan(RECORDS, DOMAIN, **given).as_dict() for _ in range(2))
    assert json.dumps(first) == json.dumps(second)


def test_too_few_users_are_said() -> None:
    few = str(planned(users=100, records=1000, epsilon="0.5"))
    assert "Too few users: under about 600 (300/epsilon), or three times as many where " in few
    assert "the sizes of users' rows are unreliable" in few
    assert course(users=100, records=1000, epsilon="0.5")["sizes_reliable"] is False
    assert "Too few users" not in str(planned())
    assert course()["sizes_reliable"] is True


def test_without_guesses_it_tells_ranges_and_what_is_not_known() -> None:
    plan = planned(users=None, records=None)
    text, found = str(plan), plan.as_dict()
    assert "Under about 300 users (300/epsilon)" in text
    assert "give guess_users and guess_records" in text
    assert found["auto"]["expected_error"] is None
    ends = {s["name"]: (s["share_from"], s["share_to"]) for s in found["auto"]["steps"]}
    assert ends["sizes"] == ("0.03", "0.03")
    assert ends["bins"] == ("0", "0.03")
    assert Fraction(ends["items"][0]) < Fraction(ends["items"][1]) <= 1
    assert "crowd" in ends
    assert "split_head" in ends


def test_no_noise_is_told_that_is_not_known() -> None:
    plan = planned()
    found = plan.as_dict()
    assert found["tables"] == []
    assert found["max_records"] is None
    assert found["trade_off"] is None
    assert repr(plan) == "<Plan ε=1 per user: auto decides as it goes>"
    assert "<table" not in plan._repr_html_()
    assert "Step" not in plan._repr_html_()
    asked = ct.plan(RECORDS, DOMAIN, epsilon=1, query_cells=7)
    assert "how ways of publishing compare for query_cells" in str(asked)
    assert asked.as_dict()["advice"] is None


def test_long_lists_are_planned_without_choosing_items() -> None:
    domain = ct.Domain([f"i{number}" for number in range(60_000)])
    records = ct.read(FRAME, user="who", item="item")
    plan = ct.plan(records, domain, epsilon=1, guess_users=9000, guess_records=90_000)
    found = plan.as_dict()["auto"]
    assert found["expected_error"]["rmse"] > 0
    assert found["expected_error"]["rmse_top"] is None
    assert sum(Fraction(step["share_to"]) for step in found["steps"]) == 1


def test_an_accuracy_is_refused_with_what_to_do() -> None:
    with pytest.raises(ct.UsageError) as caught:
        ct.plan(RECORDS, DOMAIN, half_width=50)
    assert "name a method, for example max_records=10" in str(caught.value)
    assert ct.plan(RECORDS, DOMAIN, half_width=50, max_records=10).as_dict()["accuracy"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"split": {"items": 1}}, "auto divides epsilon itself"),
        ({"for_": "top", "max_records": 3}, "for_, repeats, features and context_per_user are for"),
        ({"repeats": "no", "pairs": True}, "are for auto, which decides on the method itself"),
        ({"for_": "best"}, "unknown for_ 'best'"),
    ],
)
def test_what_auto_cannot_take_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ct.UsageError) as caught:
        ct.plan(RECORDS, DOMAIN, epsilon=1, **options)
    assert words in str(caught.value)


def test_rows_that_are_persons_are_as_before() -> None:
    rows = ct.read(FRAME, user_per_row=True, item="item")
    domain = ct.Domain(ITEMS)
    assert ct.plan(rows, domain, epsilon=1).as_dict()["auto"] is None
    with pytest.raises(ct.UsageError, match="nothing that auto could decide"):
        ct.plan(rows, domain, epsilon=1, for_="top")


def test_a_bound_without_a_rule_means_sra() -> None:
    for given in ({"max_records": 3}, {"max_records": 3, "bounding": "auto"}):
        found = ct.plan(RECORDS, DOMAIN, epsilon=1, **given).as_dict()
        assert (found["bounding"], found["max_records"], found["auto"]) == ("sra", 3, None)


def test_imagined_users_have_the_guessed_records() -> None:
    world = Imagined(10_000, 200_000, 500, 3, repeats=False)
    assert world.sizes().sum() == pytest.approx(10_000, abs=10)
    assert world.counts.sum() == pytest.approx(200_000, rel=0.01)
    assert world.counts[0] <= 10_000
    assert world.kept(1) == pytest.approx(1 / 20, rel=0.05)
    assert world.kept(10**6) == pytest.approx(1, abs=1e-9)
    cells = world.in_context(world.counts).reshape(500, 3)
    assert cells.sum(axis=1) == pytest.approx(world.counts)
    assert cells.std() > 0


def test_imagined_noise_is_spread_as_its_law() -> None:
    noise = laplace_like(100.0, 10_000)
    assert abs(noise.mean()) < 2
    assert noise.std() == pytest.approx(100 * 2**0.5, rel=0.03)
