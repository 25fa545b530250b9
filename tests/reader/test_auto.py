"""Real releases of ``auto``, read back from the disk: what a reader is told is near the truth."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from math import sqrt
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import crowdtally as ct
from crowdtally.curator.request import table_specs as asked_tables
from crowdtally.format import load
from crowdtally.reader.axes import Axes
from crowdtally.reader.estimates.estimator import Estimator
from crowdtally.reader.estimates.facts import counts
from kit import auto
from kit.auto import AGES, COMMON, FAVOURITES, SEXES, SPARSE, WAYS, release_way, truth
from kit.command import crowdtally

QUICK = [name for name in WAYS if name != "sparse"]
Way = Callable[[str], ct.Release]
TABLES = {
    "items": {"sizes", "pilot", "crowd", "items", "zoom", "bins", "head"},
    "split head": {"sizes", "items", "contexts", "split_head"},
    "tastes": {"sizes", "items", "contexts", "tastes", "tastes_again", "head_rows"},
    "head rows": {"sizes", "items", "contexts", "head_rows", "head_rows_again"},
    "alike": {"sizes", "items", "contexts", "head_rows", "zoom"},
    "counts": {"sizes", "items", "contexts", "bins"},
    "small": {"sizes", "items"},
    "small in contexts": {"sizes", "edges", "contexts"},
    "top": {"head"},
    "top in contexts": {"heads"},
    "attributes": {"sizes", "cells"},
}
IN_CONTEXT: dict[str, dict[str, str]] = {
    "split head": {"sex": "f"}, "tastes": {"sex": "f"}, "head rows": {"day": "dry"},
    "alike": {"day": "dry"}, "counts": {"sex": "f"}, "small in contexts": {"sex": "m"},
    "top in contexts": {"sex": "m"},
}  # fmt: skip
OVERALL = [name for name in QUICK if name not in ("top in contexts", "attributes")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("auto")


@pytest.fixture(scope="module")
def way(folder: Path) -> Way:
    made: dict[str, ct.Release] = {}

    def release(name: str) -> ct.Release:
        if name not in made:
            made[name] = release_way(folder, name)
        return made[name]

    return release


def of_items(name: str) -> dict[Any, int]:
    """The true counts of the items; of users, each once though in several contexts."""
    found: dict[Any, int] = {}
    for cell, count in truth(name).items():
        found[cell[0]] = found.get(cell[0], 0) + count
    return found


def covered(rows: Any, true: dict[Any, int]) -> float:
    inside = [row.estimate_low <= true.get(row.item, 0) <= row.estimate_high for row in rows]
    return float(np.mean(inside))


@pytest.mark.parametrize("name", QUICK)
def test_each_way_releases_its_tables(name: str, way: Way) -> None:
    """Else the other tests would not be about what they say."""
    assert {table["name"] for table in way(name).metadata["tables"]} == TABLES[name]


@pytest.mark.parametrize("name", OVERALL)
def test_overall_estimates_are_near_the_truth(name: str, way: Way) -> None:
    true, rows = of_items(name), way(name).top(20)
    assert {row.covers for row in rows} == {"the true counts"}
    assert covered(rows, true) >= 0.85  # of 6 to 20 items, whose intervals share an error
    for row in rows[:3]:
        assert abs(row.estimate - true[row.item]) <= 3.5 * row.standard_error
        assert abs(row.estimate - true[row.item]) <= 0.12 * true[row.item]
    largest = sorted(true, key=lambda item: -true[item])[:3]
    assert [row.item for row in rows[:3]] == largest


@pytest.mark.parametrize("name", IN_CONTEXT)
def test_estimates_in_a_context_are_near_the_truth(name: str, way: Way) -> None:
    context = IN_CONTEXT[name]
    (value,) = context.values()
    true = {item: count for (item, found), count in truth(name).items() if found == value}
    rows = way(name).top(20, **context)
    assert covered(rows, true) >= 0.85
    assert rows[0].item == max(true, key=lambda item: true[item])
    assert all(row.estimate_low <= row.estimate <= row.estimate_high for row in rows)


@pytest.mark.parametrize("name", ["split head", "tastes", "head rows", "alike", "counts"])
def test_sums_of_contexts_hold_the_truth_and_are_not_wider_than_needed(name: str, way: Way) -> None:
    """An error of the whole counts by the context's share, beside the error of that share."""
    release, context = way(name), IN_CONTEXT[name]
    (value,) = context.values()
    true = sum(count for (_, found), count in truth(name).items() if found == value)
    one, every = release.sum(**context), release.sum()
    assert one.estimate_low <= true <= one.estimate_high
    assert every.estimate_low <= sum(truth(name).values()) <= every.estimate_high
    estimator = Estimator(Axes(load(release.folder)))
    contexts, items = estimator.contexts, estimator.items
    assert contexts is not None
    assert items is not None
    mask = np.array([found == value for found in next(iter(contexts_of(release).values()))])
    share = one.estimate / every.estimate
    parts = (share * items.whole, every.estimate * contexts.shares_error(mask))
    assert one.estimate_error <= 1.2 * sqrt(sum(part**2 for part in parts))
    assert one.estimate_error >= parts[1]
    assert one.value is None
    assert "noise intervals" not in str(one)


