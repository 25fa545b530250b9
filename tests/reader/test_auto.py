"""Real releases of ``auto``, read back from the disk: what a reader is told is near the truth."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from math import hypot
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import crowdtally as ct
from crowdtally.format import load
from crowdtally.reader.changes.measured import of_auto
from crowdtally.reader.estimates.estimator import ReleaseView
from kit.auto import AGES, FAVOURITES, SEXES, SPARSE, WAYS, known_way, release_way, truth
from kit.command import crowdtally

Way = Callable[[str], ct.Release]
IN_CONTEXT: dict[str, dict[str, str]] = {
    name: {"sex": "f"} if "sex" in way.domain.get("contexts", {}) else {"day": "dry"}
    for name, way in WAYS.items()
    if "contexts" in way.domain
}
CELLS = ["short", "rich in contexts", "recommend", "by user"]
"""Those that count each item in each context."""
ITEMS = [name for name in WAYS if name not in ("top in contexts", "attributes", "sparse")]


@pytest.fixture(scope="module")
def way() -> Way:
    return cache(known_way)


def of_items(name: str) -> dict[Any, int]:
    """The true counts of the items; of users, each once though in several contexts."""
    found: dict[Any, int] = {}
    for cell, count in truth(name).items():
        found[cell[0]] = found.get(cell[0], 0) + count
    return found


def there(name: str) -> dict[Any, int]:
    """The true counts of the items in the context that is asked for."""
    (value,) = IN_CONTEXT[name].values()
    return {item: count for (item, found), count in truth(name).items() if found == value}


def estimator_of(release: ct.Release) -> ReleaseView:
    return ReleaseView(load(release.folder))


def covered(rows: Any, true: dict[Any, int]) -> float:
    inside = [row.estimate_low <= true.get(row.item, 0) <= row.estimate_high for row in rows]
    return float(np.mean(inside))


@pytest.mark.parametrize("name", WAYS)
def test_each_way_releases_its_tables(name: str, way: Way) -> None:
    """Else the other tests would not be about what they say."""
    assert [table["name"] for table in way(name).metadata["tables"]] == WAYS[name].tables.split()


@pytest.mark.parametrize("name", ITEMS)
def test_overall_estimates_are_near_the_truth(name: str, way: Way) -> None:
    true, rows = of_items(name), way(name).top(20)
    assert {row.covers for row in rows} == {"the true counts"}
    assert covered(rows, true) >= 0.85  # of 8 to 20 items, whose intervals share an error
    for row in rows[:3]:
        assert abs(row.estimate - true[row.item]) <= 3.5 * row.standard_error
        assert abs(row.estimate - true[row.item]) <= 0.25 * true[row.item]
    assert rows[0].item == max(true, key=lambda item: true[item])


@pytest.mark.parametrize("name", IN_CONTEXT)
def test_estimates_in_a_context_are_near_the_truth(name: str, way: Way) -> None:
    true, rows = there(name), way(name).top(20, **IN_CONTEXT[name])
    assert covered(rows, true) >= 0.85
    assert rows[0].item == max(true, key=lambda item: true[item])
    assert all(row.estimate_low <= row.estimate <= row.estimate_high for row in rows)


@pytest.mark.parametrize("name", [name for name in ITEMS if not name.startswith("top")])
def test_the_whole_is_near_the_truth(name: str, way: Way) -> None:
    """Its interval reaches farther up than down: rows that are too few to be seen are long."""
    answer, true = way(name).sum(), sum(of_items(name).values())
    assert answer.estimate_low <= true <= answer.estimate_high
    assert abs(answer.estimate - true) <= 0.15 * true
    assert answer.estimate_high - answer.estimate >= answer.estimate - answer.estimate_low - 1e-9
    every = estimator_of(way(name)).items
    assert every is not None
    told = (answer.estimate, answer.estimate_error, answer.estimate_low, answer.estimate_high)
    assert told == (every.every.mean, every.every.error, every.every.low, every.every.high)


@pytest.mark.parametrize("name", [*CELLS, "totals"])
def test_sums_of_contexts_hold_the_truth_and_are_not_wider_than_needed(name: str, way: Way) -> None:
    """An error of the whole counts by the context's share, beside the error of that share."""
    release, context = way(name), IN_CONTEXT[name]
    one, every, true = release.sum(**context), release.sum(), sum(there(name).values())
    assert one.estimate_low <= true <= one.estimate_high
    estimator = estimator_of(release)
    cells = estimator.cells or estimator.alike
    assert cells is not None
    (values,) = (one["values"] for one in release.metadata["domain"]["contexts"])
    place = values.index(*context.values())
    error = float(cells.shares[place] * cells.shares_error[place])
    share = one.estimate / every.estimate
    limit = hypot(share * every.estimate_error, every.estimate * error)
    assert 0.98 * limit <= one.estimate_error <= 1.02 * limit


