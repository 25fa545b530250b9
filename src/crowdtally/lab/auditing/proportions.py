"""Exact bounds on a probability from how often an event was seen (Clopper and Pearson).

Each is one-sided: it is wrong with probability at most its ``alpha``, whatever the probability is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

_ROUNDING = 1e-9
"""Relative; far above the error of scipy's quantiles, and bounds are moved outwards by it."""


def at_least(seen: Any, runs: Any, alpha: float) -> NDArray[np.float64]:
    """The smallest p that leaves ``seen`` or more of ``runs`` a probability of ``alpha``.

    >>> round(float(at_least(10, 10, 0.05)), 4)  # 0.05^(1/10)
    0.7411
    """
    seen, runs = np.asarray(seen, dtype=np.float64), np.asarray(runs, dtype=np.float64)
    some = np.maximum(seen, 1)
    quantile = special.betaincinv(some, runs - some + 1, alpha)
    return np.where(seen > 0, quantile * (1 - _ROUNDING), 0.0)


def at_most(seen: Any, runs: Any, alpha: float) -> NDArray[np.float64]:
    """The largest p that leaves ``seen`` or fewer of ``runs`` a probability of ``alpha``.

    >>> round(float(at_most(0, 10, 0.05)), 4)  # 1 - 0.05^(1/10)
    0.2589
    """
    seen, runs = np.asarray(seen, dtype=np.float64), np.asarray(runs, dtype=np.float64)
    others = np.maximum(runs - seen, 1)
    # The mirror image: a quantile near 1 would lose its digits.
    quantile = special.betainccinv(seen + 1, others, alpha)
    return np.where(seen < runs, np.minimum(quantile * (1 + _ROUNDING), 1.0), 1.0)
