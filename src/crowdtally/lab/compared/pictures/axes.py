"""The axes of a picture: from where to where, by ratios or by differences, with round ticks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Any

_WIDE = 3
"""Numbers whose largest is so many times the smallest are shown by their ratios."""
_FEW_TICKS = 4


@dataclass(frozen=True)
class Axis:
    """One axis of a picture."""

    title: str
    """What it shows, with its unit."""
    is_log: bool
    """Whether equal steps are equal ratios."""
    domain: tuple[float, float] | None = None
    """From where to where; None for what the numbers need."""


def fitted(axis: Axis, lows: Sequence[float], highs: Sequence[float]) -> Axis:
    """The axis from the lowest to the highest, with a little air on both sides."""
    if axis.domain is not None:
        return axis
    low, high = min(lows), max(highs)
    if axis.is_log and low > 0 and high / low >= _WIDE:
        air = (high / low) ** 0.04
        return Axis(axis.title, True, (low / air, high * air))
    air = 0.06 * (high - low) or 0.1 * abs(high) or 1.0
    return Axis(axis.title, False, (low - air, high + air))


def encoded(field: str, axis: Axis) -> dict[str, Any]:
    """A field on an axis, in the words of Vega-Lite."""
    scale: dict[str, Any] = {"type": "log" if axis.is_log else "linear", "nice": False}
    if axis.domain is not None:
        scale |= {"domain": list(axis.domain), "zero": False}
    shown: dict[str, Any] = {"title": axis.title, "format": ",.12~g", "labelOverlap": "greedy"}
    ticks = _ticks(axis)
    shown |= {"tickCount": 6} if ticks is None else {"values": ticks}
    return {"field": field, "type": "quantitative", "scale": scale, "axis": shown}


def _ticks(axis: Axis) -> list[float] | None:
    """Round places on an axis of ratios: powers of ten, or more where these are too few."""
    if not axis.is_log or axis.domain is None:
        return None
    low, high = axis.domain
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    ticks: list[float] = []
    for steps in ((1,), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7)):
        every = [step * 10.0**power for power in powers for step in steps]
        ticks = [tick for tick in every if low <= tick <= high]
        if len(ticks) >= _FEW_TICKS:
            break
    return ticks