@pytest.mark.parametrize("name", CELLS)
def test_contexts_add_up(name: str, way: Way) -> None:
    """All contexts together are the items, and each item is the sum of its contexts."""
    estimator = estimator_of(way(name))
    assert estimator.items is not None
    parts = [estimator.in_contexts(np.arange(2) == place) for place in range(2)]
    every = estimator.in_contexts(np.ones(2, dtype=bool))
    assert every is not None
    assert np.array_equal(every.mean, estimator.items.believed.mean)
    both = sum(part.mean for part in parts if part is not None)
    assert both == pytest.approx(every.mean)


def test_contexts_that_differ_are_told_apart(way: Way) -> None:
    """Dry weather is for even items: odd ones of like popularity stand far below there."""
    for name in ("short", "rich in contexts", "recommend"):
        rows = {row.item: row.estimate for row in way(name).top(60, day="dry")}
        overall = {row.item: row.estimate for row in way(name).top(60)}
        lifts = [rows[item] / overall[item] for item in range(8)]
        assert min(lifts[::2]) > max(lifts[1::2]), name
        best = way(name).recommend(8, by="special", day="dry")
        sure = [row.item % 2 for row in best if row.chance_special > 0.95]
        assert len(sure) >= 2
        assert np.mean(sure) <= 0.25
        assert best.remarks[0].startswith("Lift:")


def test_totals_alone_leave_the_overall_ranking(way: Way, tmp_path: Path) -> None:
    """Too many items in contexts to count: the remark says so, and nothing is special."""
    release = way("totals")
    found, overall = release.top(20, day="dry"), release.top(20)
    assert [row.item for row in found] == [row.item for row in overall]
    assert {row.count for row in found} == {None}
    share = found[0].estimate / overall[0].estimate
    assert [row.estimate / share for row in found] == pytest.approx(
        [row.estimate for row in overall]
    )
    for words in (found.estimate_words, release.sum(day="dry").estimate_words):
        assert "Each context has the overall ranking" in words
        assert "within 30% of its overall share" in words
    assert release.sum(day="dry").assumes
    assert release.sum(day="dry").value is None
    assert not release.sum().assumes
    assert not way("short").sum(day="dry").assumes
    special = release.recommend(3, by="special", day="dry")
    assert not len(special)
    assert "Nothing is special there" in str(special)
    with pytest.raises(ct.UsageError, match="leave out --raw"):
        release.top(4, raw=True, day="dry")
    with pytest.raises(ct.UsageError, match="cannot be tested there"):
        ct.changes(release, release_way(tmp_path, "totals", seed=2), day="dry")


def test_short_rows_are_added_to_the_others(way: Way) -> None:
    """Both tables together are one noisy count, with the noise of both."""
    release = way("rich")
    long, short = (
        dict(release.table(name).project("item, count").fetchall())
        for name in ("items", "items_short")
    )
    published = load(release.folder)
    tables = [published.table(name) for name in ("items", "items_short")]
    std = hypot(*(table.law.std() for table in tables if table is not None))
    for rows in (release.top(5), release.top(5, raw=True)):
        for row in rows:
            assert row.count == pytest.approx(long[row.item] + short[row.item])
            assert row.noise_std == pytest.approx(std)
            assert row.high - row.low < 4.3 * std
    raw = release.top(60, raw=True)
    assert [row.count for row in raw] == sorted((row.count for row in raw), reverse=True)
    one, some = release.point(item=3), release.sum("item < 7")
    assert one.value == pytest.approx(long[3] + short[3])
    assert one.standard_error == pytest.approx(std)
    assert one.high is not None
    assert some.value == pytest.approx(sum(long[n] + short[n] for n in range(7)))
    assert abs(one.value - of_items("rich")[3]) < abs(long[3] - of_items("rich")[3])
    floors = [table.law.floor(60) * float(table.law.unit) for table in tables if table is not None]
    assert release.top(1).floor == pytest.approx(hypot(*floors))


