"""Public features of items, such as genres: what each item is made of, in exact shares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

PARTS = 2**10
"""A: what the shares of one item add up to in each group."""
OTHER = "other"
"""The feature of items that have none in a group."""
MOST = 1_000
"""The most features."""


@dataclass(frozen=True, eq=False)
class Features:
    """Items × features. Public: known without the records."""

    columns: tuple[str, ...]
    """The columns of the file that hold features: each is a group."""
    names: tuple[str, ...]
    """The features, in order: COLUMN=VALUE."""
    groups: tuple[int, ...]
    """The group of each feature: one column of the file is one group."""
    shares: NDArray[np.int64]
    """(item, feature) in parts of ``PARTS``; each item's shares in a group add up to that."""
    sha256: str
    """Of the names and shares, for the record of what was asked."""
