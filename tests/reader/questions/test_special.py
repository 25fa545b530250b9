"""What is special in contexts: as the tables say, and as often as is stated."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import crowdtally as ct
from crowdtally.core.layout import grid
from crowdtally.core.privacy import Epsilon
from crowdtally.inference.lifts import Seen, found_lifts
from crowdtally.noise.draws import SystemDraws
from crowdtally.reader.questions.special import are_told
from crowdtally.reader.release import Release
from kit.auto import known_way, truth
from kit.draws import Seeded
from kit.releases import GUARANTEE, METHOD, RECORDS, axes_of, counts_of, in_form, opened, write

ITEMS, DAYS = 80, ["Fri", "Sat", "Sun", "Mon"]
BOUND = 4


def cells(seed: int, scatter: float) -> np.ndarray:
    """True counts of items on days: a long tail, and likings of days that differ by item."""
    rng = np.random.default_rng(seed)
    shares = np.array([0.3, 0.2, 0.15, 0.35])
    parts = shares * np.exp(rng.normal(0, scatter, (ITEMS, len(DAYS))))
    counts = 3000 / np.arange(1, ITEMS + 1) ** 0.8
    return np.rint(counts[:, None] * parts / parts.sum(axis=1, keepdims=True)).astype(np.int64)


def release(folder: Path, true: np.ndarray, seed: int, **form: Any) -> Release:
    """Items and items on days, with noise of its true law, as if sra had kept four records."""
    axes = axes_of({"item": range(100, 100 + ITEMS), "day": DAYS})
    draws, made = SystemDraws(Seeded(seed)), []
    for name, over, table in (("items", axes[:1], true.sum(axis=1)), ("edges", axes, true)):
        asked = in_form(name, grid(over), Epsilon.of("1/2"), form, bound=BOUND)
        made.append(asked.publish(counts_of(over, table, BOUND), draws))
    folder.mkdir()
    listed = [
        {"name": a.name, "kind": a.kind, "size": len(a), "values": a.values.tolist()} for a in axes
    ]
    bounds = {table.name: {"bound": BOUND, "scaling": "1"} for table in made}
    facts = {
        "tables": [write(folder / f"{table.name}.parquet", table) for table in made],
        "domain": {"items": listed[0], "contexts": listed[1:]},
        "counted": "records",
        "guarantee": GUARANTEE | {"epsilon": "1"},
        "records": RECORDS,
        "method": METHOD | {"bounds": bounds},
    }
    return opened(folder, facts)


def true_lifts(true: np.ndarray, days: list[str]) -> np.ndarray:
    chosen = np.isin(DAYS, days)
    return np.asarray(
        true[:, chosen].sum(axis=1) / true.sum(axis=1) * true.sum() / true[:, chosen].sum()
    )


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return release(tmp_path_factory.mktemp("special") / "one", cells(1, 0.4), 1)


@pytest.mark.parametrize("days", [["Sat"], ["Sat", "Sun"], ["Fri", "Sat", "Mon"]])
def test_lifts_follow_from_the_tables(one: Release, days: list[str]) -> None:
    """By plain arithmetic on the rows of both tables, and the estimates that a top list shows."""
    shown = {row.item: row for row in one.top(ITEMS)}
    edges = one.table("edges").fetchall()
    there: dict[int, float] = {}
    for item, day, count, *_ in edges:
        there[item] = there.get(item, 0) + count * (day in days)
    std = next(t["noise"]["std"] for t in one.metadata["tables"] if t["name"] == "edges")
    order = [item for item, row in shown.items() if row.estimate > 2 * row.standard_error]
    mean = np.array([shown[item].estimate for item in order])
    overall = sum(row.estimate for row in shown.values())
    total = sum(there.values())
    error = std * sqrt(len(days) * ITEMS)
    whole = one.view.items.every.error  # type: ignore[union-attr]
    seen = Seen(
        np.array([there[item] for item in order], dtype=float),
        np.full(len(order), std * sqrt(len(days))),
        mean * total / overall,
        np.array([shown[item].standard_error for item in order]) / mean,
        sqrt((error / total) ** 2 + (whole / overall) ** 2),
        len(days),
        max(1.1 * overall / total, 1.5),
    )
    found = one.recommend(ITEMS, by="special", day=days)
    expected = found_lifts(seen)
    best = np.argsort(-expected.mean, kind="stable")
    assert [row.item for row in found] == [order[n] for n in best]
    assert [row.lift for row in found] == pytest.approx(expected.mean[best])
    assert [row.lift_low for row in found] == pytest.approx(expected.low[best])
    assert [row.chance_special for row in found] == pytest.approx(expected.above[best])
    for row in found:  # what is beside a lift is what was released, and what is believed of it
        assert row.count == there[row.item]
        assert row.noise_std == pytest.approx(std * sqrt(len(days)))
    popular = {row.item: row.estimate for row in one.recommend(ITEMS, day=days)}
    assert all(row.estimate == popular[row.item] for row in found)


def test_items_are_left_out_of_the_list_and_of_the_chances(one: Release) -> None:
    every = one.recommend(ITEMS, by="special", day="Sat")
    left = one.recommend(5, by="special", day="Sat", without=[every[0].item, every[2].item])
    assert [row.item for row in left] == [every[n].item for n in (1, 3, 4, 5, 6)]
    assert [row.rank for row in left] == [1, 2, 3, 4, 5]
    assert left[0].lift == every[1].lift
    few = one.recommend(1, by="special", day="Sat")
    assert few[0].chance_in_top < one.recommend(5, by="special", day="Sat")[0].chance_in_top


@pytest.mark.parametrize("scatter", [0.1, 0.4])
def test_chances_and_intervals_hold(
    scatter: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stated, held, inside, first = [], [], [], []
    for seed in range(12):
        true = cells(seed, scatter)
        made = release(tmp_path / str(seed), true, seed)
        for days in (["Sat"], ["Sat", "Sun"]):
            lifts = true_lifts(true, days)
            rows = made.recommend(ITEMS, by="special", day=days)
            at = [int(row.item) - 100 for row in rows]
            stated += [row.chance_special for row in rows]
            held += (lifts[at] > 1).tolist()
            inside += [r.lift_low <= lifts[n] <= r.lift_high for r, n in zip(rows, at, strict=True)]
            best = set((100 + np.argsort(-lifts)[:10]).tolist())
            first += [
                (row.chance_in_top, row.item in best)
                for row in made.recommend(10, by="special", day=days)
            ]
    probability, are = np.array(stated), np.array(held)
    sure = probability > 0.9
    expected, right = (float(np.mean(column)) for column in zip(*first, strict=True))
    with capsys.disabled():
        print(
            f"\nspecial, scatter {scatter}: 95% intervals hold {np.mean(inside):.1%} of "
            f"{len(inside)}; {sure.sum()} at 90% or more, {are[sure].mean():.1%} are; stated "
            f"{probability.mean():.1%}, are {are.mean():.1%}; among the true ten: stated "
            f"{expected:.1%}, are {right:.1%}"
        )
    assert np.mean(inside) >= 0.92
    assert sure.sum() > 5
    assert are[sure].mean() >= 0.9
    for low, high in ((0.0, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 1.01)):
        bin_ = (probability >= low) & (probability < high)
        if bin_.sum() > 20:
            slack = 0.07 + 3 * sqrt(0.25 / bin_.sum())
            assert abs(probability[bin_].mean() - are[bin_].mean()) <= slack
    assert abs(expected - right) <= 0.12


@pytest.mark.parametrize("form", [{"summary": ct.Filter(cut=30)}, {"summary": ct.Priority(150)}])
def test_sparse_tables_answer_too(form: dict[str, Any], tmp_path: Path) -> None:
    true = cells(4, 0.5)
    made = release(tmp_path / "sparse", true, 4, **form)
    rows = made.recommend(10, by="special", day="Sat")
    lifts = true_lifts(true, ["Sat"])
    assert len(rows) == 10
    sure = [row for row in rows if row.chance_special > 0.95]
    assert sure
    assert all(lifts[int(row.item) - 100] > 1 for row in sure)


def test_nobody_is_special(tmp_path: Path) -> None:
    nobody = release(tmp_path / "nobody", np.zeros((ITEMS, len(DAYS)), dtype=np.int64), 5)
    found = nobody.recommend(10, by="special", day="Sat")
    assert all(row.chance_special < 0.95 for row in found)


def test_few_who_are_there_make_nothing_special(tmp_path: Path) -> None:
    """Of three records a share is 0 or many times itself by chance: no interval would hold."""
    inside, claimed = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        true = cells(seed, 0.3)
        for day, many in ((1, 3), (2, 60)):
            overall = true.sum(axis=1)
            true[:, day] = rng.multinomial(many, overall / overall.sum())
        made = release(tmp_path / str(seed), true, seed)
        for day in ("Sat", "Sun"):
            rows, lifts = made.recommend(10, by="special", day=day), true_lifts(true, [day])
            there = [lifts[int(row.item) - 100] for row in rows]
            inside += [r.lift_low <= n <= r.lift_high for r, n in zip(rows, there, strict=True)]
            claimed += [n > 1 for r, n in zip(rows, there, strict=True) if r.chance_special > 0.9]
            if not rows:
                assert "too few are counted there" in str(rows)
    assert len(inside) <= 12, "of 80 lines that were asked for"
    assert all(claimed)


def test_a_rare_item_that_is_often_there_is_told() -> None:
    values, expected = np.array([0.0, 3.0, 40.0, 4.0]), np.array([0.1, 0.1, 0.1, 6.0])
    assert are_told(values, np.full(4, 2.0), expected).tolist() == [False, False, True, True]


@pytest.mark.parametrize(
    ("name", "context"),
    [("short", {"day": "dry"}), ("rich in contexts", {"day": "wet"}), ("totals", {"day": "dry"})],
)
def test_releases_of_auto(name: str, context: dict[str, str]) -> None:
    """What was measured of contexts is used; where nothing was, nothing is special."""
    made = known_way(name)
    found = made.recommend(12, by="special", **context)
    if name == "totals":
        assert len(found) == 0
        assert "Nothing is special there. Each context has the overall ranking" in str(found)
        return
    (value,) = context.values()
    overall: dict[Any, int] = {}
    there: dict[Any, int] = {}
    for (item, where), times in truth(name).items():
        overall[item] = overall.get(item, 0) + times
        there[item] = there.get(item, 0) + times * (where == value)
    share = sum(there.values()) / sum(overall.values())
    lifts = {item: there[item] / overall[item] / share for item in overall}
    sure = [row for row in found if row.chance_special > 0.9]
    assert len(sure) >= 5
    assert np.mean([lifts[row.item] > 1 for row in sure]) >= 0.9
    assert np.mean([row.lift_low <= lifts[row.item] <= row.lift_high for row in found]) >= 0.9
    everywhere = list(truth(name))
    with pytest.raises(ct.UsageError, match="nothing is special everywhere"):
        made.recommend(
            by="special", context={next(iter(context)): sorted({w for _, w in everywhere})}
        )


def test_top_items_alone_say_what_is_popular() -> None:
    made = known_way("top in contexts")
    first = made.recommend(3, sex="f")
    assert [row.item for row in made.recommend(2, sex="f", without=[first[0].item])] == [
        row.item for row in first[1:]
    ]
    with pytest.raises(ct.UsageError, match="top items alone"):
        made.recommend(by="special", sex="f")
    with pytest.raises(ct.UsageError, match="name one value of 'sex'"):
        made.recommend(sex=["f", "m"])


def test_a_list_of_what_is_not_special_says_so_first(tmp_path: Path) -> None:
    found = release(tmp_path / "r", cells(1, 0.6), 1).recommend(3, by="special", day="Sat")
    words = "None of these items is believed to be more popular there than overall."
    assert found[0].lift is not None
    assert found[0].lift > 1
    assert words not in str(found)
    dull = replace(found, rows=tuple(replace(one, lift=0.8) for one in found))
    assert str(dull).startswith(words)