def test_noisy_counts_are_those_that_are_shown(way: Way) -> None:
    release = way("rich")
    shown = {row.item: row.count for row in release.top(60)}
    noisy = estimator_of(release).noisy_at(np.arange(60))
    assert noisy.tolist() == pytest.approx([shown[item] for item in range(60)])


def test_two_noises_lie_within_the_reach_that_is_told() -> None:
    """The root of the sum of the squares of their reaches, at 95%, whatever their scales."""
    rng = np.random.default_rng(1)
    one, other = (rng.laplace(size=400_000) for _ in range(2))
    for scale in (0.0, 0.1, 0.3, 0.6, 1.0):
        reach = -np.log(0.05) * hypot(1, scale)
        inside = float((np.abs(one + scale * other) <= reach).mean())
        assert 0.949 <= inside <= 0.962, scale


def test_few_users_leave_rough_estimates_that_say_so(tmp_path: Path) -> None:
    """Nothing is scaled up where no length of a row can be seen."""
    source = WAYS["long"].rows().slice(0, 1_500)
    release = ct.release(
        ct.read(source, user="user", item="item"), ct.Domain(range(400)), epsilon="0.2",
        ledger=str(tmp_path / "ledger.sqlite"), dataset="few", new_dataset=True,
    )  # fmt: skip
    answer = release.sum()
    assert answer.covers == "the bounded counts"
    assert "may be far too low" in str(answer)
    assert "may be far too low" in release.top(1).estimate_words
    assert answer.estimate_low < 0.01 * answer.estimate


def test_sums_say_what_they_count(way: Way) -> None:
    """A user of two items is in both: they are no number of people."""
    users = way("long users")
    assert users.sum().counted == "users (of each cell, added up)"
    assert users.sum(item=0).counted == "users"
    assert way("recommend").sum().counted == "records"
    assert users.sum().estimate_words == users.top(1).estimate_words
    assert "what bounding each user left out was measured too" in users.sum().estimate_words


def test_a_measured_head_is_believed(way: Way) -> None:
    """Users of the largest items were counted without a bound: estimates lie near that."""
    for name in ("long users", "gaussian"):
        release = way(name)
        head = dict(release.table("head").project("item, count").fetchall())
        law = next(one for one in load(release.folder).tables if one.name == "head").law
        for row in release.top(5):
            assert abs(row.estimate - head[row.item]) <= 2 * law.std()
            assert row.above_floor


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


@pytest.mark.parametrize("name", [name for name in WAYS if name != "sparse"])
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
    else:
        assert [row.rank for row in release.top(4, raw=True, **context)] == [1, 2, 3, 4]


@pytest.mark.parametrize("name", WAYS)
def test_every_release_is_described_and_whole(name: str, way: Way) -> None:
    release = way(name)
    text = str(release.describe())
    for table in release.metadata["tables"]:
        assert f"'{table['name']}'" in text
    assert crowdtally("check", release.folder).code == 0
    assert not re.search(r"\bNone\b", text)


def answers(folder: Path) -> str:
    """All kinds of answers of a release with a cache, and of one with contexts."""
    large, small = ct.load(folder / "sparse"), ct.load(folder / "by user")
    return "\n".join(
        [
            large.top(30).to_json(), large.sum().to_json(), small.top(30).to_json(),
            small.top(30, sex="m").to_json(), small.sum("item < 7", sex="m").to_json(),
        ]
    )  # fmt: skip


