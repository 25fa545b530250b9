"""How look-alikes are drawn: sizes of users, their items, their contexts."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from crowdtally_research.lookalikes import drawing
from crowdtally_research.lookalikes.drawing import (
    SHAPES,
    Demographics,
    Popularity,
    Skew,
    Weekdays,
    distinct,
    records_per_user,
    returning,
)
from crowdtally_research.lookalikes.statistics import LOOKALIKES, statistics_of

# ---- Records per user: the printed numbers hold exactly, at full size too; the law is
#      heavy-tailed


PRINTED = {
    # users, items, records, most, fewest, mean to one decimal
    "gowalla": (12_579, 15_200, 739_600, 14_380, 1, 58.8),
    "foursquare": (45_289, 17_967, 1_276_988, 1_303, 1, 28.2),
    "netflix": (480_189, 17_770, 100_480_507, 17_653, 1, 209.3),
    "movielens": (6_040, 3_706, 1_000_209, 2_314, 20, 165.6),
    "movielens-10m": (71_567, 10_681, 10_000_086, 7_359, 20, 139.7),
    "transaction": (515_597, 1_657, 3_367_007, 164, 1, 6.5),
    "document": (8_200_000, 141_043, 483_450_270, 436, 1, 59.0),
    "aol": (657_426, 46_176, 23_034_898, 27_027, 1, 35.0),
    "kosarak": (990_002, 41_270, 8_019_174, 2_497, 1, 8.1),
}
AVERAGE_COLUMN_COUNT = {
    "netflix": 5654.50, "transaction": 2031.99, "movielens-10m": 936.25, "document": 3427.68,
    "aol": 498.85, "kosarak": 194.31,
}  # fmt: skip


def test_every_look_alike_has_its_printed_numbers() -> None:
    found = {
        name: (s.users, s.items, s.records, s.most, s.fewest, round(s.mean, 1))
        for name, s in LOOKALIKES.items()
    }
    assert found == PRINTED
    assert list(SHAPES) == list(LOOKALIKES)


@pytest.mark.parametrize("name", AVERAGE_COLUMN_COUNT)
def test_the_average_column_count_is_the_printed_one(name: str) -> None:
    numbers = LOOKALIKES[name]
    assert round(numbers.records / numbers.items, 2) == AVERAGE_COLUMN_COUNT[name]


@pytest.mark.parametrize("name", PRINTED)
def test_the_numbers_hold_exactly_at_full_size(name: str) -> None:
    users, _, records, most, fewest, _ = PRINTED[name]
    sizes = records_per_user(users, records, fewest=fewest, most=most, spread=SHAPES[name].spread)
    assert (len(sizes), int(sizes.sum())) == (users, records)
    assert (int(sizes.min()), int(sizes.max())) == (fewest, most)
    assert np.all(np.diff(sizes) >= 0)
    # Heavy-tailed, but no heap at the largest number: that one was attained, not cut to.
    assert float(np.median(sizes)) < 0.92 * records / users
    assert int((sizes == most).sum()) <= 3


@pytest.mark.parametrize(
    ("users", "records", "fewest", "most"),
    [
        (2, 8, 3, 5), (3, 12, 3, 5), (10, 37, 1, 28), (10, 10, 1, 1), (5, 25, 5, 5),
        (1000, 4200, 1, 9),
    ],
)  # fmt: skip
def test_small_and_narrow_numbers_hold_too(
    users: int, records: int, fewest: int, most: int
) -> None:
    sizes = records_per_user(users, records, fewest=fewest, most=most, spread=1.3)
    assert (len(sizes), int(sizes.sum())) == (users, records)
    assert (int(sizes[0]), int(sizes[-1])) == (fewest, most)
    assert np.all(np.diff(sizes) >= 0)


def test_impossible_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="no such numbers"):
        records_per_user(10, 100, fewest=1, most=5, spread=1.0)


@pytest.mark.parametrize("name", PRINTED)
@pytest.mark.parametrize("scale", ["0.1", "0.01", "smallest"])
def test_a_scale_keeps_mean_and_items_and_bounds(name: str, scale: str) -> None:
    whole = LOOKALIKES[name]
    share = 10.5 / whole.users if scale == "smallest" else scale
    numbers = statistics_of(name, share)
    assert (numbers.items, numbers.fewest) == (whole.items, whole.fewest)
    assert abs(numbers.mean - whole.mean) < whole.mean / numbers.users
    assert numbers.most == min(whole.most, numbers.records // 4)
    sizes = records_per_user(
        numbers.users, numbers.records, fewest=numbers.fewest, most=numbers.most,
        spread=SHAPES[name].spread,
    )  # fmt: skip
    assert (len(sizes), int(sizes.sum())) == (numbers.users, numbers.records)
    assert (int(sizes[0]), int(sizes[-1])) == (numbers.fewest, numbers.most)


# ---- Items of users: drawn by popularity, each once or with returns, by the law they claim -------


USERS = 40_000
WEIGHTS = np.array([0.55, 0.25, 0.15, 0.05])
SIGMAS = 6


def one_kind(users: int) -> NDArray[np.int32]:
    return np.zeros(users, dtype=np.int32)


def test_an_alias_table_has_the_weights() -> None:
    """The chance of each item, read off the tables instead of drawn."""
    weights = np.stack([Skew(3, 1.1, 0.4).weights(500), np.full(500, 1 / 500)])
    popularity = Popularity(weights)
    for row in range(2):
        own = popularity._own[row * 500 : (row + 1) * 500].astype(float)
        other = popularity._other[row * 500 : (row + 1) * 500]
        chances = (own + np.bincount(other, 1 - own, minlength=500)) / 500
        assert np.allclose(chances, weights[row], atol=1e-8)


def test_each_kind_draws_by_its_own_weights() -> None:
    weights = np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]])
    kinds = np.repeat(np.array([0, 1], dtype=np.int32), USERS)
    items = Popularity(weights).draw(np.random.default_rng(5), kinds)
    for kind in range(2):
        shares = np.bincount(items[kinds == kind], minlength=3) / USERS
        assert np.all(np.abs(shares - weights[kind]) < SIGMAS * 0.5 / USERS**0.5)


def by_trial(rng: np.random.Generator, size: int) -> list[frozenset[int]]:
    sizes = np.full(USERS, size)
    users, items = drawing._by_trial(rng, Popularity(WEIGHTS[None]), sizes, one_kind(USERS))
    sets: list[set[int]] = [set() for _ in range(USERS)]
    for user, item in zip(users.tolist(), items.tolist(), strict=True):
        assert item not in sets[user]
        sets[user].add(item)
    return [frozenset(one) for one in sets]


def by_keys(rng: np.random.Generator, size: int) -> list[frozenset[int]]:
    return [frozenset(drawing._by_keys(rng, WEIGHTS, size).tolist()) for _ in range(USERS)]


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("draw", [by_trial, by_keys])
def test_both_ways_draw_one_after_the_other(
    draw: Callable[[np.random.Generator, int], list[frozenset[int]]], size: int
) -> None:
    """Sets of items against their chances, summed over all orders."""
    chances: Counter[frozenset[int]] = Counter()
    for order in itertools.permutations(range(4), size):
        left, chance = 1.0, 1.0
        for item in order:
            chance *= WEIGHTS[item] / left
            left -= WEIGHTS[item]
        chances[frozenset(order)] += chance  # type: ignore[assignment]
    found = Counter(draw(np.random.default_rng(11), size))
    assert set(found) <= set(chances)
    for items, chance in chances.items():
        deviation = (chance * (1 - chance) / USERS) ** 0.5
        assert abs(found[items] / USERS - chance) < SIGMAS * deviation, (items, chance)


def test_nobody_has_an_item_twice_however_many_they_have() -> None:
    sizes = np.array([0, 1, 5, 83, 84, 500, 990, 1000, 40, 1])
    popularity = Popularity(Skew(0, 1.2, 0).weights(1000)[None])
    users, items = distinct(np.random.default_rng(2), popularity, sizes, one_kind(10))
    assert np.bincount(users, minlength=10).tolist() == sizes.tolist()
    assert (int(items.min()), int(items.max())) == (0, 999)
    assert len(set(zip(users.tolist(), items.tolist(), strict=True))) == int(sizes.sum())


def test_many_users_of_many_items_need_wider_keys() -> None:
    """Past 2^32 a narrow key would name another user and item."""
    sizes = np.zeros(70_000, dtype=np.int64)
    sizes[[0, 69_998, 69_999]] = [3, 2, 4]
    popularity = Popularity(Skew(0, 1, 0).weights(70_000)[None])
    users, items = distinct(np.random.default_rng(2), popularity, sizes, one_kind(70_000))
    assert Counter(users.tolist()) == {0: 3, 69_998: 2, 69_999: 4}
    assert int(items.max()) < 70_000


class Unvisited(Popularity):
    """Every draw is a place where nobody was before."""

    def draw(self, rng: np.random.Generator, kinds: NDArray[np.int32]) -> NDArray[np.int32]:
        return np.arange(len(kinds), dtype=np.int32)


def test_users_return_to_places_of_their_own() -> None:
    sizes = np.full(200, 100)
    places = Unvisited(np.ones((1, 1)))
    users, items = returning(np.random.default_rng(3), places, sizes, one_kind(200), 0.6)
    assert users.tolist() == np.repeat(np.arange(200), 100).tolist()
    assert np.array_equal(items // 100, users), "a record repeats its own user's"
    new = len(np.unique(items)) - 200
    deviation = (200 * 99 * 0.6 * 0.4) ** 0.5
    assert abs(new - 200 * 99 * 0.4) < SIGMAS * deviation
    # Favourites: a user's most visited place has many times the visits of an average one.
    visits = np.bincount(items, minlength=20_000).reshape(200, 100)
    assert visits.max(axis=1).mean() > 5 * 100 / (1 + 99 * 0.4)


def test_popularity_falls_with_the_rank() -> None:
    weights = Skew(10, 0.9, 0.5).weights(300)
    assert np.all(np.diff(weights) < 0)
    assert abs(weights.sum() - 1) < 1e-12
    assert np.allclose(weights[0] / weights[9], (300 / 291) ** 0.5 * (20 / 11) ** 0.9)


# ---- Weekdays follow a week, with habits; gender and age follow the user -------------------------


WEEK = (0.10, 0.10, 0.10, 0.15, 0.15, 0.25, 0.15)
ROWS = 200_000


def test_weekdays_follow_the_week_over_all() -> None:
    rng = np.random.default_rng(4)
    users = np.arange(ROWS, dtype=np.int32)
    items = rng.permutation(users)
    days = Weekdays(WEEK).codes(rng, users, items, users)["weekday"]
    assert np.allclose(np.bincount(days, minlength=7) / ROWS, WEEK, atol=0.008)


def test_a_user_and_an_item_have_a_favourite_day() -> None:
    """One user, one item: their days are the week's, and the two habits' on top."""
    rng = np.random.default_rng(4)
    one, other = (np.full(ROWS, number, dtype=np.int32) for number in (12, 777))
    spread = np.arange(ROWS, dtype=np.int32)
    law = Weekdays(WEEK, habit=0.2, suits=0.1)
    for users, items, share in ((one, spread, 0.2), (spread, other, 0.1)):
        days = law.codes(rng, users, items, users)["weekday"]
        found = np.bincount(days, minlength=7) / ROWS
        above = found - (1 - share) * np.array(WEEK)
        favourite = int(above.argmax())
        assert abs(above[favourite] - share) < 0.01
        assert np.all(np.abs(np.delete(above, favourite)) < 0.01)


def test_users_do_not_share_one_favourite_day() -> None:
    rng = np.random.default_rng(4)
    users = np.repeat(np.arange(700, dtype=np.int32), 100)
    items = np.zeros(len(users), dtype=np.int32)
    days = Weekdays((1 / 7,) * 7, habit=1, suits=0).codes(rng, users, items, users)["weekday"]
    by_user = days.reshape(700, 100)
    assert np.all(by_user == by_user[:, :1])
    assert np.bincount(by_user[:, 0], minlength=7).min() > 60


def test_six_groups_are_two_genders_of_three_ages() -> None:
    law = Demographics((1, 2, 3, 4, 5, 5))
    assert np.allclose(law.kinds, np.array([1, 2, 3, 4, 5, 5]) / 20)
    kinds = np.arange(6, dtype=np.int32)
    codes = law.codes(np.random.default_rng(1), kinds, kinds, kinds)
    values = law.values
    groups = [
        (values["gender"][g], values["age"][a])
        for g, a in zip(codes["gender"], codes["age"], strict=True)
    ]
    assert groups[0] == ("F", "Under 25")
    assert groups[5] == ("M", "Above 34")
    assert len(set(groups)) == 6
