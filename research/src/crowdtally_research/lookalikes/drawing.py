"""Items of whole users: each item once, or with favourites to which a user returns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally_research.lookalikes.items import Popularity

_HEAVY = 12
"""A user with more than one in so many of all items is drawn by keys, not by trial and error."""


def distinct(
    rng: np.random.Generator,
    popularity: Popularity,
    sizes: NDArray[np.int64],
    kinds: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """For each record its user's place in ``sizes`` and its item; no user has an item twice.

    Every user's items are drawn one after the other by popularity, without those drawn before.
    """
    heavy = sizes * _HEAVY > popularity.items
    users, items = _by_trial(rng, popularity, np.where(heavy, 0, sizes), kinds)
    owners, taken = [users], [items]
    for user in np.flatnonzero(heavy):
        size = int(sizes[user])
        owners.append(np.full(size, user, dtype=np.int32))
        taken.append(_by_keys(rng, popularity.weights[kinds[user]], size))
    return np.concatenate(owners), np.concatenate(taken)


def _by_keys(
    rng: np.random.Generator, weights: NDArray[np.float64], size: int
) -> NDArray[np.int32]:
    """The first ``size`` of exponential clocks whose rates are the weights."""
    if size == len(weights):
        return np.arange(size, dtype=np.int32)
    clocks = rng.standard_exponential(len(weights)) / weights
    return np.argpartition(clocks, size)[:size].astype(np.int32)


def _by_trial(
    rng: np.random.Generator,
    popularity: Popularity,
    sizes: NDArray[np.int64],
    kinds: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Draw what is missing, drop what repeats, until nothing is missing.

    As many are drawn as are missing, so nobody ever has too many: this is drawing one after the
    other and throwing repeats away.
    """
    items = popularity.items
    # A key is user · items + item: small ones are sorted in half the time.
    small = len(sizes) * items < 1 << 32
    key: Any = np.uint32 if small else np.uint64
    bounds = (np.arange(1, len(sizes) + 1, dtype=np.uint64) * np.uint64(items) - 1).astype(key)
    missing = sizes.copy()
    kept: NDArray[Any] = np.empty(0, dtype=key)  # in order, of users who still draw
    done = []
    while missing.any():
        users = np.repeat(np.arange(len(sizes), dtype=key), missing)
        drawn = users * key(items)
        drawn += popularity.draw(rng, kinds[users]).astype(key)
        kept = _different(kept, drawn)
        has = np.diff(np.searchsorted(kept, bounds, side="right"), prepend=0)
        whole = np.repeat(has == sizes, has)
        done.append(kept[whole])
        kept = kept[~whole]
        missing = np.where(missing > 0, sizes - has, 0)
    keys = np.concatenate(done) if done else kept
    users = keys // key(items)
    return users.astype(np.int32), (keys - users * key(items)).astype(np.int32)


def _different(kept: NDArray[Any], drawn: NDArray[Any]) -> NDArray[Any]:
    """Both together in order, each key once."""
    drawn.sort()
    keys = np.concatenate([kept, drawn])
    if len(kept):
        keys.sort(kind="stable")  # merges two runs that are in order
    first = np.empty(len(keys), dtype=bool)
    first[:1] = True
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    return keys[first]


def returning(
    rng: np.random.Generator,
    popularity: Popularity,
    sizes: NDArray[np.int64],
    kinds: NDArray[np.int32],
    share: float,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """For each record its user's place in ``sizes`` and its item; users return to their favourites.

    Args:
        rng: what to draw with.
        popularity: which items are discovered.
        sizes: how many records each user has.
        kinds: which kind each user is of.
        share: the chance that a record repeats one of its user's earlier records, any of them
            alike: what was visited often is visited more often.
    """
    users = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    places = np.arange(len(users))
    nth = places - starts
    repeats = (rng.random(len(users)) < share) & (nth > 0)
    earlier = starts + (rng.random(len(users)) * nth).astype(np.int64)
    origin = np.where(repeats, earlier, places)
    while not np.array_equal(further := origin[origin], origin):
        origin = further
    items = popularity.draw(rng, kinds[users])
    return users, items[origin]