def test_answers_follow_from_the_release_alone(
    way: Way, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger and all else deleted; another folder; no cache, a new one, and a full one."""
    for name in ("sparse", "by user"):
        for place in ("here", "else where"):
            shutil.copytree(way(name).folder, tmp_path / place / name)
    before = answers(tmp_path / "here")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CROWDTALLY_LEDGER", str(tmp_path / "none.sqlite"))
    for kept in ("", str(tmp_path / "cache"), str(tmp_path / "cache")):
        monkeypatch.setenv("CROWDTALLY_CACHE", kept)
        assert answers(Path("else where")) == before
    assert os.listdir(tmp_path / "cache")
    assert sorted(os.listdir(tmp_path / "else where" / "sparse")) == sorted(
        os.listdir(way("sparse").folder)
    )


def test_a_list_too_long_to_publish_all(way: Way) -> None:
    """With a lower limit for what is long."""
    release = way("sparse")
    (items,) = (one for one in release.metadata["tables"] if one["name"] == "items")
    assert items["publishing"] != "dense"
    rows = release.top(20)
    assert [row.item for row in rows[:2]] == list(FAVOURITES)
    for row, true in zip(rows, (1_500, 800), strict=False):
        assert row.estimate_low <= true <= row.estimate_high
        assert row.above_floor
    assert not any(row.above_floor for row in rows[2:])
    whole = release.sum()
    assert whole.cells == SPARSE
    assert whole.estimate_low <= 3_800 <= whole.estimate_high
    assert whole.estimate < 2 * 3_800  # small means of many cells do not add up to more
    one = release.point(item=FAVOURITES[1])
    assert one.estimate == rows[1].estimate
    assert [row.item for row in release.top(2, raw=True)] == list(FAVOURITES)
    assert "overall" not in rows.estimate_words


# ---- What changed between two releases, overall and in a context -----


@pytest.mark.parametrize("name", ["short", "rich", "rich in contexts", "long users", "by user"])
def test_two_releases_of_the_same_records_did_not_change(name: str, tmp_path: Path) -> None:
    """Calibrated counts, those of short and of long rows, heads, and items in contexts."""
    one, two = (release_way(tmp_path / str(seed), name, seed=seed) for seed in (1, 2))
    contexts = WAYS[name].domain.get("contexts", {})
    for context in [{}, *({name: values[0]} for name, values in contexts.items())]:
        found = ct.changes(one, two, **context)
        assert found.tested >= 60
        assert len(found) <= 1  # at a rate of 5%, nearly always none


def test_what_changed_in_a_context_is_found(tmp_path: Path) -> None:
    """Twice the records of one item when it is dry."""
    one, way = release_way(tmp_path / "before", "short", seed=3), WAYS["short"]
    rows = way.rows()
    chosen = rows.filter((pc.field("item") == 3) & (pc.field("day") == "dry"))
    users = pc.add(chosen["user"], 10_000)
    many = [chosen.set_column(0, "user", pc.add(users, 10_000 * n)) for n in range(2)]
    more = replace(way, rows=lambda: pa.concat_tables([rows, *many]))
    with patch.dict(WAYS, {"short": more}):  # type: ignore[arg-type]
        two = release_way(tmp_path / "after", "short", seed=4)
    (found,) = ct.changes(one, two, day="dry")
    assert (found.item, found.direction) == (3, "rose")
    assert found.change_low <= 2 * chosen.num_rows <= found.change_high
    assert [row.item for row in ct.changes(one, two)] == [3]
    assert not len(ct.changes(one, two, day="wet"))


def test_short_rows_are_compared_too() -> None:
    release = known_way("rich")
    found = release.view.auto
    assert found is not None
    facts, estimates = found
    assert facts.short is not None
    assert facts.items is not None
    measured, *_ = of_auto(facts, estimates)
    wanted = facts.short.values + estimates.factors * facts.items.values
    assert measured.low == pytest.approx(wanted)
    assert measured.high == pytest.approx(wanted)
    assert measured.counts == pytest.approx(facts.short.values + facts.items.values)
    variance = facts.short.law.std() ** 2 + (estimates.factors * facts.items.law.std()) ** 2
    assert measured.noise_variance == pytest.approx(variance, rel=1e-6)


def test_rough_releases_show_no_change() -> None:
    """Where nothing says what bounding left out, all of an item may have been."""
    release = known_way("long")
    found = release.view.auto
    assert found is not None
    facts, estimates = found
    rough = replace(estimates, items=replace(estimates.items, calibrated=False))
    (measured, *_), (known, *_) = of_auto(facts, rough), of_auto(facts, estimates)
    assert set(measured.shared.tolist()) == {1.0}
    assert set(known.shared.tolist()) == {estimates.common}
