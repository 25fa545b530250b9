"""Recommendations by context, and from item to item."""

from __future__ import annotations

import itertools
import json
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.noise.draws import SystemDraws
from kit.command import crowdtally
from kit.draws import Seeded, SilentDraws
from kit.publishing import made, visits
from kit.stored import NAMES, stored

# ---- Recommendations: the right items in any contexts, without those that the asker knows --------


PLACES = ["zoo", "arena", "mill", "bank", "yard", "@home"]
DAYS, HOURS = ["Fri", "Sat", "Sun"], [9, 10, 11]


def counts() -> dict[tuple[str, str, int], int]:
    rng = np.random.default_rng(5)
    cells = list(itertools.product(PLACES, DAYS, HOURS))
    return dict(zip(cells, rng.integers(1, 40, len(cells)).tolist(), strict=True))


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> ct.Release:
    domain = ct.Domain(PLACES, {"day": DAYS, "hour": HOURS})
    folder = tmp_path_factory.mktemp("recommend")
    rows = visits(counts(), "day", "hour")
    return made(folder, rows, domain, draws=SilentDraws(), method=ct.SRA(1), epsilon="1/5")


def by_hand(days: list[str], hours: list[int], without: list[str]) -> list[tuple[str, int]]:
    """Items by their sums over cells; ties in the order of the list."""
    found = dict.fromkeys((place for place in PLACES if place not in without), 0)
    for (place, day, hour), times in counts().items():
        if place in found and day in days and hour in hours:
            found[place] += times
    return sorted(found.items(), key=lambda pair: (-pair[1], PLACES.index(pair[0])))


def subsets(values: list[Any]) -> list[list[Any]]:
    return [list(some) for n in (1, 2) for some in itertools.combinations(values, n)]


@pytest.mark.parametrize("without", [[], ["mill"], ["zoo", "@home", "zoo"]])
def test_noisy_lists_are_sums_over_the_table(release: ct.Release, without: list[str]) -> None:
    """Every pair of one or two days and hours, and each alone."""
    asked = [{"day": days, "hour": hours} for days in subsets(DAYS) for hours in subsets(HOURS)]
    asked += [{"day": days} for days in subsets(DAYS)] + [{"hour": hours} for hours in [[9], [11]]]
    for contexts in [*asked, {}]:
        found = release.recommend(3, without=without, raw=True, context=contexts)
        days, hours = contexts.get("day", DAYS), contexts.get("hour", HOURS)
        expected = by_hand(days, hours, without)[:3]
        assert [(row.item, row.count) for row in found] == expected, contexts
        assert [row.rank for row in found] == [1, 2, 3]
        cells = len(days) * len(hours) if contexts else 1
        name = "edges" if contexts else "items"
        (table,) = (one for one in release.metadata["tables"] if one["name"] == name)
        for row in found:
            assert row.noise_std == pytest.approx(table["noise"]["std"] * cells**0.5)
            assert (row.lift, row.chance_special) == (None, None)


@pytest.mark.parametrize("contexts", [{}, {"day": "Sat"}, {"day": ["Sat", "Sun"], "hour": 10}])
def test_estimates_are_those_of_the_top_list(release: ct.Release, contexts: dict[str, Any]) -> None:
    everything = release.top(6, **contexts).rows
    for without in ([], ["arena"], PLACES[1:4], PLACES):
        found = release.recommend(2, without=without, **contexts)
        left = [row for row in everything if row.item not in without]
        assert [row.item for row in found] == [row.item for row in left[:2]]
        for mine, top in zip(found, left, strict=False):
            for name in ("estimate", "estimate_low", "estimate_high", "covers", "count", "median"):
                assert getattr(mine, name) == getattr(top, name)
        if len(left) > 2:
            chances = [row.chance_in_top for row in release.recommend(6, without=without)]
            assert all(chance == 1 for chance in chances)
            assert 0 < min(row.chance_in_top or 0 for row in found) <= 1


def test_chances_are_among_what_is_left(release: ct.Release) -> None:
    """They add up to k, whoever is left out."""
    for without in ([], ["zoo"], ["zoo", "mill"]):
        few = release.recommend(2, without=without, day="Sat")
        among = {row.item: row.chance_in_top for row in few}
        rest = release.recommend(6, without=[*without, *among], day="Sat")
        assert sum(among.values()) <= 2 + 1e-6
        assert sum(among.values()) + len(rest) >= 2 - 1e-6
    first, second = release.recommend(1, day="Sat"), release.recommend(2, day="Sat")
    left = release.recommend(1, day="Sat", without=[first[0].item])
    assert left[0].item == second[1].item
    assert left[0].chance_in_top > second[1].chance_in_top * 0.5


