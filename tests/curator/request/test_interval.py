"""``--count users --noise interval``: what it makes and counts, and what does not go with it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.core.layout import EDGES, ITEMS
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.method import method_of
from crowdtally.curator.plan.plan import make_plan
from crowdtally.curator.request.request import make_request
from crowdtally.curator.request.table_specs import MOST_MEASURED
from crowdtally.curator.table import Measured
from crowdtally.laws.base import Combination
from crowdtally.noise.draws import SystemDraws
from kit.damage import edit
from kit.draws import SilentDraws
from kit.publishing import made

DAYS, SHOPS = ["Mon", "Tue", "Wed"], ["A", "B"]
USERS = {"count": "users", "noise": "interval"}
ROWS = [
    ("ann", "Mon", "A"), ("ann", "Mon", "A"), ("ann", "Mon", "B"), ("ann", "Tue", "A"),
    ("bob", "Mon", "A"), ("bob", "Sun", "A"), (None, "Wed", "A"), ("cem", "Wed", "B"),
]  # fmt: skip
VISITS = pa.table(
    {name: [row[place] for row in ROWS] for place, name in enumerate(("user", "day", "shop"))}
)
DOMAIN = ct.Domain(DAYS, {"shop": SHOPS}, item="day")


def asked(**options: Any) -> Any:
    records = ct.read(VISITS, user="user", item="day", contexts=["shop"])
    return make_request(records, DOMAIN, **({"epsilon": "1"} | USERS | options))


def released(folder: Path, **options: Any) -> ct.Release:
    """Without noise, unless draws are given."""
    options = {"draws": SilentDraws()} | USERS | options
    return made(folder, VISITS, DOMAIN, roles={"item": "day"}, **options)


def test_every_table_has_the_rate_of_its_own_share() -> None:
    request = asked(split={"items": "0.25", "edges": "0.75"})
    assert all(isinstance(table, Measured) for table in request.tables)
    rates = {table.name: (table.law.rate, table.law.cells) for table in request.tables}
    assert rates == {ITEMS.name: (Fraction(1, 4), 3), EDGES.name: (Fraction(3, 4), 6)}
    method = method_of(request)
    assert [(p.name, p.mechanism, p.epsilon) for p in method.parts] == [
        ("items", "interval", Epsilon.of("1/4")), ("edges", "interval", Epsilon.of("3/4")),
    ]  # fmt: skip
    half = request.at(Epsilon.of("1/2"))
    assert [table.law.rate for table in half.tables] == [Fraction(1, 8), Fraction(3, 8)]


def test_each_user_counts_once_in_a_cell(tmp_path: Path) -> None:
    """However many cells that are; in the items once, though she was there in two contexts."""
    release = released(tmp_path)
    assert {row.item: row.count for row in release.top(3)} == {"Mon": 2, "Tue": 1, "Wed": 1}
    cells = {(day, shop): release.sum(day=day, shop=shop).value for day in DAYS for shop in SHOPS}
    assert {cell: users for cell, users in cells.items() if users} == {
        ("Mon", "A"): 2, ("Mon", "B"): 1, ("Tue", "A"): 1, ("Wed", "B"): 1,
    }  # fmt: skip


def test_a_release_says_what_it_is(tmp_path: Path) -> None:
    release = released(tmp_path, draws=SystemDraws())
    assert release.metadata["method"]["bounding"] == "distinct"
    assert release.metadata["counted"] == "users"
    words = str(release.describe())
    assert "Nothing was cut: one user counts once in each of their cells" in words.replace(
        "\n    ", " "
    )
    assert "The bound was given" not in words
    assert "bounding left out" not in words
    assert "each of their cells, however many" in release.sum(shop="A").what_counts


def test_sums_know_that_cells_are_correlated(tmp_path: Path) -> None:
    release = released(tmp_path)
    (edges,) = [table for table in asked().tables if table.name == "edges"]
    for cells, found in ((1, release.sum(day="Mon", shop="A")), (3, release.sum(shop="A"))):
        assert found.standard_error == pytest.approx(edges.law.std(Combination.of_cells(cells)))
        width = edges.law.half_width(Fraction(19, 20), cells) * edges.law.unit
        assert found.high - found.value == pytest.approx(float(width))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rate": "1/3"}, "noise rate that is not its epsilon divided by its sensitivity"),
        ({"cells": 4}, "interval noise of 4 cells on 3 cells"),
        ({"phantoms": 3}, "noise of standard deviation"),
        ({"phantoms": 65}, "must be a whole number <= 64"),
        ({"std": 1.0}, "noise of standard deviation 1.0"),
        ({"blocks": 0}, "must be a whole number >= 1"),
        ({"rate": "-1"}, "must be an exact number above 0"),
        ({"law": "discrete Laplace: Pr[k] proportional to exp(-|k|/scale), in units"},
         "numbers are not those of its law"),
    ],
)  # fmt: skip
def test_a_release_whose_noise_was_changed_is_refused(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    folder = released(tmp_path).folder
    edit(folder, lambda facts: facts["tables"][0]["noise"].update(change))
    with pytest.raises(ct.InputError, match=words):
        ct.load(folder)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"count": "records"}, "add --count users"),
        ({"method": ct.SRA(5)}, "bounds nobody"),
        ({"method": ct.HPA()}, "bounds nobody"),
        ({"method": ct.DPSense()}, "bounds nobody"),
        ({"method": ct.SRA(choose="rank")}, "bounds nobody"),
        ({"method": ct.Auto("top")}, "bounds nobody"),
        ({"pairs": True}, "remove --pairs or --discover"),
        ({"summary": ct.Filter(cut=2)}, "published as they are"),
        ({"transform": ct.Sketch(4)}, "published as they are"),
        ({"noise": "intervals"}, "Did you mean 'interval'"),
        ({"epsilon": "1e-20"}, "beyond any count"),
    ],
)
def test_what_does_not_go_with_it_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ct.UsageError, match=words):
        asked(**options)


def test_rows_that_are_persons_need_none() -> None:
    with pytest.raises(ct.UsageError, match="remove --noise interval"):
        make_request(
            ct.read(VISITS, user_per_row=True, item="day"), ct.Domain(DAYS), epsilon=1, **USERS
        )


def test_discovered_items_have_none() -> None:
    with pytest.raises(ct.UsageError, match="known beforehand"):
        make_request(
            ct.read(VISITS, user="user", item="day"), None, epsilon=1, delta="1e-9",
            method=ct.Discover("item"), **USERS,
        )  # fmt: skip


def test_too_many_cells_are_refused_by_their_number() -> None:
    records = ct.read(VISITS, user="user", item="day")
    many = ct.Domain([str(number) for number in range(MOST_MEASURED + 1)])
    with pytest.raises(ct.UsageError, match=f"{MOST_MEASURED + 1} cells, and --noise interval"):
        make_request(records, many, epsilon=1, **USERS)
    with pytest.raises(ct.UsageError, match="or remove noise='interval'"):
        ct.plan(records, many, epsilon=1, **USERS)


def test_attributes_can_have_it(tmp_path: Path) -> None:
    records = ct.read(VISITS, user="user", attributes=["day", "shop"])
    domain = ct.Domain(attributes={"day": DAYS, "shop": SHOPS})
    (table,) = make_request(records, domain, epsilon=1, **USERS).tables
    assert (table.name, table.law.cells) == ("cells", 6)


def test_a_plan_says_what_a_release_does(tmp_path: Path) -> None:
    planned = make_plan(asked()).as_dict()
    told = released(tmp_path).metadata["tables"]
    assert [one["noise_std"] for one in planned["tables"]] == [t["noise"]["std"] for t in told]
    assert planned["max_records"] is None
    assert "each of their cells, however many" in planned["what_counts"]
    assert planned["interval_noise"]["words"].startswith("Nobody is bounded.")


@pytest.mark.parametrize(("bound", "better"), [(10, True), (1, False)])
def test_a_plan_compares_bounding_with_it(bound: int, better: bool) -> None:
    """√((m+2)(m+3)/6) < √2·θ: for three and six cells 2.2 and 3.5, against 14.1 or 1.4."""
    options = {"noise": "laplace", "method": ct.SRA(bound)}
    plan = make_plan(asked(**options))
    found = plan.as_dict()["interval_noise"]
    assert found["better"] is better
    assert ("--count users --noise interval" in found["words"]) is better
    assert found["std"]["items"] == pytest.approx(asked().tables[0].law.std())
    assert found["words"].split(":")[0].replace("--noise interval", "noise='interval'") in str(plan)


@pytest.mark.parametrize(
    "options",
    [{"count": "records"}, {"summary": ct.Filter(cut=2)}, {"pairs": True}],
    ids=["records", "a summary", "pairs"],
)
def test_a_plan_compares_only_what_could_have_it(options: dict[str, Any]) -> None:
    if "pairs" in options:
        records = ct.read(VISITS, user="user", item="day")
        request = make_request(records, ct.Domain(DAYS), epsilon=1, count="users", **options)
    else:
        request = asked(**({"noise": "laplace"} | options))
    assert make_plan(request).as_dict()["interval_noise"] is None
