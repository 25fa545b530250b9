"""Public features of items, such as genres: what each item is made of, in exact shares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

PARTS = 2**10
"""A: what the shares of one item add up to in each group."""


@dataclass(frozen=True, eq=False)
class Features:
    """Items × features. Public: known without the records."""

    names: tuple[str, ...]
    """The features, in order."""
    groups: tuple[int, ...]
    """The group of each feature: one column of the file is one group."""
    shares: NDArray[np.int64]
    """(item, feature) in parts of ``PARTS``; each item's shares in a group add up to that."""
    sha256: str
    """Of the names and shares, for the record of what was asked."""
