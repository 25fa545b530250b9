"""Draw made-up records: how many each user has, of which items, in which contexts."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.lab.demo import DAYS

# How many records each user has: heavy-tailed, and exact where the papers print a number.

_NODES = 50_000
"""Quantiles by which the law is fitted; the rest is made exact afterwards."""
_HALVINGS = 60


def records_per_user(
    users: int, records: int, *, fewest: int, most: int, spread: float
) -> NDArray[np.int64]:
    """Numbers of records of all users, in ascending order.

    Quantiles of a log-normal law cut to ``fewest … most``, whose median is fitted to the mean. What
    rounding leaves is given to, or taken from, users spread evenly over all.

    Args:
        users: how many, at least 2.
        records: what the numbers sum up to, exactly.
        fewest: the least number, which one user has.
        most: the largest number, which one user has.
        spread: the standard deviation of the logarithm, before it is cut.

    >>> records_per_user(8, 100, fewest=1, most=50, spread=1.0).tolist()
    [1, 2, 3, 5, 7, 11, 21, 50]
    """
    inner = users - 2
    rest = records - fewest - most
    if not inner * fewest <= rest <= inner * most:
        raise ValueError("no such numbers exist")
    low, high = _edges(fewest, most)
    median = _fitted(rest / max(inner, 1), min(inner, _NODES), low, high, spread)
    sizes = np.empty(users, dtype=np.int64)
    sizes[0], sizes[-1] = fewest, most
    sizes[1:-1] = _settled(_quantiles(inner, median, low, high, spread), rest, fewest, most)
    return sizes


def _edges(fewest: int, most: int) -> tuple[float, float]:
    return math.log(fewest - 0.5), math.log(most + 0.5)


def _quantiles(
    number: int, median: float, low: float, high: float, spread: float
) -> NDArray[np.int64]:
    """Evenly spaced quantiles of the cut law, rounded; ``median`` is that of the logarithm."""
    from scipy.special import ndtr, ndtri

    start, end = ndtr((low - median) / spread), ndtr((high - median) / spread)
    levels = start + (end - start) * ((np.arange(number) + 0.5) / max(number, 1))
    values = np.exp(np.clip(median + spread * ndtri(levels), low, high))
    return np.asarray(np.rint(values), dtype=np.int64)


def _fitted(mean: float, number: int, low: float, high: float, spread: float) -> float:
    """The logarithm's median for which the cut law has this mean."""
    below, above = low - 4 * spread, high + 4 * spread
    for _ in range(_HALVINGS):
        middle = (below + above) / 2
        too_small = number and _quantiles(number, middle, low, high, spread).mean() < mean
        below, above = (middle, above) if too_small else (below, middle)
    return (below + above) / 2


