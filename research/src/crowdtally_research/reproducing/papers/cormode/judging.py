"""Words and margins that judges of claims share.

A mean is below another one if it is so by two standard errors of their difference. Two are alike if
neither is more than a quarter larger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import hypot, log10

import numpy as np

from crowdtally_research.reproducing.figure import Claim, Judged
from crowdtally_research.reproducing.numbers import Number, Numbers, Place

_ERRORS = 2.0
_ALIKE = 1.25

ALIKE = "alike: neither more than a quarter larger"
"""What a judge means by it, for a reader."""


def judged(holds: bool, found: str) -> Judged:
    """Agrees or differs, with what was found."""
    return Judged("agrees" if holds else "differs", found)


def unknown(words: str, why: str) -> Claim:
    """A claim that nothing here can be held against."""
    return Claim(words, lambda _: Judged("cannot be checked", why))


def is_below(one: Number, other: Number) -> bool:
    """Whether a mean is lower, beyond chance."""
    margin = _ERRORS * hypot(one.standard_error, other.standard_error)
    return one.mean < other.mean - margin


def is_alike(one: float, other: float) -> bool:
    """Whether neither is more than a quarter larger."""
    return max(one, other) <= _ALIKE * min(one, other)


def percent(number: float) -> str:
    """A number of percent, with two digits that say something.

    >>> percent(10.92), percent(0.1234), percent(123.4)
    ('11%', '0.12%', '120%')
    """
    return f"{_two_digits(number)}%"


def times(ratio: float) -> str:
    """How many times.

    >>> times(12.3), times(1.4)
    ('12 times', '1.4 times')
    """
    return f"{_two_digits(ratio)} times"


def _two_digits(number: float) -> str:
    rounded = float(f"{number:.2g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 10 else f"{rounded:g}"


def shown(place: Place) -> str:
    """A place on an axis.

    >>> shown(100000), shown(0.5)
    ('100,000', '0.5')
    """
    return place if isinstance(place, str) else f"{place:,.12g}"


def where(places: Iterable[Place], unit: str = "") -> str:
    """Some places on an axis, or that there are none.

    >>> where([0.5, 1000], "%"), where([])
    ('0.5%, 1,000%', 'none')
    """
    return ", ".join(f"{shown(place)}{unit}" for place in places) or "none"


def lower_at(numbers: Numbers, panel: str, one: str, other: str) -> tuple[list[Place], list[Place]]:
    """The places where one line is below another beyond chance, and those where it is above."""
    mine, theirs = numbers.curve(panel, one), numbers.curve(panel, other)
    shared = [place for place in mine if place in theirs]
    below = [place for place in shared if is_below(mine[place], theirs[place])]
    above = [place for place in shared if is_below(theirs[place], mine[place])]
    return below, above


def compared(
    numbers: Numbers, panel: str, one: str, other: str, x: str, places: Callable[[Place], bool]
) -> Judged:
    """Whether one line is below another at all places that are meant."""
    below, above = lower_at(numbers, panel, one, other)
    meant = [place for place in numbers.curve(panel, one) if places(place)]
    found = f"{one} is below {other} at {x} {where(below)}, and above it at {where(above)}."
    return judged(bool(meant) and set(meant) <= set(below), found)


def between(curve: dict[Place, Number], place: float) -> float:
    """A line between its places, both axes by ratios."""
    xs = [log10(float(x)) for x in curve]
    ys = [log10(max(one.mean, 1e-12)) for one in curve.values()]
    return float(10 ** np.interp(log10(place), xs, ys))


def spanned(curve: dict[Place, Number]) -> str:
    """From the smallest to the largest mean of a line, in percent."""
    means = [one.mean for one in curve.values()]
    return f"{percent(min(means))} to {percent(max(means))}"
