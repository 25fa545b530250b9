"""Contexts of made-up records: the weekday of a record, and who its user is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdtally.lab.demo import DAYS


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
        """No column."""
        return {}

    def codes(
        self,
        rng: np.random.Generator,
        users: NDArray[np.int32],
        items: NDArray[np.int32],
        kinds: NDArray[np.int32],
    ) -> dict[str, NDArray[np.int8]]:
        """No column."""
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