def _settled(sizes: NDArray[np.int64], total: int, fewest: int, most: int) -> NDArray[np.int64]:
    """The same numbers with the exact sum, still within ``fewest … most`` and in order."""
    sizes = np.clip(sizes, fewest, most)
    while lacking := total - int(sizes.sum()):
        step = 1 if lacking > 0 else -1
        movable = np.flatnonzero(sizes < most if step > 0 else sizes > fewest)
        chosen = min(abs(lacking), len(movable))
        # Evenly over those who can give or take: no part of the law is favoured.
        sizes[movable[np.arange(chosen) * len(movable) // chosen]] += step
    sizes.sort()
    return sizes


# Which items are popular, and draws by popularity in constant time.


@dataclass(frozen=True)
class Skew:
    """How popularity falls with the rank r of N: (N + 1 − r)^drop / (r + shift)^slope.

    Zipf's and Mandelbrot's law, with an end that falls away as it does in real lists.
    """

    shift: float
    """How flat the top is."""
    slope: float
    """How steep the middle is; 1 is Zipf's law."""
    drop: float
    """How fast the least popular fall away; 0 is not at all."""

    def weights(self, items: int) -> NDArray[np.float64]:
        """Probabilities of all items, the most popular first."""
        ranks = np.arange(1, items + 1, dtype=np.float64)
        weights = (items + 1 - ranks) ** self.drop / (ranks + self.shift) ** self.slope
        return np.asarray(weights / weights.sum(), dtype=np.float64)


class Popularity:
    """Draws items, each kind of user by weights of its own.

    Walker's alias method: a draw costs the same however many items there are.
    """

    def __init__(self, weights: NDArray[np.float64]) -> None:
        """Prepare to draw.

        Args:
            weights: a row for each kind of user, a column for each item; every row sums to 1.
        """
        self.weights = weights
        self.kinds, self.items = weights.shape
        tables = [_alias(row) for row in weights]
        self._own = np.concatenate([own for own, _ in tables])
        self._other = np.concatenate([other for _, other in tables])

    def draw(self, rng: np.random.Generator, kinds: NDArray[np.int32]) -> NDArray[np.int32]:
        """One item for each entry of ``kinds``, independently, repeats allowed."""
        column = rng.integers(0, self.items, len(kinds), dtype=np.int32)
        place = column if self.kinds == 1 else column + kinds * np.int32(self.items)
        kept = rng.random(len(kinds), dtype=np.float32) < self._own[place]
        return np.where(kept, column, self._other[place])


def _alias(weights: NDArray[np.float64]) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """For each item the chance to stay with it, and where to go otherwise."""
    items = len(weights)
    share = (weights * items).tolist()
    other = list(range(items))
    poor = [item for item in other if share[item] < 1]
    rich = [item for item in other if share[item] >= 1]
    while poor and rich:
        taker, giver = poor.pop(), rich.pop()
        other[taker] = giver
        share[giver] -= 1 - share[taker]
        (poor if share[giver] < 1 else rich).append(giver)
    for item in (*poor, *rich):  # what rounding left
        share[item] = 1.0
    return np.array(share, dtype=np.float32), np.array(other, dtype=np.int32)


# Contexts of made-up records: the weekday of a record, and who its user is.


class Contexts(ABC):
    """Columns that are filled beside users and items: codes of public values."""

    @property
    def kinds(self) -> NDArray[np.float64]:
        """How common each kind of user is: kinds like different items. They sum to 1."""
        return np.ones(1)

    @property
    @abstractmethod
    def values(self) -> Mapping[str, tuple[str, ...]]:
        """The public values of each column."""

    @abstractmethod
    def codes(
        self,
        rng: np.random.Generator,
        users: NDArray[np.int32],
        items: NDArray[np.int32],
        kinds: NDArray[np.int32],
    ) -> dict[str, NDArray[np.int8]]:
        """For each column and record, which of the values it has.

        Args:
            rng: what to draw with.
            users: for each record its user's number, the same in the whole file.
            items: for each record its item's number.
            kinds: for each record the kind of its user.
        """


class NoContexts(Contexts):
    """Users and items alone."""

    @property
    def values(self) -> Mapping[str, tuple[str, ...]]:
        return {}

    def codes(
        self,
        rng: np.random.Generator,
        users: NDArray[np.int32],
        items: NDArray[np.int32],
        kinds: NDArray[np.int32],
    ) -> dict[str, NDArray[np.int8]]:
        return {}


@dataclass(frozen=True)
class Weekdays(Contexts):
    """A weekday for each record. Some follow a habit of the user, or suit the item."""

    week: tuple[float, ...]
    """How common Monday … Sunday are where neither decides."""
    habit: float = 0.15
    """The share of records on the user's own favourite day."""
    suits: float = 0.1
    """The share of records on the item's own favourite day."""

    @property
    def values(self) -> Mapping[str, tuple[str, ...]]:
        """Monday to Sunday."""
        return {"weekday": DAYS}

    def codes(
        self,
        rng: np.random.Generator,
        users: NDArray[np.int32],
        items: NDArray[np.int32],
        kinds: NDArray[np.int32],
    ) -> dict[str, NDArray[np.int8]]:
        """A day by the week, unless the user's or the item's favourite day is taken."""
        chance = rng.random(len(users), dtype=np.float32)
        days = _by_shares(np.array(self.week), rng.random(len(users), dtype=np.float32))
        by_user = chance < self.habit
        by_item = (chance >= self.habit) & (chance < self.habit + self.suits)
        days[by_user] = self._favourite(users[by_user], 0x9E3779B1)
        days[by_item] = self._favourite(items[by_item], 0x85EBCA77)
        return {"weekday": days}

    def _favourite(self, numbers: NDArray[np.int32], factor: int) -> NDArray[np.int8]:
        """The same day for the same number wherever it is asked for, common days more often."""
        mixed = numbers.astype(np.uint32) * np.uint32(factor)
        mixed ^= mixed >> np.uint32(15)
        mixed *= np.uint32(0xC2B2AE3D)
        level = (mixed >> np.uint32(8)).astype(np.float32) / np.float32(1 << 24)
        return _by_shares(np.array(self.week), level)


@dataclass(frozen=True)
class Demographics(Contexts):
    """Gender and age group, properties of the user; each of the six groups has its own taste."""

    groups: tuple[float, ...]
    """How common the groups are: women of the three ages, then men."""

    @property
    def kinds(self) -> NDArray[np.float64]:
        """How common each group is."""
        return np.array(self.groups) / sum(self.groups)

    @property
    def values(self) -> Mapping[str, tuple[str, ...]]:
        """The genders and age groups of Fan & Jin's edges."""
        return {"gender": ("F", "M"), "age": ("Under 25", "25-34", "Above 34")}

    def codes(
        self,
        rng: np.random.Generator,
        users: NDArray[np.int32],
        items: NDArray[np.int32],
        kinds: NDArray[np.int32],
    ) -> dict[str, NDArray[np.int8]]:
        """What the kind of the user says."""
        return {"gender": (kinds // 3).astype(np.int8), "age": (kinds % 3).astype(np.int8)}


def _by_shares(shares: NDArray[np.float64], levels: NDArray[np.float32]) -> NDArray[np.int8]:
    """Which share each level between 0 and 1 falls into."""
    ends = np.cumsum(shares / shares.sum())[:-1].astype(np.float32)
    found = np.zeros(len(levels), dtype=np.int8)
    for end in ends:
        found += levels >= end
    return found


# How made-up records are spread: what the papers do not print, and how it was chosen.

_NONE = NoContexts()
_GOWALLA = Weekdays((0.127, 0.130, 0.130, 0.134, 0.161, 0.176, 0.142))
"""Public check-ins of Gowalla, by weekday in UTC."""
_FOURSQUARE = Weekdays((0.147, 0.145, 0.141, 0.136, 0.150, 0.144, 0.137))
"""Public check-ins of Foursquare in New York, by weekday in UTC."""
_RATING = Weekdays((0.160, 0.165, 0.155, 0.145, 0.135, 0.115, 0.125))
"""Invented: no ratings with complete times were at hand."""


@dataclass(frozen=True)
class Shape:
    spread: float
    """Of records over users: the standard deviation of the logarithm."""
    skew: Skew
    returns: float | None = None
    """The chance that a record repeats an earlier one of its user; None: each item once."""
    contexts: Contexts = _NONE


SHAPES = {
    "gowalla": Shape(1.4, Skew(6, 0.72, 0), 0.42, _GOWALLA),
    "foursquare": Shape(1.0, Skew(6, 0.7, 0), 0.65, _FOURSQUARE),
    "netflix": Shape(1.25, Skew(150, 1.6, 0.6), None, _RATING),
    "movielens": Shape(
        1.14, Skew(67, 1.12, 0.58), None, Demographics((376, 558, 775, 949, 1538, 1844))
    ),
    "movielens-10m": Shape(1.2, Skew(100, 1.4, 0.6)),
    "transaction": Shape(0.9, Skew(23, 0.95, 0.29)),
    "document": Shape(0.5, Skew(20, 1, 0)),
    "aol": Shape(1.5, Skew(10, 1, 0)),
    "kosarak": Shape(1.4, Skew(0, 1.16, 0)),
}
"""By name. Gowalla, Foursquare, MovieLens and Kosarak were fitted to public files of the same
origin, Transaction to click streams of the same competition; the others are chosen by analogy."""


# Items of whole users: each item once, or with favourites to which a user returns.

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
