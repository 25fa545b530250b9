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
from crowdtally.format.manifest import BoundFacts
from crowdtally.laws.conversion import rho_of
from kit.auto import GROUPS, PASSED_OVER, TASTES, THETA, adaptive
from kit.damage import adopt


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Published:
    folder = tmp_path_factory.mktemp("auto")
    return load(adaptive(folder, for_="recommend", context_per_user="day"))


def test_its_steps_are_parsed(made: Published) -> None:
    auto = made.auto
    assert auto is not None
    assert (auto.purpose, auto.repeats, auto.context_per_user) == ("recommend", True, ("day",))
    assert [step.name for step in auto.taken] == [table.name for table in made.tables]
    items, head = auto.step("items"), auto.step("head")
    assert items is not None
    assert (items.cost, items.facts) == (Fraction(8, 5), {"theta": THETA})
    assert head is not None
    assert (head.is_taken, head.cost, head.why) == (False, 0, PASSED_OVER)
    assert auto.step("edges") is None
    spent = sum((step.cost for step in auto.steps), Fraction(0))
    assert spent + auto.unspent == made.charged.epsilon == 4


def test_a_release_of_a_named_method_has_none(made: Published, tmp_path: Path) -> None:
    from kit.stored import hamlet

    assert load(hamlet(tmp_path).folder).auto is None


def test_its_tables_know_their_cells(made: Published) -> None:
    tables = {table.name: table for table in made.tables}
    assert tables["sizes"].axes == ()
    assert tables["pilot"].axes == tables["zoom"].axes == ("item",)
    assert tables["contexts"].axes == tables["tastes"].axes == ("day",)
    assert tables["split_head"].axes == tables["head_rows"].axes == ("item", "day")
    chosen = {name for name, table in tables.items() if table.is_chosen}
    assert chosen == {"crowd", "zoom", "split_head", "head_rows"}
    assert tables["bins"].groups == GROUPS
    assert {name: tables["tastes"].more[name] for name in TASTES} == TASTES
    assert made.method.bounds == {"items": BoundFacts(THETA, Fraction(1))}


def test_what_a_count_counts_is_said_of_each_table(made: Published) -> None:
    said = {table.name: what_counts(made, table).words() for table in made.tables}
    assert said["items"] == (
        f"all records of each user are counted, and a user's row scaled down to a sum of at most "
        f"{THETA}"
    )
    assert said["crowd"].startswith("each user is counted once in each of their cells")


def test_every_row_of_it_is_right(made: Published) -> None:
    found = check_release(made)
    assert len(found.checked) == 1 + len(made.tables) + 1
    assert found.checked[-1].startswith("datapackage.json: SHA-256")


def test_a_domain_of_attributes_and_no_contexts(tmp_path: Path) -> None:
    plain = load(adaptive(tmp_path, contexts=False, repeats="no"))
    assert plain.counted == "users"
    assert {table.name for table in plain.tables} == {
        "sizes", "pilot", "crowd", "items", "zoom", "bins",
    }  # fmt: skip


def taken(*rows: int) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.take(pa.array(np.array(rows)))


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("zoom", taken(1, 0), "not in the order of the lists"),
        ("zoom", taken(0, 0), "one is there twice"),
        ("split_head", taken(0, 1, 3, 4, 5, 2), "not in the order of the lists"),
        ("sizes", taken(*range(12), 11), "one is there twice"),
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


def test_a_chosen_item_has_all_of_its_contexts(made: Published, tmp_path: Path) -> None:
    """zoo Tue, Mon, Sun, pier Tue, Mon, Sun: then pier Mon becomes arena Mon, in order as well."""
    copy = made.save(tmp_path / "copy")
    path = copy.folder / "head_rows.parquet"
    rows = pq.read_table(path)
    places = rows["item"].to_pylist()
    assert places == ["zoo"] * 3 + ["pier"] * 3
    for other in (["zoo"] * 3 + ["mill", "pier", "pier"], ["zoo", "zoo", "arena"] + ["pier"] * 3):
        changed = rows.set_column(0, "item", pa.array(other))
        pq.write_table(changed, path)
        adopt(copy.folder, "head_rows")
        again = load(copy.folder)
        (table,) = (one for one in again.tables if one.name == "head_rows")
        with pytest.raises(ct.InputError, match="an item without some of its contexts"):
            check_contents(again.folder, again.domain, table)


