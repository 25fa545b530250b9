"""Items of users: drawn by popularity, each once or with returns, by the law they claim."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from crowdtally_research.lookalikes import drawing
from crowdtally_research.lookalikes.drawing import Popularity, Skew, distinct, returning

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
