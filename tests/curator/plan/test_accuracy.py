"""From accuracy to ε, and what will be noise: from public numbers, before anything is spent."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.plan.accuracy import Target, width_of
from crowdtally.curator.request.request import make_request
from crowdtally.laws.laplace import DiscreteLaplace
from kit.command import crowdtally

ITEMS = [f"i{n}" for n in range(100)]
DAYS = {"day": range(7)}
EMPTY = pa.table({"u": pa.array([], pa.int64()), "item": pa.array([], pa.string()),
                  "day": pa.array([], pa.int64()), "a": pa.array([], pa.int64())})  # fmt: skip
RECORDS = ct.read(EMPTY, user="u", item="item", contexts=["day"])
DOMAIN = ct.Domain(ITEMS, DAYS)
FORMS: list[dict[str, Any]] = [
    {},
    {"method": ct.SRA(3), "split": {"items": "1/4", "edges": "3/4"}},
    {"method": ct.HPA()},
    {"method": ct.DPSense(choose="rank"), "count": "users"},
    {"transform": ct.Haar("day")},
    {"transform": ct.Dyadic("day")},
    {"transform": ct.Sketch(64)},
    {"summary": ct.Filter(size=50)},
    {"summary": ct.FilterPriority(50)},
    {"pairs": True},
]


def request_at(epsilon: object, form: dict[str, Any]) -> Any:
    simple = "pairs" in form
    records = ct.read(EMPTY, user="u", item="item") if simple else RECORDS
    return make_request(
        records,
        ct.Domain(ITEMS) if simple else DOMAIN,
        epsilon=epsilon,
        **({"method": ct.SRA(10)} | form),
    )


def planned(form: dict[str, Any], **more: Any) -> ct.Plan:
    simple = "pairs" in form
    records = ct.read(EMPTY, user="u", item="item") if simple else RECORDS
    return ct.plan(
        records, ct.Domain(ITEMS) if simple else DOMAIN, **({"method": ct.SRA(10)} | form), **more
    )


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("of", ["item", "cell", "sum:5"])
def test_it_is_the_smallest_of_four_digits(form: dict[str, Any], of: str) -> None:
    """Made anew at that ε the interval fits; at the next smaller one it does not."""
    found = planned(form, half_width=25, accuracy_of=of).request.epsilon.value
    digits = len(str(found.numerator * 10**12 // found.denominator)) - 12
    step = Fraction(10) ** (digits - 4)
    assert found / step == int(found / step)
    target = Target.of(25, of)
    assert width_of(request_at(found, form), target) <= 25
    assert width_of(request_at(found - step, form), target) > 25


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_a_request_at_another_epsilon_is_the_request_made_anew(form: dict[str, Any]) -> None:
    moved, anew = request_at(9, form).at(Epsilon.of("0.7")), request_at("0.7", form)
    assert moved.epsilon == anew.epsilon
    for one, other in zip(moved.tables, anew.tables, strict=True):
        assert (one.law, one.keeping, one.charge()) == (other.law, other.keeping, other.charge())
    if moved.popularity is not None:
        assert moved.popularity.law == anew.popularity.law


def test_the_interval_of_the_release_is_what_was_asked_for(tmp_path: Path) -> None:
    rows = pa.table({"u": ["a"], "item": ["i1"], "day": [3]})
    records = ct.read(rows, user="u", item="item", contexts=["day"])
    plan = ct.plan(records, DOMAIN, half_width="12.5", method=ct.SRA(10))
    made = ct.release(
        records,
        DOMAIN,
        epsilon=str(plan.request.epsilon),
        ledger=tmp_path / "l",
        dataset="d",
        new_dataset=True,
        method=ct.SRA(10),
    )
    row = made.top(1)[0]
    assert row.high is not None
    assert row.low is not None
    assert row.high - row.low == 2 * 12
    assert plan.as_dict()["accuracy"]["reached"] == 12


def test_discovered_items() -> None:
    records = ct.read(EMPTY, user="u", item="item")
    plan = ct.plan(records, half_width=10, method=ct.Discover("item", 2), delta="1e-9")
    (table,) = plan.request.discovery.tables  # type: ignore[union-attr]
    assert table.rule.law.half_width(Fraction(19, 20)) == 10
    assert "but for a probability of 1e-9" in str(plan)
    with pytest.raises(ct.UsageError, match="say accuracy_of='item'"):
        ct.plan(
            records, half_width=10, accuracy_of="sum:2", method=ct.Discover("item"), delta="1e-9",
        )  # fmt: skip


def test_odds_are_said() -> None:
    text = str(ct.plan(RECORDS, DOMAIN, half_width=60, method=ct.SRA(10)))
    first, second, third = text.splitlines()[:3]
    assert first.startswith("For 95% of the noise in one item's count within ±60 type epsilon=")
    assert "one of 50% at most 73" in second
    assert third.startswith("Cost: epsilon 0.99")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "give epsilon=E, or half_width=N to find the smallest that will do: received neither"),
        ({"epsilon": 1, "half_width": 5}, "received both"),
        ({"epsilon": 1, "accuracy_of": "item"}, "accuracy_of says of what half_width=N is meant"),
        ({"half_width": 0}, "half_width must be greater than 0: received 0"),
        ({"half_width": -3}, "greater than 0: received -3"),
        ({"half_width": "wide"}, "half_width must be an exact finite number"),
        ({"half_width": 5, "accuracy_of": "sum"}, "whole number of cells of at least 1"),
        ({"half_width": 5, "accuracy_of": "sum:0"}, "whole number of cells of at least 1"),
        ({"half_width": 5, "accuracy_of": "sum:1.5"}, "received 'sum:1.5'"),
        ({"half_width": 5, "accuracy_of": "cells"}, "accuracy_of takes item, cell or sum:R"),
        ({"half_width": 5, "accuracy_of": "sum:701"}, "more than the 700 cells of the table 'edge"),
        ({"half_width": "0.001", "method": ct.SRA(4000)}, "an epsilon above 1000, which protects"),
    ],
)
def test_what_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ct.UsageError) as raised:
        ct.plan(RECORDS, DOMAIN, **({"method": ct.SRA(10)} | given))
    assert words in str(raised.value)


def test_attributes_have_no_item() -> None:
    records = ct.read(EMPTY, user_per_row=True, attributes=["a"])
    domain = ct.Domain(attributes={"a": range(9)})
    words = "no items: say accuracy_of='cell', or accuracy_of='sum:R' with"
    with pytest.raises(ct.UsageError, match=words):
        ct.plan(records, domain, half_width=5)
    assert ct.plan(records, domain, half_width=5, accuracy_of="cell").request.epsilon.value < 1


# ---- the command, and what will be noise --------------------------------------------------------

COMMAND = [
    "plan", "rows.csv", "--user-per-row", "--attributes", "a", "--values", "a=0..99",
    "--dataset", "x", "--new-dataset",
]  # fmt: skip


@pytest.fixture
def _ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROWDTALLY_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("a\n")


@pytest.mark.usefixtures("_ledger")
def test_the_command_finds_epsilon_and_says_what_to_type() -> None:
    ended = crowdtally(*COMMAND, "--half-width", "20", "--accuracy-of", "sum:4")
    assert ended.code == 0, str(ended)
    facts = json.loads(
        crowdtally(*COMMAND, "--half-width", "20", "--accuracy-of", "sum:4", "--json").out
    )
    first = ended.out.splitlines()[0]
    assert f"a sum of 4 cells within ±20 type --epsilon {facts['epsilon']}:" in first
    again = crowdtally(*COMMAND, "--epsilon", facts["epsilon"], "--json")
    assert json.loads(again.out)["tables"] == facts["tables"]
    for more, words in (
        ([], "give --epsilon E, or --half-width N"),
        (["--epsilon", "1", "--half-width", "3"], "received both"),
        (["--half-width", "3"], "say --accuracy-of cell, or --accuracy-of sum:R"),
    ):
        ended = crowdtally(*COMMAND, *more)
        assert ended.code == 2, str(ended)
        assert words in ended.err


@pytest.mark.usefixtures("_ledger")
def test_a_found_epsilon_is_checked_against_the_budget() -> None:
    assert crowdtally("ledger", "create", "x", "--epsilon", "1/100").code == 0
    ended = crowdtally(*COMMAND, "--half-width", "2", "--accuracy-of", "cell")
    assert ended.code not in (0, 2), str(ended)
    assert crowdtally(*COMMAND, "--half-width", "900", "--accuracy-of", "cell").code == 0


@pytest.mark.usefixtures("_ledger")
def test_what_will_be_noise_is_said_first() -> None:
    floor = DiscreteLaplace(Fraction(1)).floor(100)
    enough = (floor + 1) * 100
    for total, noise in ((enough, False), (floor * 100, True)):
        words = ["plan", *COMMAND[1:], "--epsilon", "1", "--guess-total", f"{total}"]
        ended = crowdtally(*words)
        assert ended.code == 0, str(ended)
        assert ended.out.startswith("This will be noise") == noise
        assert f"such counts take {enough} in all" in ended.out
        (table,) = json.loads(crowdtally(*words, "--json").out)["tables"]
        assert table["will_be_noise"] is noise
        assert table["noise_floor"] == floor
    for command in (["plan"], ["release", "--dry-run"]):
        silent = crowdtally(*command, *COMMAND[1:], "--epsilon", "1")
        assert "This will be noise" not in silent.out
        assert f"A count above {floor} is told apart from noise" in silent.out
    assert "Counted: Each row is counted once, as a person of its own" in silent.out


def test_guesses_of_records_are_bounded_by_users() -> None:
    """100 users of 1,000 records each have 1,000 counted at a bound of 10, not 100,000."""
    guessed = {"guess_users": 100, "guess_records": 100_000}
    plan = ct.plan(RECORDS, DOMAIN, epsilon=10, **({"method": ct.SRA(10)} | guessed))
    items, edges = plan.as_dict()["tables"]
    assert (items["guessed_per_cell"], edges["guessed_per_cell"]) == (10, 1000 / 700)
    assert items["will_be_noise"]
    assert str(plan).startswith("This will be noise: spread evenly over the 100 cells of")
    alone = ct.plan(
        RECORDS, DOMAIN, epsilon=10, guess_records=100_000, method=ct.SRA(10)
    ).as_dict()["tables"][0]
    assert (alone["guessed_per_cell"], alone["will_be_noise"]) == (1000, False)


def test_a_private_choice_says_at_most() -> None:
    plan = ct.plan(RECORDS, DOMAIN, epsilon=1, method=ct.SRA(20, choose="rank"))
    assert "At most 20 records of each user are counted (or fewer:" in str(plan)


def test_more_cells_need_more() -> None:
    """One item in half of ε; a sum of 100 cells about ten times the ε of one."""
    one, cell, many = (
        float(
            ct.plan(
                RECORDS, DOMAIN, half_width=90, accuracy_of=of, method=ct.SRA(10)
            ).request.epsilon.value
        )
        for of in ("item", "cell", "sum:100")
    )
    assert one == cell
    assert 8 * cell < many < 12 * cell