def contexts_of(release: ct.Release) -> dict[str, list[Any]]:
    return {one["name"]: one["values"] for one in release.metadata["domain"]["contexts"]}


def test_contexts_that_differ_are_told_apart(way: Way) -> None:
    """Dry weather is for even items: odd ones of like popularity stand far below there."""
    for name in ("head rows", "split head", "tastes"):
        rows = {row.item: row.estimate for row in way(name).top(100, **IN_CONTEXT[name])}
        overall = {row.item: row.estimate for row in way(name).top(100)}
        lifts = [rows[item] / overall[item] for item in range(2, 12)]
        assert min(lifts[::2]) > max(lifts[1::2]), name


def test_contexts_that_do_not_differ_have_the_overall_ranking(way: Way) -> None:
    (step,) = (one for one in way("alike").metadata["auto"]["steps"] if "differ" in one)
    assert step["differ"] is False
    found = way("alike").top(20, day="dry")
    assert [row.item for row in found] == [row.item for row in way("alike").top(20)]
    assert "no difference between contexts is above the noise" in found.estimate_words
    unmeasured = way("counts").top(3, sex="f").estimate_words
    assert "the release was made for something else" in unmeasured


def test_intervals_in_contexts_say_what_they_assume(way: Way) -> None:
    """How far items differ between contexts is measured with a head alone."""
    for name, assumed in {"counts": True, "alike": True, "split head": False}.items():
        release, context = way(name), IN_CONTEXT[name]
        words, answer = release.top(3, **context).estimate_words, release.sum(**context)
        assert ("Intervals there assume, unmeasured," in words) == assumed
        assert "within 30% of its overall share" in words or not assumed
        assert answer.assumes == assumed
        assert (answer.estimate_words in str(answer)) == assumed
        assert not release.sum().assumes


def test_sums_say_what_they_count_and_what_they_assume(way: Way) -> None:
    """A user of two items is in both: they are no number of people."""
    small = way("small")
    assert small.sum().counted == "users (of each cell, added up)"
    assert small.sum(item=0).counted == "users"
    assert way("head rows").sum().counted == "records"
    known = way("items").sum()
    assert known.estimate_words == way("items").top(1).estimate_words
    assert not known.assumes
    with patch.object(Estimator, "knows_sizes", False):
        rough = ct.load(way("items").folder).sum()
    assert rough.assumes
    assert "so half is assumed" in str(rough)
    assert "so half is assumed" not in str(known)


def test_features_rank_what_was_not_measured(way: Way) -> None:
    assert "by their kind" in way("tastes").top(3, sex="f").estimate_words
    assert "have the overall ranking there" in way("head rows").top(3, day="dry").estimate_words


def test_a_refined_measurement_counts_alone(way: Way) -> None:
    """It has half of the first one's noise, and the first says nothing beside it."""
    published = load(way("head rows").folder)
    whole = Estimator(Axes(published)).contexts
    again, known = published.table("head_rows_again"), type(published).table

    def without(self: Any, name: str) -> Any:
        return None if name == "head_rows_again" else known(self, name)

    with patch.object(type(published), "table", without):
        half = Estimator(Axes(published)).contexts
    assert again is not None
    assert whole is not None
    assert half is not None
    assert whole.found.facts.rows is not None
    assert half.found.facts.rows is not None
    ratio = half.found.facts.rows.deviation / whole.found.facts.rows.deviation
    assert ratio == pytest.approx(2)
    shown = whole.found.facts.rows.values.ravel().tolist()
    assert shown == pytest.approx(counts(published, again).tolist())


