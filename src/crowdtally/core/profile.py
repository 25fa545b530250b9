"""Features after merging, with their public means and weights: what tastes are measured by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.domain import PARTS
from crowdtally.core.numbers import show

Ints = NDArray[np.int64]

FINE = 2**15
"""What a mean profile is in parts of."""
WEIGHT = 2**10
"""Ω: what weights are in parts of."""
HEAVIEST = 5
"""The largest weight of a feature."""
BETA = 154
"""β, about 0.15, in parts of ``WEIGHT``: what every user adds to count her by."""


@dataclass(frozen=True, eq=False)
class Profile:
    """The features that tastes are measured by. Public: from the request and released values."""

    names: tuple[str, ...]
    """The features that are left, in order."""
    kinds: Ints
    """(kind, feature): the different rows of shares that items have, in parts of ``PARTS``."""
    items: Ints
    """The kind of each item, in the order of the list."""
    means: Ints
    """p̄ of each feature, in parts of ``FINE``."""
    weights: Ints
    """w of each feature, in parts of ``WEIGHT``."""
    merged: Mapping[str, str | None]
    """Into which feature another went; None where its whole group was left out."""

    @property
    def size(self) -> int:
        """f: how many features there are. The row after them is β's."""
        return len(self.names)

    @property
    def shares(self) -> NDArray[np.float64]:
        """(item, feature): how much of each item is of each feature."""
        return np.asarray(self.kinds[self.items] / PARTS, dtype=np.float64)

    def as_dict(self) -> dict[str, Any]:
        """For ``release.json``."""
        return {
            "features": list(self.names),
            "merged": dict(self.merged),
            "profile": [show(Fraction(int(mean), FINE)) for mean in self.means],
            "weights": [show(Fraction(int(weight), WEIGHT)) for weight in self.weights],
            "beta": show(Fraction(BETA, WEIGHT)),
            "parts": PARTS,
            "kinds": self.kinds.tolist(),
            "items": self.items.tolist(),
        }

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Profile:
        """From the facts of a released table."""
        return cls(
            tuple(facts["features"]),
            np.asarray(facts["kinds"], dtype=np.int64).reshape(-1, len(facts["features"])),
            np.asarray(facts["items"], dtype=np.int64),
            _whole(facts["profile"], FINE),
            _whole(facts["weights"], WEIGHT),
            facts["merged"],
        )


def _whole(numbers: list[str], parts: int) -> Ints:
    return np.array([int(Fraction(number) * parts) for number in numbers], dtype=np.int64)
