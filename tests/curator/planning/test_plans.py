"""What ``plan`` says is what ``release`` does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.curator.plan.plan import make_plan
from crowdtally.curator.request.request import make_request

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
    """--scalings 2: the counts are published times 2, and so is their noise."""
    both = released(tmp_path, bounding="dpsense-s", scalings="2", count="users", max_records=1)
    assert both["planned"]["noise_std"] == both["made"]["noise"]["std"]
    assert both["planned"]["noise_std"] == pytest.approx(2 * 2**0.5, rel=1e-3)


def test_quantities_multiply_the_noise() -> None:
    """Sensitivity l·C, also in what bounding is weighed against; what is not known is said."""
    guesses = {"guess_users": 100, "guess_records": 1000}

    def planned(**roles: Any) -> dict[str, Any]:
        records = ct.read(ROWS, user="who", item="item", **roles)
        request = make_request(records, ct.Domain(["x", "y"]), epsilon=1, max_records=4)
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
    records, domain, options = attributes(values, transform=kind, ordered="home")
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
    request = make_request(records, domain, epsilon=1, guess_total=10**9)
    found = make_plan(request, query_cells=1000).as_dict()["advice"]
    assert found["errors"]["priority"] == pytest.approx(found["errors"]["dense"], rel=0.2)
    assert found["choose"] == "dense"


@pytest.mark.parametrize("total", [0, 5000, 10**9])
@pytest.mark.parametrize("query", [1, 1000, 10**6])
@pytest.mark.parametrize("values", [10**3, 10**6])
def test_what_is_advised_is_accepted(total: int, query: int, values: int) -> None:
    records, domain, _ = attributes(values)
    request = make_request(records, domain, epsilon=1, guess_total=total)
    found = make_plan(request, query_cells=query).as_dict()["advice"]
    words = found["options"].split()
    options = {name.removeprefix("--"): value for name, value in zip(words[::2], words[1::2])}  # noqa: B905
    given = options | ({"size": int(options["size"])} if "size" in options else {})
    make_request(records, domain, epsilon=1, guess_total=total, **given)
