"""What is seen of the noise of an empty cell, by its moments E[e^(uY)]: what a tail follows from.

Once in certified balls, for bounds, and once in floats, for arrays of complex powers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb

from crowdtally.core.counts import Keeping
from crowdtally.laws.balls import as_ball
from crowdtally.laws.tails import tail


def seen(rate: arb, power: arb, keeping: Keeping) -> arb:
    """E[e^(power·Y)] − 1 for what is seen of an empty cell: Y is its noise, or 0 if it is dropped.

    ``power`` lies within ±rate.
    """
    sides = (power, -power) if keeping.sides == "two" else (power,)
    return sum((_side(rate, one, keeping) for one in sides), arb(0))


def _side(rate: arb, power: arb, keeping: Keeping) -> arb:
    """Σ over the kept noises k ≥ 1 of (e^(power·k) − 1)·Pr[k is kept]·Pr[X = k]."""
    first, last = max(keeping.least, 1), keeping.doubtful_to
    total = _grown(rate, power, 0, max(last + 1, first))
    if keeping.samples and keeping.threshold is not None:
        partly = _grown(rate, power, 1, first) - _grown(rate, power, 1, last + 1)
        total += partly / as_ball(keeping.threshold)
    return total


def _grown(rate: arb, power: arb, by: int, low: int) -> arb:
    """Σ_{k ≥ low} k^by·(e^(power·k) − 1)·Pr[X = k]."""
    return (rate / 2).tanh() * (tail(rate - power, low, by) - tail(rate, low, by))


def seen_floats(rate: float, power: Any, keeping: Keeping) -> Any:
    """The same in floats, for an array of real or complex powers."""
    if keeping.keeps_all:
        # (cosh(power) − 1)·c, c = 2α/(1−α)²: nothing is subtracted that is nearly equal.
        part = (np.sinh(power / 2) / np.sinh(rate / 2)) ** 2
        return part / (1 - part)
    sides = (power, -power) if keeping.sides == "two" else (power,)
    return sum(_side_floats(rate, one, keeping) for one in sides)


def _side_floats(rate: float, power: Any, keeping: Keeping) -> Any:
    first, last = max(keeping.least, 1), keeping.doubtful_to
    total = _grown_floats(rate, power, 0, max(last + 1, first))
    if keeping.samples and keeping.threshold is not None:
        partly = _grown_floats(rate, power, 1, first) - _grown_floats(rate, power, 1, last + 1)
        total = total + partly / float(keeping.threshold)
    return total


def _grown_floats(rate: float, power: Any, by: int, low: int) -> Any:
    peak = np.tanh(rate / 2)
    return peak * (_tail_floats(rate - power, low, by) - _tail_floats(rate, low, by))


def _tail_floats(x: Any, start: int, power: int) -> Any:
    gap = -np.expm1(-x)
    total = 1 / gap if power == 0 else start / gap + np.exp(-x) / gap**2
    return np.exp(-x * start) * total