def test_any_k(release: ct.Release) -> None:
    assert len(release.recommend(10**9)) == 6
    assert len(release.recommend(10**9, without=["zoo"], day="Sat")) == 5
    assert len(release.recommend(10**9, by="special", day="Sat")) <= 6
    assert len(release.recommend(3, without=PLACES)) == 0
    for k in (0, -1, True, 2.0, "3"):
        with pytest.raises(ct.UsageError, match="k must be a whole number of at least 1"):
            release.recommend(k)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"day": "Sta"}, "'day' has no value 'Sta'. Did you mean 'Sat'?"),
        ({"day": ["Sat", "Snu"]}, "Did you mean 'Sun'?"),
        ({"day": []}, "no value of the context 'day' is named"),
        ({"dya": "Sat"}, "no context 'dya'. Did you mean 'day'?"),
        ({"hour": "nine"}, "'hour' holds whole numbers"),
        ({"without": "zooo"}, "'item' has no value 'zooo'. Did you mean 'zoo'?"),
        ({"without": ["mill", "aerna"]}, "Did you mean 'arena'?"),
        ({"without": 7}, "'item' has no value '7'"),
        ({"without": [None]}, "text or a whole number"),
        ({"item": "bnak"}, "'item' has no value 'bnak'. Did you mean 'bank'?"),
        ({"item": "bank"}, "no pairs of items.*--pairs"),
        ({"item": "bank", "day": "Sat"}, "not counted in contexts"),
        ({"by": "specal"}, "Did you mean 'special'?"),
        ({"by": "special"}, "Name a context, with --context day=VALUE --context hour=VALUE"),
        ({"by": "special", "day": DAYS}, "nothing is special everywhere"),
        ({"by": "special", "day": "Sat", "raw": True}, "leave out --raw"),
        ({"day": "Sat", "context": {"day": "Sun"}}, "'day' is given twice"),
    ],
)
def test_what_is_wrong_is_told(release: ct.Release, asked: dict[str, Any], words: str) -> None:
    with pytest.raises(ct.UsageError, match=words.replace("?", r"\?")):
        release.recommend(3, **asked)


def test_a_context_may_have_any_name(tmp_path: Path) -> None:
    domain = ct.Domain(["a", "b"], {"by": ["x", "y"], "item2": [1, 2]})
    cells = {("a", "x", 1): 9, ("b", "y", 2): 5, ("b", "x", 2): 3}
    rows = visits(cells, "by", "item2")
    release = made(tmp_path, rows, domain, draws=SilentDraws(), method=ct.SRA(1))
    found = release.recommend(1, context={"by": ["x"]}, item2=[2], raw=True)
    assert [(row.item, row.count) for row in found] == [("b", 3)]


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_of_release_answers_or_says_what_to_ask(name: str) -> None:
    """Of each that has a list of items, a list; of each that has contexts, what is special."""
    release = ct.load(stored(name))
    domain, tables = release.metadata["domain"], release.metadata["tables"]
    kinds = {table.get("transform", {}).get("kind") for table in tables}
    if "items" not in domain:
        with pytest.raises(ct.UsageError, match="it has no items"):
            release.recommend(3)
        return
    if "sketch" in kinds or name in ("haar-items", "discovered-none"):
        with pytest.raises(
            ct.UsageError, match=r"ask for the sum of each item|passed the threshold"
        ):
            release.recommend(3)
        return
    first = release.recommend(3)
    left = release.recommend(2, without=[first[0].item])
    assert [row.item for row in left] == [row.item for row in release.recommend(3)][1:3]
    for context in domain["contexts"][:1]:
        values = context["values"][:2] if len(context["values"]) > 2 else context["values"][:1]
        both = release.recommend(3, context={context["name"]: values})
        assert 1 <= len(both) <= 3
        special = release.recommend(3, by="special", context={context["name"]: values})
        for row in special:
            assert 0 <= row.lift_low <= row.lift <= row.lift_high
            assert 0 <= row.chance_special <= 1
        assert [row.lift for row in special] == sorted((row.lift for row in special), reverse=True)


