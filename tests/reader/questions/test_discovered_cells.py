"""Questions to a release that found its cells itself: answered from these, and it says so."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import crowdtally as ct
from crowdtally.check import check_release
from crowdtally.format import load
from kit.damage import edit
from kit.draws import SilentDraws
from kit.publishing import made

COUNTS = {("a", 9): 40, ("a", 10): 30, ("b", 9): 25, ("b", 7): 3, ("c", 10): 22, ("d", 7): 2}
"""Users of each cell: each has one of their own. Below the threshold are those of hour 7."""
LISTS = {
    "found": None,
    "items listed": ct.Domain(["d", "c", "b", "a"]),
    "hours listed": ct.Domain(contexts={"hour": [10, 9, 8, 7]}),
}
FOUND = {"found": ["item", "hour"], "items listed": "hour", "hours listed": "item"}


def rows() -> pa.Table:
    cells = [cell for cell, users in COUNTS.items() for _ in range(users)]
    users = [f"u{number}" for number in range(len(cells))]
    return pa.table({
        "user": users, "item": [item for item, _ in cells],
        "hour": pa.array([hour for _, hour in cells], pa.int64()),
    })  # fmt: skip


@cache
def released(kind: str, noise: str = "laplace", epsilon: str = "20") -> ct.Release:
    folder = Path(mkdtemp())
    parquet.write_table(rows(), folder / "rows.parquet")
    return made(
        folder, str(folder / "rows.parquet"), LISTS[kind], draws=SilentDraws(), epsilon=epsilon,
        delta="1e-6", method=ct.Discover(FOUND[kind], 2), noise=noise,
        roles={"contexts": ["hour"]},
    )  # fmt: skip


KINDS = [(kind, noise) for kind in LISTS for noise in ("laplace", "gaussian")]


@pytest.mark.parametrize(("kind", "noise"), KINDS)
def test_sums_are_of_the_cells_that_were_released(kind: str, noise: str) -> None:
    release = released(kind, noise)
    table = next(one for one in release.metadata["tables"] if one["name"] == "edges")
    assert (table["cells"], 3 < table["threshold"] < 22) == (4, True)
    of_nine = release.sum(hour=9)
    assert (of_nine.value, of_nine.cells, of_nine.table) == (65, 2, "edges")
    assert "others are not in it" in of_nine.unbiased_for
    std = float(table["noise"]["std"])
    assert of_nine.standard_error == pytest.approx(std * np.sqrt(2))
    assert release.point(item="a", hour=10).value == 30
    with pytest.raises(ct.UsageError, match="no cell that was released satisfies"):
        release.sum(item="b", hour=10)


@pytest.mark.parametrize(("kind", "noise"), KINDS)
def test_lists_overall_and_in_context(kind: str, noise: str) -> None:
    release = released(kind, noise)
    assert [row.item for row in release.top(2)] == ["a", "b"]
    there = release.top(9, hour=9)
    assert [(row.item, row.count) for row in there] == [("a", 40), ("b", 25)]
    both = release.top(9, hour=[9, 10])
    assert [(row.item, row.count) for row in both] == [("a", 70), ("b", 25), ("c", 22)]
    stds = [row.noise_std for row in both]
    assert stds[0] == pytest.approx(stds[1] * np.sqrt(2))  # two cells, and one
    assert [row.item for row in release.recommend(1, hour=10)] == ["a"]
    with pytest.raises(ct.UsageError, match="cells alone that enough users have"):
        release.recommend(3, by="special", hour=9)


def test_listed_values_keep_the_order_of_their_list() -> None:
    cells = released("hours listed").table("edges").fetchall()
    assert [row[:2] for row in cells] == [("a", 10), ("a", 9), ("b", 9), ("c", 10)]
    cells = released("items listed").table("edges").fetchall()
    assert [row[:2] for row in cells] == [("c", 10), ("b", 9), ("a", 9), ("a", 10)]
    assert len(released("items listed").table("items").fetchall()) == 4  # all, found or not


@pytest.mark.parametrize(
    ("kind", "noise"),
    [("found", "laplace"), ("items listed", "gaussian"), ("hours listed", "laplace")],
)
def test_it_is_described_reported_and_exported(kind: str, noise: str, tmp_path: Path) -> None:
    release = released(kind, noise)
    words = " ".join(str(release.describe()).split())
    found = {"found": "'item' and 'hour'", "items listed": "'hour'", "hours listed": "'item'"}
    assert f"There was no public list of {found[kind]}: the release itself" in words
    assert "4 released combinations of 'item' and 'hour'" in words
    assert "a cell which nobody but this user has is released" in words
    release.report(tmp_path / "report.html")
    release.export(site=tmp_path / "site")
    release.export(croissant=tmp_path / "c.json")
    json.loads(release.report_facts().to_json())
    with pytest.raises(ct.UsageError, match="without a public list"):
        ct.changes(release, released(kind, noise, "21"))


@pytest.mark.parametrize("kind", LISTS)
def test_where_no_cell_passed(kind: str, tmp_path: Path) -> None:
    release = released(kind, epsilon="0.1")
    with pytest.raises(ct.UsageError, match="passed the threshold"):
        release.top(3, hour=9)
    release.report(tmp_path / "report.html")
    release.export(site=tmp_path / "site")
    assert "0 released combinations" in str(release.describe())
    if kind == "items listed":
        assert len(release.top(9)) == 4


def test_attributes() -> None:
    folder = Path(mkdtemp())
    release = made(
        folder, rows(), None, draws=SilentDraws(), epsilon=3, delta="1e-6",
        method=ct.Discover(["item", "hour"], 1),
        roles={"item": None, "attributes": ["item", "hour"]},
    )  # fmt: skip
    assert release.sum("item = 'a'").value == 70
    assert release.sum().cells == 4
    with pytest.raises(ct.UsageError, match="it has no items"):
        release.top(3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m["domain"]["items"].update(size=4), "has 4 cells|not those that were released"),
        (lambda m: m["tables"][1].update(cells=99), "has 99 cells, and its columns have 3 × 2"),
        (lambda m: m.pop("other"), "'other' without discovered cells"),
        (lambda m: m["other"].update(table="nowhere"), "other.table must be"),
        (lambda m: m["tables"][1].update(publishing="dense"), "but not both"),
        (lambda m: m["tables"][1].update(threshold=26), "too small to have been published"),
    ],
)
def test_damage_is_found(change: Any, words: str, tmp_path: Path) -> None:
    saved = released("found").save(tmp_path / "copy").folder
    edit(saved, change)
    with pytest.raises(ct.InputError, match=words):
        check_release(load(saved))
