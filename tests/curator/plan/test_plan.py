"""What a plan says is what a release does; for ``auto``, from public guesses."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.core.values import read
from crowdtally.curator.plan.guesses import Imagined, laplace_like
from crowdtally.curator.plan.plan import make_plan
from crowdtally.curator.request.request import make_request
from crowdtally.curator.summaries import PUBLISHINGS

# ---- What ``plan`` says is what ``release`` does -------------------------------------------------


ROWS = pa.table({"who": ["a", "b", "b"], "item": ["x", "y", "x"], "age": [1, 2, 3]})


def released(folder: Path, **options: Any) -> dict[str, Any]:
    records = ct.read(ROWS, user="who", item="item")
    made = ct.release(
        records,
        ct.Domain(["x", "y"]),
        epsilon=1,
        ledger=folder / "l",
        dataset="d",
        **options,
        new_dataset=True,
    )
    planned = ct.plan(records, ct.Domain(["x", "y"]), epsilon=1, **options).as_dict()
    return {"planned": planned["tables"][-1], "made": made.metadata["tables"][-1]}


def test_the_noise_of_dpsense_s_is_scaled(tmp_path: Path) -> None:
    """A scaling of 2: the counts are published times 2, and so is their noise."""
    both = released(tmp_path, method=ct.DPSenseS(1, scalings="2"), count="users")
    assert both["planned"]["noise_std"] == both["made"]["noise"]["std"]
    assert both["planned"]["noise_std"] == pytest.approx(2 * 2**0.5, rel=1e-3)


def test_quantities_multiply_the_noise() -> None:
    """Sensitivity l·C, also in what bounding is weighed against; what is not known is said."""
    guesses = {"guess_users": 100, "guess_records": 1000}

    def planned(**roles: Any) -> dict[str, Any]:
        records = ct.read(ROWS, user="who", item="item", **roles)
        request = make_request(records, ct.Domain(["x", "y"]), epsilon=1, method=ct.SRA(4))
        return make_plan(request, **guesses).as_dict()

    once, several = planned(), planned(quantity="age", max_quantity=5)
    assert (once["tables"][0]["sensitivity"], several["tables"][0]["sensitivity"]) == ("4", "20")
    assert several["tables"][0]["noise_std"] == pytest.approx(20 * 2**0.5, rel=1e-2)
    noise = [plan["trade_off"]["rmse_from_noise"] for plan in (once, several)]
    assert noise[1] == pytest.approx(5 * noise[0])
    assert several["trade_off"]["best_max_records"] <= once["trade_off"]["best_max_records"]
    assert any("how often records count" in words for words in several["unknown"])
    assert not any("how often records count" in words for words in once["unknown"])


def attributes(values: int, **options: Any) -> tuple[ct.Records, ct.Domain, dict[str, Any]]:
    records = ct.read("nowhere.parquet", user_per_row=True, attributes=["home"])
    return records, ct.Domain(attributes={"home": range(values)}), options


@pytest.mark.parametrize("kind", ["dyadic", "haar"])
def test_a_range_of_a_transform_has_few_nodes_or_coefficients(kind: str, tmp_path: Path) -> None:
    """The planned error of a range is near the one that a reader is told."""
    values, query = 4000, 1000
    transform = ct.Dyadic("home") if kind == "dyadic" else ct.Haar("home")
    records, domain, options = attributes(values, transform=transform)
    request = make_request(records, domain, epsilon=1, **options)
    planned = make_plan(request, query_cells=query).as_dict()["advice"]["errors"]["dense"]
    rows = pa.table({"home": np.arange(values)})
    made = ct.release(
        ct.read(rows, user_per_row=True, attributes=["home"]), domain, epsilon=1,
        ledger=tmp_path / "l", dataset="homes", **options, new_dataset=True,
    )  # fmt: skip
    told = [
        made.range("home", start, start + query - 1).standard_error
        for start in range(0, values - query, 137)
    ]
    mean = sum(told) / len(told)
    assert mean / 1.7 < planned < mean * 1.7
    plain = make_plan(
        make_request(records, domain, epsilon=1), query_cells=query
    ).as_dict()["advice"]["errors"]["dense"]  # fmt: skip
    assert planned < plain if kind == "haar" else planned < 2 * plain


def test_where_two_are_alike_nothing_is_left_out() -> None:
    """A sample of as many cells as there are is no sample: dense is advised, and is accepted."""
    records, domain, _ = attributes(1000)
    request = make_request(records, domain, epsilon=1)
    found = make_plan(request, query_cells=1000, guess_total=10**9).as_dict()["advice"]
    assert found["errors"]["priority"] == pytest.approx(found["errors"]["dense"], rel=0.2)
    assert found["choose"] == "dense"


@pytest.mark.parametrize("total", [0, 5000, 10**9])
@pytest.mark.parametrize("query", [1, 1000, 10**6])
@pytest.mark.parametrize("values", [10**3, 10**6])
def test_what_is_advised_is_accepted(total: int, query: int, values: int) -> None:
    records, domain, _ = attributes(values)
    request = make_request(records, domain, epsilon=1)
    found = make_plan(request, query_cells=query, guess_total=total or None).as_dict()["advice"]
    option, typed = found["options"].split()
    assert option == "--summary"
    make_request(records, domain, epsilon=1, summary=read(PUBLISHINGS, typed))


# ---- What ``auto`` would do, planned from public guesses before anything is spent ----------------


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
    found = course(method=ct.Auto(repeats=False))
    assert sum(shares(found).values()) == 1
    assert shares(found)["sizes"] == Fraction(25, 1000)
    assert shares(found)["head"] == Fraction(85, 1000), "rows are long"
    assert all(step["why"] for step in found["steps"])
    (items,) = (step for step in found["steps"] if step["name"] == "items")
    assert 2 <= items["theta"] <= 16384


def test_tables_of_short_rows_cost_nothing_more() -> None:
    found = course(users=10**7, records=3 * 10**7, method=ct.Auto("top"))
    assert sum(shares(found).values()) == 1
    assert shares(found)["pilot_short"] == 0
    assert shares(found)["pilot"] == Fraction(7, 100)


def test_what_it_is_for_moves_the_shares() -> None:
    top, counts = (
        shares(course(method=ct.Auto("top", repeats=False))),
        shares(course(method=ct.Auto(repeats=False))),
    )
    assert top["head"] == Fraction(40, 100)
    assert top["items"] < counts["items"]
    assert "the order and the numbers of the largest items" in str(planned(method=ct.Auto("top")))


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
    assert "Too few users: under about 2000 (1000/epsilon), or three times as many where " in few
    assert "the lengths of users' rows are hardly known" in few
    assert course(users=100, records=1000, epsilon="0.5")["sizes_reliable"] is False
    assert "Too few users" not in str(planned())
    assert course()["sizes_reliable"] is True


def test_without_guesses_it_tells_ranges_and_what_is_not_known() -> None:
    plan = planned(users=None, records=None)
    text, found = str(plan), plan.as_dict()
    assert "Under about 1000 users (1000/epsilon)" in text
    assert "give guess_users and guess_records" in text
    assert found["auto"]["expected_error"] is None
    ends = {s["name"]: (s["share_from"], s["share_to"]) for s in found["auto"]["steps"]}
    assert ends["sizes"] == ("0.025", "0.025")
    assert ends["total"] == ("0", "0.045")
    assert Fraction(ends["items"][0]) < Fraction(ends["items"][1]) <= 1
    assert {"edges", "contexts", "zoom", "head"} <= ends.keys()


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
    assert "name a method, for example method=ct.SRA(max_records=10)" in str(caught.value)
    assert ct.plan(RECORDS, DOMAIN, half_width=50, method=ct.SRA(10)).as_dict()["accuracy"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"split": {"items": 1}}, "auto divides epsilon itself"),
        ({"method": ct.Auto(repeats=False), "pairs": True}, "counts no pairs"),
        ({"method": ct.Auto("top"), "summary": ct.Filter(cut=3)}, "decides itself what is publ"),
        ({"method": ct.Auto("top"), "transform": ct.Dyadic("sex")}, "decides itself what is pu"),
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
    with pytest.raises(ct.UsageError, match="nothing to bound"):
        ct.plan(rows, domain, epsilon=1, method=ct.Auto("top"))


@pytest.mark.parametrize(
    "given", [{"summary": ct.Filter(cut=3)}, {"transform": ct.Dyadic("sex")}, {"method": ct.SRA()}]
)
def test_a_form_without_a_method_means_sra(given: dict[str, Any]) -> None:
    found = ct.plan(RECORDS, DOMAIN, epsilon=1, **given).as_dict()
    assert (found["bounding"], found["max_records"], found["auto"]) == ("sra", 10, None)


@pytest.mark.parametrize("given", [{}, {"summary": ct.Dense()}, {"method": ct.Auto()}])
def test_nothing_named_means_auto(given: dict[str, Any]) -> None:
    assert ct.plan(RECORDS, DOMAIN, epsilon=1, **given).as_dict()["auto"] is not None


def test_imagined_users_have_the_guessed_records() -> None:
    world = Imagined(10_000, 200_000, 500, 3, repeats=False)
    assert world.lengths().sum() == pytest.approx(10_000, abs=10)
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