def test_the_command_line_asks_the_same(release: ct.Release, tmp_path: Path) -> None:
    seen = tmp_path / "seen.txt"
    seen.write_bytes("\ufeffzoo\r\n\r\nmill\n".encode())
    asked = ["recommend", release.folder, "--context", "day=Sat", "--context", "day=Sun"]
    ended = crowdtally(*asked, "-k", 2, "--without", f"@{seen}", "--without", "@@home", "--json")
    assert (ended.code, ended.err) == (0, "")
    mine = release.recommend(2, day=["Sat", "Sun"], without=["zoo", "mill", "@home"])
    assert json.loads(ended.out) == json.loads(mine.to_json())
    special = crowdtally(*asked, "--by", "special", "--context", "hour=9")
    assert special.out.split("\n")[0].split() == (
        "rank lift 95% within special in top 6 estimate noisy count item".split()
    )
    assert special.out.rstrip("\n") == str(
        release.recommend(by="special", day=["Sat", "Sun"], hour=9)
    )


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["--context", "day"], 2, "a context is NAME=VALUE"),
        (["--context", "day=Sta"], 2, "Did you mean 'Sat'?"),
        (["--without", "@none.txt"], 4, "'none.txt' cannot be read"),
        (["--by", "best"], 2, "'best' is none of popular, special"),
        (["-k", "0"], 2, "at least 1"),
        (["--like", "zoo"], 2, "--pairs"),
        (["--like", "zu\x1b[2J"], 2, "has no value 'zu\\x1b[2J'"),
    ],
)
def test_the_command_line_says_what_is_wrong(
    release: ct.Release, words: list[str], code: int, told: str
) -> None:
    ended = crowdtally("recommend", release.folder, *words)
    assert (ended.code, ended.out) == (code, "")
    assert told in ended.err
    assert "\x1b" not in ended.err


def test_a_prompt_and_a_notebook_show_values_as_text(tmp_path: Path) -> None:
    hostile = ["<script>alert(1)</script>", "=cmd|' /C calc'!A0", "a\x1b[2J", "x" * 10**5]
    domain = ct.Domain(hostile, {"day": ["<b>Sat", "Sun"]})
    cells = {(item, "<b>Sat", ): 20 + 9 * n for n, item in enumerate(hostile)}  # fmt: skip
    cells |= {(item, "Sun"): 30 for item in hostile}
    rows = visits(cells, "day")
    release = made(tmp_path, rows, domain, draws=SilentDraws(), method=ct.SRA(1), epsilon=5)
    for by in ("popular", "special"):
        found = release.recommend(4, by=by, day="<b>Sat")
        assert len(found) == 4
        assert len(repr(found)) <= 100
        for text in (str(found), repr(found), found._repr_html_()):
            assert "\x1b" not in text
        assert "<script>" not in found._repr_html_()
        assert "<b>" not in found._repr_html_()
        assert "'=cmd" in found.to_csv()


# ---- Item to item: pairs in either order, by count and by lift -----------------------------------


ITEMS = [f"film {n}" for n in range(30)]
USERS, EACH = 1200, 4


def baskets() -> list[list[int]]:
    """Four different items a user: two of one half of the list more often than by chance."""
    rng = np.random.default_rng(8)
    weights = 1 / np.arange(3, 3 + len(ITEMS)) ** 0.7
    found = []
    for user in range(USERS):
        liked = weights * np.where(np.arange(len(ITEMS)) % 3 == user % 3, 3.0, 1.0)
        found.append(rng.choice(len(ITEMS), EACH, replace=False, p=liked / liked.sum()).tolist())
    return found


BASKETS = baskets()


def rows() -> pa.Table:
    users = [f"u{user}" for user, basket in enumerate(BASKETS) for _ in basket]
    return pa.table({"user": users, "item": [ITEMS[n] for basket in BASKETS for n in basket]})


def true_pairs() -> np.ndarray:
    found = np.zeros((len(ITEMS), len(ITEMS)), dtype=np.int64)
    for basket in BASKETS:
        for one in basket:
            for other in basket:
                found[one, other] += one != other
    return found


@pytest.fixture(scope="module")
def silent(tmp_path_factory: pytest.TempPathFactory) -> ct.Release:
    options = {"pairs": True, "method": ct.SRA(EACH), "epsilon": 20}
    folder = tmp_path_factory.mktemp("also")
    return made(folder, rows(), ct.Domain(ITEMS), draws=SilentDraws(), **options)


