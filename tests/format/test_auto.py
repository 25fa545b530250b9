"""A release of ``auto``: what it says of itself is parsed, and its rows are checked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crowdtally as ct
from crowdtally.check import check_release
from crowdtally.core.numbers import show
from crowdtally.format import Published, load
from crowdtally.format.agreement import auto_disagreements
from crowdtally.format.contents import check_contents
from crowdtally.format.load import what_counts
from crowdtally.format.manifest import BoundFacts, Manifest
from crowdtally.format.parse import shaped
from crowdtally.laws.conversion import rho_of
from kit.auto import adaptive, known_way
from kit.damage import adopt


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Published:
    folder = tmp_path_factory.mktemp("auto")
    options = {"method": ct.Auto("recommend", repeats=False, context_per_user="day")}
    return load(adaptive(folder, **options))


def test_its_steps_are_parsed(made: Published) -> None:
    auto = made.auto
    assert auto is not None
    assert (auto.purpose, auto.repeats, auto.context_per_user) == ("recommend", False, ("day",))
    assert (auto.path, auto.rich, auto.kappa) == ("long", True, 0.55)
    assert [step.name for step in auto.steps] == [table.name for table in made.tables]
    sizes, *others = auto.steps
    assert (sizes.cost, sizes.theta) == (Fraction(1, 10), None)  # 2.5% of ε = 4
    assert all(step.why for step in others)
    assert auto.theta("sizes") is auto.theta("head") is None
    assert auto.theta("items") == auto.theta("edges") == auto.theta("contexts")


def test_a_table_of_short_rows_costs_nothing_beside_the_others(made: Published) -> None:
    auto = made.auto
    assert auto is not None
    costs = {step.name: step.cost for step in auto.steps}
    assert costs["pilot_short"] == costs["pilot"] == Fraction(28, 100)
    assert sum(costs.values()) == 4 + costs["pilot_short"]
    assert auto.spent("epsilon") == made.charged.epsilon == 4


def test_a_release_of_a_named_method_has_none(made: Published, tmp_path: Path) -> None:
    from kit.stored import hamlet

    assert load(hamlet(tmp_path).folder).auto is None


def test_its_tables_know_their_cells(made: Published) -> None:
    tables = {table.name: table for table in made.tables}
    assert tables["sizes"].axes == tables["total"].axes == ()
    assert tables["pilot"].axes == tables["pilot_short"].axes == ("item",)
    assert tables["contexts"].axes == ("day",)
    assert tables["edges"].axes == ("item", "day")
    assert {name for name, table in tables.items() if table.is_chosen} == {"head"}
    assert (tables["sizes"].cells, tables["total"].cells) == (19, 1)
    theta = made.auto.theta("items") if made.auto is not None else None
    assert theta is not None
    bound = BoundFacts(theta, Fraction(1))
    assert made.method.bounds == {"items": bound, "edges": bound}


def test_what_a_count_counts_is_said_of_each_table(made: Published) -> None:
    said = {table.name: what_counts(made, table).words() for table in made.tables}
    theta = made.method.bounds["items"].bound
    assert said["items"] == (
        "each user is counted at most once in a cell, and their row scaled down to a sum of at "
        f"most {theta}"
    )
    assert said["head"].startswith("each user is counted once in each of their cells")


def test_every_row_of_it_is_right(made: Published) -> None:
    found = check_release(made)
    assert len(found.checked) == 1 + len(made.tables) + 1
    assert found.checked[-1].startswith("datapackage.json: SHA-256")


@pytest.mark.parametrize("name", ["rich", "long", "attributes", "sparse", "totals"])
def test_every_row_of_each_path_is_right(name: str) -> None:
    made = known_way(name)
    assert len(check_release(load(made.folder)).checked) == 2 + len(made.metadata["tables"])


def taken(*rows: int) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.take(pa.array(np.array(rows)))


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("head", taken(1, 0), "not in the order of the lists"),
        ("head", taken(0, 0), "one is there twice"),
        ("sizes", taken(*range(18), 17), "one is there twice"),
    ],
)
def test_rows_of_chosen_items_are_in_order(
    made: Published, tmp_path: Path, name: str, change: Callable[[pa.Table], pa.Table], words: str
) -> None:
    copy = made.save(tmp_path / "copy")
    path = copy.folder / f"{name}.parquet"
    pq.write_table(change(pq.read_table(path)), path)
    adopt(copy.folder, name)
    again = load(copy.folder)
    (table,) = (one for one in again.tables if one.name == name)
    with pytest.raises(ct.InputError, match=words):
        check_contents(again.folder, again.domain, table)


# ---- paid for in rho -------------------------------------------------------------------------

DELTA = "1e-9"


@pytest.fixture(scope="module", params=["auto", "gaussian"])
def in_rho(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Published:
    folder, noise = tmp_path_factory.mktemp("rho"), request.param
    told = {"method": ct.Auto("recommend", context_per_user="day"), "delta": DELTA, "noise": noise}
    return load(adaptive(folder, **told))


def test_steps_in_rho_are_parsed_and_add_up(in_rho: Published) -> None:
    auto, promised = in_rho.auto, in_rho.guarantee
    assert auto is not None
    assert auto.rho is not None
    turned = promised.rho is None
    pure = auto.spent("epsilon")
    assert pure == (Fraction(1, 10) if turned else 0)  # the sizes: 2.5% of ε = 4
    assert auto.rho == rho_of(4 - pure, Fraction(DELTA))
    assert auto.spent("rho") == auto.rho
    assert {step.paid_in for step in auto.steps[1:]} == {"rho"}
    items = in_rho.table("items")
    assert items is not None
    assert items.law.kind == "discrete-gaussian"
    shares = {step.name: auto.share(step, promised.epsilon) for step in auto.steps}
    assert shares["sizes"] == Fraction(25, 1000)
    assert sum(shares.values()) - shares["pilot_short"] == 1 + (Fraction(25, 1000) if turned else 0)


def test_every_row_of_it_is_right_too(in_rho: Published) -> None:
    assert len(check_release(in_rho).checked) == 1 + len(in_rho.tables) + 1


Change = Callable[[dict[str, Any]], None]


def more_rho(facts: dict[str, Any]) -> None:
    """As if what the sizes cost had not been spent; a little more than all where all is in ρ."""
    whole = rho_of(Fraction(4), Fraction(DELTA))
    if "rho" in facts["guarantee"]:
        whole += Fraction(1, 10**9)
    facts["auto"]["rho"] = show(whole)


def less(facts: dict[str, Any]) -> None:
    facts["auto"]["steps"].pop()


def back(facts: dict[str, Any]) -> None:
    facts["auto"]["steps"].append({"name": "edges", "epsilon": "1", "why": "no need"})


def no_rho(facts: dict[str, Any]) -> None:
    del facts["auto"]["rho"]


def other_bound(facts: dict[str, Any]) -> None:
    facts["method"]["bounds"]["items"]["bound"] *= 2


def another_theta(facts: dict[str, Any]) -> None:
    for step in facts["auto"]["steps"]:
        if step["name"] == "contexts":
            step["theta"] += 1


def unbounded(facts: dict[str, Any]) -> None:
    for step in facts["auto"]["steps"]:
        if step["name"] == "total":
            del step["theta"]


def bounded(facts: dict[str, Any]) -> None:
    facts["auto"]["steps"][0]["theta"] = 1


def without_totals(facts: dict[str, Any]) -> None:
    facts["auto"]["steps"] = [one for one in facts["auto"]["steps"] if one["name"] != "contexts"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (more_rho, "more than what is left of epsilon|more than guarantee.rho"),
        (less, "auto spent"),
        (less, "of which auto does not tell"),
        (back, "went back from rho to epsilon"),
        (no_rho, "does not say out of which"),
        (other_bound, "is not what auto tells of that table"),
        (another_theta, "bound of 'contexts' is not what one user can change"),
        (unbounded, "tells no bound of the table 'total'"),
        (bounded, "tells a bound of the table 'sizes'"),
    ],
)
def test_a_course_in_rho_that_does_not_add_up_is_damaged(
    in_rho: Published, change: Change, words: str
) -> None:
    facts = json.loads(json.dumps(in_rho.metadata))
    change(facts)
    found = list(auto_disagreements(shaped(facts, Manifest, ct.InputError)))
    assert any(re.search(words, one) for one in found), found
    assert not list(auto_disagreements(in_rho.manifest))


def test_items_in_contexts_need_the_totals_of_contexts(made: Published) -> None:
    facts = json.loads(json.dumps(made.metadata))
    without_totals(facts)
    facts["tables"] = [table for table in facts["tables"] if table["name"] != "contexts"]
    found = list(auto_disagreements(shaped(facts, Manifest, ct.InputError)))
    assert any("'edges' without a table 'contexts'" in one for one in found), found
