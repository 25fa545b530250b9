"""Estimated counts of all items, and the lists of items that follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crowdtally.estimation.chances import chances_among
from crowdtally.estimation.facts import Floats, Ints


@dataclass(frozen=True, eq=False)
class ItemEstimates:
    """An estimate of every item's count. The noisy values stay where they are."""

    mean: Floats
    """The posterior mean, calibrated where the release can be: least squared error."""
    median: Floats
    """The posterior median: least absolute error, and nearer in the tail."""
    low: Floats
    high: Floats
    """An interval of the asked level, with the calibration's own uncertainty."""
    deviation: Floats
    """The posterior standard deviation, with the same."""
    own: Floats
    """The part of it that is the item's own: what all items share does not change their order."""
    bounded: Floats
    """The posterior mean before calibration: what is left after bounding."""
    kept_share: float
    """Of the records, after bounding, as the calibration sees it; 1 where nothing is known."""
    calibrated: bool
    """Whether the estimates are of all records, not only of those that bounding left."""

    @property
    def size(self) -> int:
        """How many items there are."""
        return len(self.mean)

    def chance_among(self, k: int) -> Floats:
        """How likely each item is one of the k largest; they add up to k."""
        return chances_among(self.mean, self.own, k)


def heaviest(estimates: ItemEstimates, share: float, exclude: Sequence[int] = ()) -> Ints:
    """The fewest items that hold ``share`` of the estimated mass, in the order of the list."""
    order, mass = _by_mass(estimates, exclude)
    if not len(order) or mass[-1] <= 0:
        return np.empty(0, dtype=np.int64)
    enough = int(np.searchsorted(mass, share * mass[-1] * (1 - 1e-12))) + 1
    return np.sort(order[:enough])


def largest(estimates: ItemEstimates, k: int, exclude: Sequence[int] = ()) -> Ints:
    """The k items of the largest estimates, largest first; ties by the order of the list."""
    return _ranked(estimates, exclude)[: max(k, 0)]


def equal_mass_groups(estimates: ItemEstimates, groups: int, exclude: Sequence[int] = ()) -> Ints:
    """The group of each item: 0 holds the largest ones; each has about the same estimated mass.

    An item is put where the middle of its own mass falls. Excluded items are in none: −1.
    """
    order, mass = _by_mass(estimates, exclude)
    found = np.full(estimates.size, -1, dtype=np.int64)
    if not len(order):
        return found
    if mass[-1] <= 0:  # nothing to tell them apart by
        found[order] = np.arange(len(order)) * groups // len(order)
        return found
    middle = mass - np.diff(mass, prepend=0.0) / 2
    found[order] = np.minimum((middle / mass[-1] * groups).astype(np.int64), groups - 1)
    return found


def _ranked(estimates: ItemEstimates, exclude: Sequence[int]) -> Ints:
    order = np.argsort(-estimates.mean, kind="stable")
    if not len(exclude):
        return order
    left = np.ones(estimates.size, dtype=bool)
    left[np.asarray(exclude, dtype=np.int64)] = False
    return np.asarray(order[left[order]], dtype=np.int64)


def _by_mass(estimates: ItemEstimates, exclude: Sequence[int]) -> tuple[Ints, Floats]:
    """The items, largest first, and the estimated mass up to each."""
    order = _ranked(estimates, exclude)
    return order, np.cumsum(np.maximum(estimates.mean[order], 0.0))
