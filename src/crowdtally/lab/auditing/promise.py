"""What an event that was seen so often in training is worth on held-out runs, about.

Only the search uses it; nothing that is certified rests on it. So it may be quick: Byar's bounds
instead of exact ones, for whole arrays of events at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

Counted = NDArray[np.int64]
"""How often each of many events was seen."""
Aim = Literal["epsilon", "delta"]
"""What is to be as large as possible: ε at the claimed δ, or δ at the claimed ε."""
_LUCK = 0.3
"""How much of the uncertainty of training is added to that of held-out runs."""


@dataclass(frozen=True)
class Stakes:
    """What will be certified, and on how many runs."""

    held_out: tuple[int, int]
    """Held-out runs with the user, and without."""
    alpha: float
    """The error probability of the one event that will be certified."""
    delta: float
    """The claimed δ."""
    claim: float
    """The claimed ε."""
    aim: Aim = "epsilon"
    """Which of the two is certified."""

    @property
    def worth(self) -> float:
        """What one more condition must add to be worth its words."""
        return (self.claim if self.aim == "epsilon" else self.delta) / 100

    def promises(
        self, seen: tuple[Counted, Counted], runs: tuple[int, int]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The bound that can be hoped for, if the event speaks for the user, and if against her.

        Args:
            seen: how often the events were seen in training, with the user and without.
            runs: how many training runs there were of either.
        """
        for_her = self._bound(0, seen[0], runs[0], 1, seen[1], runs[1])
        against = self._bound(1, seen[1], runs[1], 0, seen[0], runs[0])
        return for_her, against

    def _bound(
        self, side: int, seen: Counted, runs: int, other: int, seen_other: Counted, runs_other: int
    ) -> NDArray[np.float64]:
        z = float(-special.ndtri(self.alpha / 2))
        low = _byar(seen / runs, _joint(self.held_out[side], runs), -z)
        high = _byar(seen_other / runs_other, _joint(self.held_out[other], runs_other), z)
        if self.aim == "delta":
            return np.asarray(low - np.exp(self.claim) * high)
        return np.asarray(np.log(np.maximum(low - self.delta, 1e-300) / high))


def _joint(held_out: int, runs: int) -> float:
    """A little less certain than held-out runs: what few training runs show may be luck."""
    return 1 / (1 / held_out + _LUCK / runs)


def _byar(share: NDArray[np.float64], runs: float, z: float) -> NDArray[np.float64]:
    """Byar's bound for a Poisson count, also a good one for none at all; narrower by √(1−share)."""
    count = np.maximum(share * runs + (z > 0), 1e-9)
    reach = z * np.sqrt(1 - share) / (3 * np.sqrt(count))
    root = np.maximum(1 - 1 / (9 * count) + reach, 0)
    return np.asarray(np.minimum(count * root**3 / runs, 1.0))
