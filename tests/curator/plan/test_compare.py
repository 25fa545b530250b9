"""What a plan advises: publishing, noise and its price, and the theory behind it."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from math import hypot
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import crowdtally as ct
from crowdtally.core.privacy import Delta, Epsilon, Rho
from crowdtally.curator.plan.compare import (
    Guess,
    Noise,
    _words,
    best_limit,
    expected_error,
    ideal_limit,
)
from crowdtally.curator.plan.plan import make_plan
from crowdtally.curator.request.request import make_request
from crowdtally.errors import UsageError
from kit.command import crowdtally
from kit.publishing import visits

# ---- What ``plan`` advises on publishing: what was measured to be right (docs/sparse.md) ---------


def advice(cells, query, epsilon, total=None, **form):
    """Advice on a table of two attributes with so many cells in all."""
    domain = ct.Domain(attributes={"a": range(cells // 1000), "b": range(1000)})
    records = ct.read("nowhere.parquet", user_per_row=True, attributes=["a", "b"])
    request = make_request(records, domain, epsilon=epsilon, **form)
    return make_plan(request, query_cells=query, guess_total=total).as_dict()["advice"]


def summary(size, total):
    return {"summary": ct.FilterPriority(size), "total": total}


@pytest.mark.parametrize(
    ("cells", "query", "epsilon", "size", "total", "choice"),
    [
        # Adult's shape: 10^6 cells, 50,000 people
        (10**6, 1, "0.1", 10_000, 50_000, "filter-priority"),
        (10**6, 50_000, "0.1", 10_000, 50_000, "filter-priority"),
        (10**6, 600_000, "0.1", 10_000, 50_000, "dense"),
        (10**6, 700, "1", 10_000, 50_000, "filter-priority"),
        (10**6, 50_000, "1", 10_000, 50_000, "dense"),
        # LODES's shape: 10^8 cells, 500,000 jobs
        (10**8, 10_000, "1", 400_000, 500_000, "filter-priority"),
        (10**8, 10**6, "1", 400_000, 500_000, "filter-priority"),
        (10**8, 5 * 10**7, "1", 400_000, 500_000, "priority"),
        # a table of which every cell is well filled
        (10**4, 5000, "1", 2000, 500_000, "dense"),
    ],
)
def test_the_least_error_is_chosen(cells, query, epsilon, size, total, choice):
    found = advice(cells, query, epsilon, **summary(size, total))
    assert found["choose"] == choice
    assert found["cut_loses_at_most"] == pytest.approx(total * query / cells)
    whole = {
        "filter-priority": hypot(
            found["errors"]["filter-priority"], found["cut_loses_at_most"] / 2
        ),
        "priority": found["errors"]["priority"],
        "dense": found["errors"]["dense"],
    }
    assert whole[choice] == min(
        error for name, error in whole.items() if name != "dense" or cells <= 10**7
    )


def test_without_a_guess_nothing_is_weighed():
    few = advice(10**6, 100, "1", summary=ct.Filter(size=1000))
    many = advice(10**9, 100, "1", summary=ct.Filter(size=1000))
    assert (few["choose"], many["choose"]) == ("dense", "filter-priority")
    assert few["cut_loses_at_most"] is None
    assert "--guess-total" in few["why"]
    assert advice(10**6, None, "1") is None


def test_a_dense_plan_is_advised_too():
    assert advice(10**6, 10, "0.1", total=50_000)["choose"] == "filter-priority"
    assert advice(10**6, 10, "0.1")["size"] == 100_000


def test_errors_grow_with_the_root_of_the_question():
    one, hundred = (advice(10**6, query, "1", **summary(1000, 10))["errors"] for query in (1, 100))
    for name, error in one.items():
        assert hundred[name] == pytest.approx(10 * error)


def test_a_question_larger_than_the_table_is_the_table():
    assert advice(10**6, 10**12, "1")["errors"] == advice(10**6, 10**6, "1")["errors"]


def test_the_command_says_it(tmp_path, monkeypatch):
    monkeypatch.setenv("CROWDTALLY_LEDGER", str(tmp_path / "ledger.sqlite"))
    (tmp_path / "people.csv").write_text("a\n")
    command = [
        "plan", str(tmp_path / "people.csv"), "--user-per-row", "--attributes", "a",
        "--values", "a=0..9999",
        "--epsilon", "0.1", "--dataset", "x", "--summary", "filter:size=100",
        "--guess-total", "5000", "--query-cells", "10", "--new-dataset",
    ]  # fmt: skip
    ended = crowdtally(*command)
    assert ended.code == 0, str(ended)
    assert "A sum over 10 cells of the table 'cells'" in ended.out
    assert (
        "holds 5, of which a cut may lose half, or all. For it choose --summary filter-"
        in ended.out
    )
    facts = json.loads(crowdtally(*command, "--json").out)["advice"]
    assert set(facts["errors"]) == {"dense", "filter", "threshold", "priority", "filter-priority"}


# ---- Both prices side by side, and a δ that is too large -----------------------------------------


ROWS = visits({"a": 5, "b": 3})
DOMAIN = ct.Domain(["a", "b", *map(str, range(500))])


def plan(guesses: dict[str, int] | None = None, **options: Any) -> dict[str, Any]:
    records = ct.read(ROWS, user="user", item="item")
    request = make_request(records, DOMAIN, **({"epsilon": 1} | options))
    return make_plan(request, **(guesses or {})).as_dict()


@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_the_noise_of_both(delta: object) -> None:
    facts = plan(method=ct.SRA(100), count="users", delta=delta)["prices"]
    pure = make_request(
        ct.read(ROWS, user="user", item="item"),
        DOMAIN,
        epsilon=1,
        method=ct.SRA(100),
        count="users",
    )
    given = delta or "1e-9"
    bought = make_request(
        ct.read(ROWS, user="user", item="item"), DOMAIN, epsilon=1, method=ct.SRA(100),
        count="users", delta=given, noise="gaussian",
    )  # fmt: skip
    assert facts["given"] is bool(delta)
    assert facts["pure_std"] == {"items": pure.tables[0].law.std()}
    assert facts["std"] == {"items": bought.tables[0].law.std()}
    assert f"With delta = {given} the same epsilon buys a standard error of" in facts["words"]


def test_where_a_delta_buys_nothing_it_says_so() -> None:
    facts = plan(method=ct.SRA(1))["prices"]
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
    assert plan(guesses, method=ct.SRA(5), delta="1e-9")["delta_warning"] is None
    words = plan(guesses, method=ct.SRA(50), count="users", delta="1e-3")["delta_warning"]
    assert "Delta 0.001 is more than one over the guessed 5000 users" in words
    assert plan(method=ct.SRA(50), count="users", delta="1e-3")["delta_warning"] is None


# ---- Theorem 2, corrected: against enumeration, and against what the paper prints ----------------


guesses = st.builds(
    Guess, st.integers(1, 10**6), st.integers(1, 300), st.fractions(Fraction(1, 10**6), 1)
)
epsilons = st.fractions(Fraction(1, 100), 100).map(Epsilon)
rhos = st.fractions(Fraction(1, 10000), 10).map(Rho)
noises = epsilons.map(Noise.of) | st.builds(
    lambda rho, once: Noise.of(rho, once=once), rhos, st.booleans()
)


@pytest.mark.parametrize(
    ("users", "records", "limit"), [(2, 3, 1), (2, 3, 2), (1, 6, 2), (3, 2, 2)]
)
def test_the_bounding_error_by_enumeration(users, records, limit):
    """All assignments of items to records; records are exchangeable, so keep the first l."""
    p = Fraction(2, 7)
    mean = Fraction(0)
    for hits in product((0, 1), repeat=users * records):
        chance = p ** sum(hits) * (1 - p) ** (len(hits) - sum(hits))
        kept = sum(hit for i, hit in enumerate(hits) if i % records < limit)
        mean += chance * (kept - sum(hits)) ** 2
    assert expected_error(Guess(users, records, p), limit, Noise.of(Epsilon.of(1))).bounding == mean


def test_what_the_paper_prints_is_something_else():
    n, m, p, limit = 2, 3, Fraction(2, 7), 3
    printed = n * limit * p * (1 - p * limit / m) + (n * limit * p - n * m * p) ** 2
    assert printed > 0 == expected_error(Guess(n, m, p), limit, Noise.of(Epsilon.of(1))).bounding


@given(guesses, noises)
def test_the_best_limit_beats_its_neighbours(guess, noise):
    best = best_limit(guess, noise)
    assert 1 <= best <= guess.records
    least = expected_error(guess, best, noise).total
    for limit in {max(best - 1, 1), min(best + 1, guess.records), 1, guess.records}:
        assert least <= expected_error(guess, limit, noise).total


@given(guesses, epsilons, epsilons)
def test_more_epsilon_never_means_a_smaller_limit(guess, one, other):
    low, high = map(Noise.of, sorted((one, other)))
    assert 1 <= ideal_limit(guess, low) <= ideal_limit(guess, high) <= guess.records
    assert best_limit(guess, low) <= best_limit(guess, high)


def test_beyond_all_records_only_noise_is_left():
    error = expected_error(Guess(10, 5, Fraction(1, 2)), 8, Noise.of(Epsilon.of(2)))
    assert (error.bounding, error.noise, error.total) == (0, 32, 32)


@pytest.mark.parametrize(
    "wrong", [(0, 5, Fraction(1, 2)), (5, 0, Fraction(1, 2)), (5, 5, Fraction(0)), (5, 5, 0.5)]
)
def test_wrong_guesses(wrong):
    with pytest.raises(UsageError, match="guessed"):
        Guess(*wrong)
