"""How likely each of many uncertain counts is among the k largest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def chances_among(mean: Floats, deviation: Floats, k: int) -> Floats:
    """How likely each is one of the k largest."""
    raise NotImplementedError