# ---- paid for in rho -------------------------------------------------------------------------

DELTA = "1e-9"


@pytest.fixture(scope="module", params=["auto", "gaussian"])
def in_rho(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Published:
    folder, noise = tmp_path_factory.mktemp("rho"), request.param
    told = {"for_": "recommend", "context_per_user": "day", "delta": DELTA, "noise": noise}
    return load(adaptive(folder, **told))


def test_steps_in_rho_are_parsed_and_add_up(in_rho: Published) -> None:
    auto, promised = in_rho.auto, in_rho.guarantee
    assert auto is not None
    assert auto.rho is not None
    turned = promised.rho is None
    pure = auto.spent("epsilon")
    assert pure == (Fraction(12, 100) if turned else 0)  # the sizes: 3% of ε = 4
    assert auto.rho == rho_of(4 - pure, Fraction(DELTA))
    assert auto.spent("rho") + auto.unspent == auto.rho
    assert {step.paid_in for step in auto.taken[1:]} == {"rho"}
    items = in_rho.table("items")
    assert items is not None
    assert items.law.kind == "discrete-gaussian"
    said = what_counts(in_rho, items).words()
    assert "norm" in said
    shares = [auto.share(step, promised.epsilon) for step in auto.taken]
    assert shares[0] == Fraction(3, 100)
    assert sum(shares) == 1 + (Fraction(3, 100) if turned else 0) - auto.unspent / auto.rho


def test_every_row_of_it_is_right_too(in_rho: Published) -> None:
    assert len(check_release(in_rho).checked) == 1 + len(in_rho.tables) + 1


Change = Callable[[dict[str, Any]], None]


def more_rho(facts: dict[str, Any]) -> None:
    """As if what the sizes cost had not been spent; a little more than all where all is in ρ."""
    auto, whole = facts["auto"], rho_of(Fraction(4), Fraction(DELTA))
    if "rho" in facts["guarantee"]:
        whole += Fraction(1, 10**9)
    auto["unspent"] = show(whole - Fraction(auto["rho"]) + Fraction(auto["unspent"]))
    auto["rho"] = show(whole)


def less_left(facts: dict[str, Any]) -> None:
    facts["auto"]["unspent"] = "0"


def back(facts: dict[str, Any]) -> None:
    facts["auto"]["steps"].append({"name": "edges", "epsilon": "0", "why": "no need"})


def no_rho(facts: dict[str, Any]) -> None:
    del facts["auto"]["rho"]
    facts["auto"]["unspent"] = "3.88"


def other_bound(facts: dict[str, Any]) -> None:
    facts["method"]["bounds"]["items"]["bound"] = 2 * THETA


def unbounded(facts: dict[str, Any]) -> None:
    facts["method"]["bounds"] = {}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (more_rho, "more than what is left of epsilon|more than guarantee.rho"),
        (less_left, "auto spent"),
        (back, "went back from rho to epsilon"),
        (no_rho, "does not say out of which"),
        (other_bound, "not what one user can change"),
        (unbounded, "lacks the table 'items'"),
    ],
)
def test_a_course_in_rho_that_does_not_add_up_is_damaged(
    in_rho: Published, tmp_path: Path, change: Change, words: str
) -> None:
    facts = json.loads(json.dumps(in_rho.metadata))
    change(facts)
    found = list(auto_disagreements(facts, in_rho.domain, in_rho.tables))
    assert any(re.search(words, one) for one in found), found
    assert not list(auto_disagreements(in_rho.metadata, in_rho.domain, in_rho.tables))