@pytest.mark.parametrize("place", [0, 7, len(ITEMS) - 1])
def test_partners_are_counted_in_either_order(silent: ct.Release, place: int) -> None:
    counted = true_pairs()[place]
    order = sorted((n for n in range(len(ITEMS)) if n != place), key=lambda n: (-counted[n], n))
    for raw in (True, False):
        found = silent.recommend(10**9, item=ITEMS[place], raw=raw)
        assert len(found) == len(ITEMS) - 1
        if raw:
            assert [row.item for row in found] == [ITEMS[n] for n in order]
        assert {row.item: row.count for row in found} == {ITEMS[n]: counted[n] for n in order}
    assert found.counted == "pairs of records"
    assert found.where == f"beside {ITEMS[place]}"
    left = silent.recommend(3, item=ITEMS[place], without=ITEMS[order[0]], raw=True)
    assert [row.item for row in left] == [ITEMS[n] for n in order[1:4]]


def test_lifts_are_counts_over_what_popularity_explains(silent: ct.Release) -> None:
    pairs = true_pairs()
    counts = np.bincount([n for basket in BASKETS for n in basket], minlength=len(ITEMS))
    people = counts.sum() ** 2 / pairs.sum()  # N: as many as make the mean lift 1
    found = silent.recommend(5, item=ITEMS[0], by="special")
    for row in found:
        at = ITEMS.index(str(row.item))
        lift = pairs[0, at] * people / (counts[0] * counts[at])
        assert row.lift_low <= lift <= row.lift_high
        assert row.lift == pytest.approx(lift, rel=0.12)
        assert row.chance_special > 0.9
    assert sum(ITEMS.index(str(row.item)) % 3 == 0 for row in found) >= 4


def test_chances_and_intervals_of_lifts_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = true_pairs()
    counts = np.bincount([n for basket in BASKETS for n in basket], minlength=len(ITEMS))
    people = counts.sum() ** 2 / pairs.sum()
    lifts = pairs * people / np.outer(counts, counts)
    inside, stated, held = [], [], []
    for seed in range(2):
        release = made(
            tmp_path, rows(), ct.Domain(ITEMS), draws=SystemDraws(Seeded(seed)), name=f"r{seed}",
            pairs=True, method=ct.SRA(EACH), epsilon=1,
        )  # fmt: skip
        for place in range(12):
            for row in release.recommend(99, item=ITEMS[place], by="special"):
                true = lifts[place, ITEMS.index(str(row.item))]
                inside.append(row.lift_low <= true <= row.lift_high)
                stated.append(row.chance_special)
                held.append(true > 1)
    probability, right = np.array(stated), np.array(held)
    with capsys.disabled():
        print(
            f"\nitem to item: 95% intervals hold {np.mean(inside):.1%} of {len(inside)}; stated "
            f"{probability.mean():.1%}, are {right.mean():.1%}; at 80% or more "
            f"{right[probability > 0.8].mean():.1%} of {(probability > 0.8).sum()}"
        )
    assert np.mean(inside) >= 0.9  # of three releases, whose lists share errors
    for low, high in ((0.0, 0.4), (0.4, 0.6), (0.6, 1.01)):
        some = (probability >= low) & (probability < high)
        if some.sum() > 20:
            # the three lists of one release are not independent
            slack = 0.1 + 3 * sqrt(0.25 / some.sum())
            assert abs(probability[some].mean() - right[some].mean()) <= slack


@pytest.mark.parametrize("name", ["pairs", "pairs-filter", "pairs-priority"])
def test_stored_pairs_answer(name: str) -> None:
    release = ct.load(stored(name))
    (item, other), *_ = [row[:2] for row in release.table("pairs").fetchall()]
    counted = {
        (first, second): count for first, second, count, *_ in release.table("pairs").fetchall()
    }
    for wanted in (item, other):
        found = release.recommend(99, item=wanted, raw=True)
        for row in found:
            assert row.count == counted.get((wanted, row.item), counted.get((row.item, wanted)))
        assert [row.estimate for row in found] == sorted((r.estimate for r in found), reverse=True)
        believed = release.recommend(99, item=wanted)
        assert {row.item for row in found} <= {row.item for row in believed}
        assert wanted not in {row.item for row in believed}


def test_lifts_of_an_item_that_nobody_has_are_refused(tmp_path: Path) -> None:
    names = [*ITEMS, "unseen"]
    release = made(
        tmp_path, rows(), ct.Domain(names), draws=SilentDraws(), pairs=True, method=ct.SRA(EACH)
    )  # fmt: skip
    with pytest.raises(ct.UsageError, match="not told apart from noise"):
        release.recommend(item="unseen", by="special")
    assert release.recommend(3, item="unseen")
