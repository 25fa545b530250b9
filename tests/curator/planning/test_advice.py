"""What ``plan`` advises on publishing: what was measured to be right (docs/sparse.md)."""

from __future__ import annotations

import json
from math import hypot

import pytest

import crowdtally as ct
from crowdtally.curator.plan.plan import make_plan
from crowdtally.curator.request.request import make_request
from kit.command import crowdtally


def advice(cells, query, epsilon, **form):
    """Advice on a table of two attributes with so many cells in all."""
    domain = ct.Domain(attributes={"a": range(cells // 1000), "b": range(1000)})
    records = ct.read("nowhere.parquet", user_per_row=True, attributes=["a", "b"])
    request = make_request(records, domain, epsilon=epsilon, **form)
    return make_plan(request, query_cells=query).as_dict()["advice"]


def summary(size, total):
    return {"publishing": "filter-priority", "size": size, "guess_total": total}


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
    few = advice(10**6, 100, "1", publishing="filter", size=1000)
    many = advice(10**9, 100, "1", publishing="filter", size=1000)
    assert (few["choose"], many["choose"]) == ("dense", "filter-priority")
    assert few["cut_loses_at_most"] is None
    assert "--guess-total" in few["why"]
    assert advice(10**6, None, "1") is None


def test_a_dense_plan_is_advised_too():
    assert advice(10**6, 10, "0.1", guess_total=50_000)["choose"] == "filter-priority"
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
        "--epsilon", "0.1", "--dataset", "x", "--publishing", "filter", "--size", "100",
        "--guess-total", "5000", "--query-cells", "10", "--new-dataset",
    ]  # fmt: skip
    ended = crowdtally(*command)
    assert ended.code == 0, str(ended)
    assert "A sum over 10 cells of the table 'cells'" in ended.out
    assert (
        "holds 5, of which a cut may lose half, or all. For it choose --publishing filter-"
        in ended.out
    )
    facts = json.loads(crowdtally(*command, "--json").out)["advice"]
    assert set(facts["errors"]) == {"dense", "filter", "threshold", "priority", "filter-priority"}