def test_the_crowd_is_shown_as_it_was_measured(way: Way) -> None:
    """The items' table holds noise alone there."""
    release = way("items")
    measured = dict(release.table("crowd").project("item, count").fetchall())
    in_table = dict(release.table("items").project("item, count").fetchall())
    assert set(measured) == set(COMMON)
    for rows in (release.top(5), release.top(3, raw=True)):
        shown = {row.item: row.count for row in rows if row.item in measured}
        assert shown == measured
        assert all(abs(in_table[item]) < 20 for item in measured)
    one = release.point(item=COMMON[1])
    assert one.value == measured[COMMON[1]]
    assert one.low is not None
    assert "nobody was left out" in one.unbiased_for
    assert one.table == "crowd"
    assert "scaled" not in one.what_counts
    both = release.sum(item=[*COMMON, 0])
    assert both.value == pytest.approx(sum(measured.values()) + in_table[0])


def test_a_whole_is_estimated_where_bounding_took_most_away(way: Way) -> None:
    answer, true = way("items").sum(), sum(of_items("items").values())
    assert answer.value < true / 4
    assert answer.estimate_low <= true <= answer.estimate_high
    assert abs(answer.estimate - true) < 0.1 * true


def test_short_lists_have_the_noise_of_all_their_cells_together(way: Way) -> None:
    """The interval of a sum is that of the noise: errors are not counted twice."""
    for name, context in (("small", {}), ("small in contexts", {"sex": "m"})):
        answer = way(name).sum(**context)
        assert (answer.estimate_low, answer.estimate_high) == (answer.low, answer.high)
        assert answer.estimate == answer.value
        assert "nobody was left out" in str(answer)
        assert "kept" not in str(answer)
        words = str(way(name).top(3, **context))
        assert "nobody was left out" in words
        assert "bounding" not in words
        assert "scaled" not in words


def test_attributes_count_users(way: Way) -> None:
    release, true = way("attributes"), truth("attributes")
    answers = {
        (age, sex): release.point(age=age, sex=sex) for age in AGES for sex in SEXES
    }  # fmt: skip
    inside = [
        found.estimate_low <= true.get(cell, 0) <= found.estimate_high
        for cell, found in answers.items()
    ]
    assert np.mean(inside) >= 0.85
    assert {found.counted for found in answers.values()} == {"users"}
    women = release.sum(sex="f")
    assert women.estimate_low <= sum(v for c, v in true.items() if c[1] == "f") <= (
        women.estimate_high
    )  # fmt: skip


def test_selected_items_are_all_that_is_known(way: Way) -> None:
    whole, one = way("top").top(20), way("top in contexts").top(20, sex="m")
    assert (len(whole), len(one)) == (8, 5)
    assert (whole.ranked, one.ranked) == (8, 5)
    assert whole.floor_words.startswith("Noise floor")
    assert "largest of 5 such counts" in one.floor_words
    assert one.floor < ct.load(way("top in contexts").folder).top(1, sex="m")[0].estimate
    for rows in (whole, one):
        assert {row.chance_in_top for row in rows} == {None}
        assert "in top" not in str(rows)
        assert "chance" not in rows._repr_html_()
        assert "nobody was left out" in rows.estimate_words
    with pytest.raises(ct.UsageError, match="name one, with --context sex=VALUE"):
        way("top in contexts").top(3)
    with pytest.raises(ct.UsageError, match="top items only"):
        way("top").sum()


def test_a_floor_of_fewer_cells_is_lower(way: Way) -> None:
    """Two contexts have ten cells, and a list of one of them five."""
    table = load(way("top in contexts").folder).table("heads")
    assert table is not None
    assert way("top in contexts").top(5, sex="f").floor == table.law.floor(5)
    assert table.law.floor(5) < table.law.floor(10)


