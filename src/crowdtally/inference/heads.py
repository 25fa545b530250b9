"""Items that were measured again, blended with their calibrated counts."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot, sqrt

import numpy as np

from crowdtally.inference.facts import Chosen
from crowdtally.inference.posterior import Floats, Ints

LOST = 0.3
"""How far counts scatter around their calibration, as a part of the share that is lost."""
_REACH = 2.2 / 1.96
"""The tails of a head's noise are heavier than those of a normal law."""
_LEAST, _MOST = 0.03**2, 0.5
"""The relative scatter of counts around their calibration, squared."""
_CUT = 0.7
"""How far the head's own factor is off, as a part of what it puts back."""


@dataclass(frozen=True, eq=False)
class Head:
    """Items of which both values have spoken: the calibrated one and the one measured apart."""

    places: Ints
    mean: Floats
    variance: Floats
    values: Floats
    """As measured; with repeats, times ``factor``."""
    noise: Floats
    """The variance of those."""
    sum_deviation: float
    """Of the sum of the values."""
    scatter: float
    """τ: how far calibrated counts scatter beyond noise, relative to them."""
    factor: float | None
    """What was cut off rows of the head; None where nothing was bounded."""

    def doubt(self, scatter: float) -> float:
        """The relative error that cutting rows leaves, of the table and of the head."""
        return 0.0 if self.factor is None else hypot(scatter / 2, 0.5 * (1 - 1 / self.factor))

    def interval(self, scatter: float, reach: float) -> tuple[Floats, Floats]:
        """Between what each item lies."""
        own, noise = _REACH * reach * np.sqrt(np.stack([self.variance, self.noise]))
        low, high = self.mean - own, self.mean + own
        if self.factor is None:  # right for items that were chosen beforehand, too
            return np.minimum(low, self.values - noise), np.maximum(high, self.values + noise)
        spread = float(np.exp(reach * self.doubt(scatter)))
        down, up = self.mean * (1 - 1 / spread), self.mean * (spread - 1)
        return self.mean - np.hypot(own, down), self.mean + np.hypot(own, up)


def blended(
    head: Chosen, counts: Floats, variances: Floats, lost: float, *, repeats: bool
) -> Head | None:
    """Measured items blended with their calibrated counts; None where they are noise alone.

    Args:
        head: as measured: distinct users, or with repeats records of scaled rows.
        counts: the same items' calibrated counts.
        variances: of those.
        lost: the share of records that the counts' bound cut off.
        repeats: whether the head's rows were scaled.
    """
    values, size = head.values, len(head.places)
    noise, factor = np.full(size, head.std**2), None
    deviation = head.std_of_sum(size)
    least = _LEAST
    if repeats:
        if values.sum() <= 3 * deviation:
            return None
        factor = max(float(counts.sum() / values.sum()), 1.0)
        values, least = factor * values, max(least, (LOST * lost) ** 2)
        noise = factor**2 * noise + (_CUT * (1 - 1 / factor) * counts) ** 2
        deviation = float(np.sqrt(noise.sum()))
    beyond = (values - counts) ** 2 - noise - variances
    scatter = float(np.clip(beyond.sum() / max((counts**2).sum(), 1e-9), _LEAST, _MOST))
    doubt = variances + max(scatter, least) * counts**2
    if scatter >= _MOST and beyond.mean() > 2 * noise.mean():  # counts far below say little
        doubt = np.maximum(doubt, beyond.mean())
    both = np.maximum(doubt + noise, 1e-300)
    mean = np.maximum(counts + doubt / both * (values - counts), 0.0)
    return Head(
        head.places, mean, doubt * noise / both, values, noise, deviation, sqrt(scatter), factor
    )
