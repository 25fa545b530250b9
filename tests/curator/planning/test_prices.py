"""Both prices side by side, and a δ that is too large."""

from __future__ import annotations

from typing import Any

import pytest

import crowdtally as ct
from crowdtally.core.privacy import Delta
from crowdtally.curator.plan.compare import _words
from crowdtally.curator.plan.plan import make_plan
from crowdtally.curator.request.request import make_request
from kit.made import visits

ROWS = visits({"a": 5, "b": 3})
DOMAIN = ct.Domain(["a", "b", *map(str, range(500))])


def plan(guesses: dict[str, int] | None = None, **options: Any) -> dict[str, Any]:
    records = ct.read(ROWS, user="user", item="item")
    request = make_request(records, DOMAIN, **({"epsilon": 1} | options))
    return make_plan(request, **(guesses or {})).as_dict()


@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_the_noise_of_both(delta: object) -> None:
    facts = plan(max_records=100, count="users", delta=delta)["prices"]
    pure = make_request(
        ct.read(ROWS, user="user", item="item"), DOMAIN, epsilon=1, max_records=100, count="users"
    )
    given = delta or "1e-9"
    bought = make_request(
        ct.read(ROWS, user="user", item="item"), DOMAIN, epsilon=1, max_records=100,
        count="users", delta=given, noise="gaussian",
    )  # fmt: skip
    assert facts["given"] is bool(delta)
    assert facts["pure_std"] == {"items": pure.tables[0].law.std()}
    assert facts["std"] == {"items": bought.tables[0].law.std()}
    assert f"With delta = {given} the same epsilon buys a standard error of" in facts["words"]


def test_where_a_delta_buys_nothing_it_says_so() -> None:
    facts = plan(max_records=1)["prices"]
    assert facts["std"]["items"] > facts["pure_std"]["items"]
    assert facts["words"].startswith("A delta would not help here: with delta = 1e-9 the same ")
    assert "buy" not in facts["words"]
    assert facts["words"].endswith(" in 'items', which is no less.")


def test_where_a_delta_helps_one_table_alone_it_says_which() -> None:
    words = _words(Delta.of("1e-9"), {"items": 9.0, "edges": 2.0}, {"items": 3.0, "edges": 4.0})
    assert words == (
        "With delta = 1e-9 the same epsilon means a standard error of 3 instead of 9 in 'items' "
        "(less), 4 instead of 2 in 'edges' (no less)."
    )


def test_the_errors_of_auto_by_guesses() -> None:
    guesses = {"guess_users": 5000, "guess_records": 500_000}
    facts = plan(guesses, count="users")["prices"]
    assert facts["error"] < facts["pure_error"]
    assert "an error of about" in facts["words"]
    assert plan()["prices"] is None


def test_a_delta_above_one_over_the_users_is_warned_of() -> None:
    guesses = {"guess_users": 5000, "guess_records": 500_000}
    assert plan(guesses, max_records=5, delta="1e-9")["delta_warning"] is None
    words = plan(guesses, max_records=50, count="users", delta="1e-3")["delta_warning"]
    assert "Delta 0.001 is more than one over the guessed 5000 users" in words
    assert plan(max_records=50, count="users", delta="1e-3")["delta_warning"] is None
