"""The features that tastes are measured by: merged and weighed by released counts.

Public throughout: features are the request's, the mean profile comes from what was released.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.domain import OTHER, Features
from crowdtally.core.profile import FINE, HEAVIEST, WEIGHT, Profile

LEAST = 0.04
"""The least share of the overall profile that a feature of its own has: w ≤ 5."""


def profile_of(features: Features, counts: NDArray[np.float64]) -> Profile | None:
    """Merge small features and weigh the others; None where no group tells items apart.

    Args:
        features: of all items.
        counts: the estimated count of each item, from released values.
    """
    weighed = np.maximum(np.asarray(counts, dtype=np.float64), 0.0)
    if not weighed.sum() > 0:
        weighed = np.ones(len(features.shares))
    means = weighed @ features.shares
    kept: list[_Kept] = []
    merged: dict[str, str | None] = {}
    for group, _ in enumerate(features.columns):
        members = [f for f, of in enumerate(features.groups) if of == group]
        total = means[members].sum()
        left = _merge(features, members, {f: float(means[f] / total) for f in members})
        if len(left) < 2:
            merged |= {features.names[f]: None for f in members}
            continue
        kept += left
        merged |= {features.names[f]: one.name for one in left for f in one.members}
    return _made(features, kept, merged) if kept else None


@dataclass
class _Kept:
    """A feature that is left, and what went into it."""

    name: str
    """Its name."""
    members: list[int]
    """The features of the file that it is made of."""
    mean: float
    """p̄."""


def _merge(features: Features, members: list[int], means: dict[int, float]) -> list[_Kept]:
    """What is left of one group; what is too small is in its "other", or with the smallest."""
    rest_name = f"{features.columns[features.groups[members[0]]]}={OTHER}"
    rest = _Kept(rest_name, [], 0.0)
    left = []
    for f in members:
        if features.names[f] == rest_name or means[f] < LEAST:
            rest.members.append(f)
            rest.mean += means[f]
        else:
            left.append(_Kept(features.names[f], [f], means[f]))
    if rest.mean >= LEAST:
        return [*left, rest]
    if left:  # also where nothing is in the rest
        smallest = min(left, key=lambda one: one.mean)
        smallest.members += rest.members
        smallest.mean += rest.mean
    return left


def _made(features: Features, kept: list[_Kept], merged: dict[str, str | None]) -> Profile:
    shares = np.stack([features.shares[:, one.members].sum(axis=1) for one in kept], axis=1)
    kinds, items = np.unique(shares, axis=0, return_inverse=True)
    means = np.array([round(one.mean * FINE) for one in kept], dtype=np.int64)
    weights = np.array(
        [min(int(WEIGHT / sqrt(one.mean)), HEAVIEST * WEIGHT) for one in kept], dtype=np.int64
    )
    names = tuple(one.name for one in kept)
    moved = {name: into for name, into in merged.items() if into != name}
    return Profile(names, kinds, items.ravel().astype(np.int64), means, weights, moved)
