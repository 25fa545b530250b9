"""Item to item: pairs in either order, by count and by lift."""

from __future__ import annotations

from math import sqrt
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.noise.draws import SystemDraws
from kit.made import made
from kit.silent import SilentDraws
from kit.stored import stored
from kit.words import Seeded

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
    options = {"pairs": True, "max_records": EACH, "epsilon": 20}
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
            pairs=True, max_records=EACH, epsilon=1,
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
        tmp_path, rows(), ct.Domain(names), draws=SilentDraws(), pairs=True, max_records=EACH
    )  # fmt: skip
    with pytest.raises(ct.UsageError, match="not told apart from noise"):
        release.recommend(item="unseen", by="special")
    assert release.recommend(3, item="unseen")
