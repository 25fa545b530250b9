"""Every comparison of a statistic with a number, weighed at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from crowdtally.lab.auditing.events import Comparison
from crowdtally.lab.auditing.features import ABSENT
from crowdtally.lab.auditing.promise import Counted, Stakes

_MOST_LEVELS = 400
"""Of a statistic with more values, only so many are tried as thresholds."""
COMPARISONS: tuple[Comparison, ...] = get_args(Comparison)


@dataclass(frozen=True, eq=False)
class Coded:
    """A statistic in training: the levels that it is compared with, and each run's level."""

    levels: NDArray[np.int64]
    """Ascending; a run's value lies between its level and the next one."""
    with_user: NDArray[np.int64]
    """The level's number of each run with the user."""
    without: NDArray[np.int64]
    """And without."""
    exact: bool
    """Whether a level is one value, so that it can be compared with exactly."""

    @classmethod
    def of(cls, with_user: NDArray[np.int64], without: NDArray[np.int64]) -> Coded:
        """From the values in training."""
        values = np.concatenate([with_user, without])
        levels = np.unique(values)
        exact = len(levels) <= _MOST_LEVELS
        if not exact:
            ranks = np.linspace(0, len(values) - 1, _MOST_LEVELS).astype(np.int64)
            levels = np.unique(np.sort(values)[ranks])
        codes = np.searchsorted(levels, values, side="right") - 1
        return cls(levels, codes[: len(with_user)], codes[len(with_user) :], exact)


@dataclass(frozen=True)
class Scanned:
    """The best comparison of one statistic."""

    promise: float
    """What it is worth."""
    comparison: Comparison
    """How to compare."""
    value: int
    """With what."""
    for_her: bool
    """Whether the event is likelier with the user."""
    may_be_absent: bool
    """Whether the statistic was ever missing."""


def scan(
    coded: Coded,
    stakes: Stakes,
    runs: tuple[int, int],
    within: tuple[NDArray[np.bool_], NDArray[np.bool_]] | None = None,
) -> Scanned:
    """The comparison that promises most, among the runs where other conditions hold already."""
    with_user, without = coded.with_user, coded.without
    if within is not None:
        with_user, without = with_user[within[0]], without[within[1]]
    size = len(coded.levels)
    each = np.bincount(with_user, minlength=size), np.bincount(without, minlength=size)
    absent = bool(coded.levels[0] == ABSENT)
    best = Scanned(-np.inf, "at least", int(coded.levels[0]), True, absent)
    for comparison in COMPARISONS:
        if comparison == "exactly" and not coded.exact:
            continue
        seen = _seen(each[0], comparison), _seen(each[1], comparison)
        for for_her, promises in zip((True, False), stakes.promises(seen, runs), strict=True):
            place = int(np.argmax(promises))
            if promises[place] > best.promise:
                value = _value(coded, comparison, place)
                best = Scanned(float(promises[place]), comparison, value, for_her, absent)
    return best


def _seen(each: Counted, comparison: Comparison) -> Counted:
    if comparison == "at least":
        return np.cumsum(each[::-1])[::-1]
    return np.cumsum(each) if comparison == "at most" else each


def _value(coded: Coded, comparison: Comparison, place: int) -> int:
    # "At most" a level of several values means: below the next level.
    if comparison == "at most" and not coded.exact and place + 1 < len(coded.levels):
        return int(coded.levels[place + 1]) - 1
    if comparison == "at most" and not coded.exact:
        return int(np.iinfo(np.int64).max)
    return int(coded.levels[place])