@pytest.mark.parametrize("name", QUICK)
def test_every_answer_is_shown_everywhere(name: str, way: Way) -> None:
    """Text, JSON, a notebook and the command line, also where a line has no noisy count."""
    release, context = way(name), IN_CONTEXT.get(name, {})
    if name == "attributes":
        assert json.loads(release.sum(sex="f").to_json())["covers"] == "the true counts"
        asked = crowdtally("sum", release.folder, "--where", "sex = 'f'")
        assert "users (of each cell, added up), estimated" in asked.out
        return
    rows = release.top(4, **context)
    for text in (str(rows), repr(rows), rows._repr_html_(), rows.to_json()):
        assert not re.search(r"\bNone\b", text)
        assert "nan" not in text.lower()
    assert len({len(line) for line in rows.to_dicts()}) == 1
    arguments = [f"--context={key}={value}" for key, value in context.items()]
    asked = ("top", release.folder, "-k", 4, *arguments)
    assert crowdtally(*asked).out.rstrip("\n") == str(rows)
    assert json.loads(crowdtally(*asked, "--json").out) == json.loads(rows.to_json())
    if rows[0].count is None:
        assert "noise interval" not in rows._repr_html_()
        assert "noisy count" not in str(rows)
        with pytest.raises(ct.UsageError, match="leave out --raw"):
            release.top(4, raw=True, **context)
    else:
        assert [row.rank for row in release.top(4, raw=True, **context)] == [1, 2, 3, 4]


@pytest.mark.parametrize("name", QUICK)
def test_every_release_is_described_and_whole(name: str, way: Way) -> None:
    release = way(name)
    text = str(release.describe())
    for table in release.metadata["tables"]:
        assert f"'{table['name']}'" in text
    assert crowdtally("check", release.folder).code == 0
    assert not re.search(r"\bNone\b", text)


def answers(folder: Path) -> str:
    """All kinds of answers of a release with a cache, and of one with contexts."""
    large, small = ct.load(folder / "items"), ct.load(folder / "split head")
    return "\n".join(
        [
            large.top(30).to_json(), large.sum().to_json(), small.top(30).to_json(),
            small.top(30, sex="m").to_json(), small.sum("item < 7", sex="m").to_json(),
        ]
    )  # fmt: skip


def test_answers_follow_from_the_release_alone(
    way: Way, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger and all else deleted; another folder; no cache, a new one, and a full one."""
    for name in ("items", "split head"):
        way(name)
        shutil.copytree(folder / name, tmp_path / "else where" / name)
    before = answers(folder)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CROWDTALLY_LEDGER", str(tmp_path / "none.sqlite"))
    for cache in ("", str(tmp_path / "cache"), str(tmp_path / "cache")):
        monkeypatch.setenv("CROWDTALLY_CACHE", cache)
        assert answers(Path("else where")) == before
    assert os.listdir(tmp_path / "cache")
    assert sorted(os.listdir(tmp_path / "else where" / "items")) == sorted(
        os.listdir(folder / "items")
    )


def check_sparse(release: ct.Release, size: int, favourites: tuple[int, int]) -> None:
    (items,) = (one for one in release.metadata["tables"] if one["name"] == "items")
    assert items["publishing"] != "dense"
    rows = release.top(20)
    assert [row.item for row in rows[:2]] == list(favourites)
    for row, true in zip(rows, (1_500, 800), strict=False):
        assert row.estimate_low <= true <= row.estimate_high
        assert row.above_floor
    assert not any(row.above_floor for row in rows[2:])
    whole = release.sum()
    assert whole.cells == size
    assert whole.estimate_low <= 3_800 <= whole.estimate_high
    assert whole.estimate < 2 * 3_800  # small means of millions of cells do not add up to more
    one = release.point(item=favourites[1])
    assert one.estimate == rows[1].estimate
    assert [row.item for row in release.top(2, raw=True)] == list(favourites)
    assert "overall" not in rows.estimate_words


def test_a_list_too_long_to_publish_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a lower limit for what is long."""
    size = 60_000
    monkeypatch.setattr(asked_tables, "LARGEST_DENSE_AUTO", 50_000)
    monkeypatch.setattr(auto, "SPARSE", size)
    monkeypatch.setattr(auto, "FAVOURITES", (5, 40_000))
    changed = auto.Way(WAYS["sparse"].rows, {"items": range(size)}, options=WAYS["sparse"].options)
    with patch.dict(auto.WAYS, {"sparse": changed}):  # type: ignore[arg-type]
        check_sparse(release_way(tmp_path, "sparse"), size, (5, 40_000))


@pytest.mark.long
def test_a_list_of_millions(tmp_path: Path) -> None:
    check_sparse(release_way(tmp_path, "sparse"), SPARSE, FAVOURITES)
