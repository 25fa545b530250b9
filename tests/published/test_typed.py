"""``release.json`` as typed objects: they say what the fields say, in every stored release."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError
from fractions import Fraction
from typing import Any

import pytest

from crowdtally import format
from crowdtally.core.layout import HEADS, KINDS, PAIRS, STEPS
from crowdtally.core.numbers import recorded
from crowdtally.core.privacy import Epsilon
from crowdtally.format.manifest import TableFacts
from crowdtally.laws.laplace import DiscreteLaplace
from kit.stored import NAMES, stored


def number(text: str | None) -> Fraction | None:
    return None if text is None else recorded(text)


def check_table(table: TableFacts, facts: dict[str, Any], lists: list[str]) -> None:
    noise = facts["noise"]
    assert (table.name, table.file) == (facts["name"], facts["file"])
    assert list(table.columns) == facts["columns"]
    assert table.cells == facts["cells"]
    assert table.price == Epsilon.of(recorded(facts["epsilon"]))
    assert table.sensitivity == facts["sensitivity"]
    assert table.law == DiscreteLaplace(recorded(noise["scale"]), recorded(noise["unit"]))
    assert table.noise_std == noise["std"]
    assert table.interval_level == number(noise["interval_level"])
    assert table.interval_half_width == noise["interval_half_width"]
    assert (table.rows, table.sha256) == (facts.get("rows"), facts.get("sha256"))
    assert table.publishing == facts["publishing"]
    assert table.discovery_threshold == facts.get("threshold")
    assert set(table.axes) <= {*lists, f"other_{lists[0]}"}
    if facts.get("transform", {"kind": "none"})["kind"] == "none":
        assert table.axes == table.columns
    check_transform(table, facts)
    check_summary(table, facts)


def check_transform(table: TableFacts, facts: dict[str, Any]) -> None:
    told = facts.get("transform", {"kind": "none", "ordered": []})
    assert table.transform.kind == told["kind"]
    assert list(table.transform.ordered) == told["ordered"]
    for name in ("buckets", "rows", "seed"):
        assert getattr(table.transform, name) == told.get(name, 0)


def check_summary(table: TableFacts, facts: dict[str, Any]) -> None:
    assert (table.summary is not None) == ("published_cells" in facts)
    assert table.published_cells == facts.get("published_cells", facts["cells"])
    if table.summary is None:
        assert table.keeping.keeps_all
        return
    keeping = table.keeping
    assert (keeping.cut, keeping.sides) == (facts["cut"], facts["sides"])
    assert keeping.threshold == number(facts["estimating_threshold"])
    assert table.summary.size == facts["size"]
    assert table.summary.short == facts["short"]
    assert table.summary.drops_orphans == (facts["consistency"] == "ancestors")
    assert table.summary.domain_cells == facts["domain_cells"]


@pytest.mark.parametrize("name", NAMES)
def test_they_say_what_the_file_says(name: str) -> None:
    facts = json.loads((stored(name) / "release.json").read_text(encoding="utf-8"))
    release = format.load(stored(name))
    assert release.metadata == facts
    assert (release.schema, release.id) == (facts["schema"], facts["id"])
    assert release.counted == facts["counted"]
    lists = facts["domain"].get("attributes") or [
        facts["domain"]["items"], *facts["domain"]["contexts"],
    ]  # fmt: skip
    assert release.domain.names == [one["name"] for one in lists]
    assert [one.length for one in release.domain.lists] == [one["size"] for one in lists]
    assert [one.values for one in release.domain.lists] == [one.get("values") for one in lists]
    assert release.domain.has_items == ("items" in facts["domain"])
    for table, told in zip(release.tables, facts["tables"], strict=True):
        check_table(table, told, release.domain.names)
    promised, paid = facts["guarantee"], facts["charged"]
    assert release.guarantee.epsilon == number(promised["epsilon"])
    assert release.guarantee.delta == number(promised["delta"])
    assert (release.guarantee.unit, release.guarantee.column) == tuple(promised["unit"].values())
    assert release.charged.spent_after.epsilon == number(paid["spent_after"])
    assert (release.charged.limit and release.charged.limit.epsilon) == number(paid["limit"])
    bounds = {table: bound["bound"] for table, bound in facts["method"]["bounds"].items()}
    assert {table: bound.bound for table, bound in release.method.bounds.items()} == bounds
    assert release.method.bounding == facts["method"]["bounding"]


def test_they_are_parsed_once_and_cannot_be_changed() -> None:
    release = format.load(stored("sra-one-context"))
    assert release.tables is release.tables
    assert release.domain is release.domain
    with pytest.raises(FrozenInstanceError):
        release.tables[0].cells = 3  # type: ignore[misc]


def test_every_kind_of_table_is_met_in_the_stored_releases() -> None:
    met = {table.name for name in NAMES for table in format.load(stored(name)).tables}
    # Those of auto and of top items are met in releases that tests make (``test_auto.py``).
    assert met == set(KINDS) - {kind.name for kind in (*STEPS, HEADS)}


@pytest.mark.parametrize("name", ["pairs", "pairs-text-hpa"])
def test_a_pair_has_its_list_twice(name: str) -> None:
    release = format.load(stored(name))
    (table,) = (table for table in release.tables if table.kind is PAIRS)
    (item,) = release.domain.names
    assert table.axes == table.columns == (item, f"other_{item}")
    assert table.kind.counts("records") == "pairs of records"
