"""What the claims of all figures are judged with."""

from __future__ import annotations

from collections.abc import Mapping

from crowdtally.lab.compared.rounding import alone
from crowdtally_research.reproducing.figure import Judged, Verdict
from crowdtally_research.reproducing.numbers import Number

ERRORS = 2.0
"""Standard errors of a difference within which two means are called equal."""


def judged(holds: bool, found: str) -> Judged:
    """Whether it holds here."""
    verdict: Verdict = "agrees" if holds else "differs"
    return Judged(verdict, found)


def mostly(holds: Mapping[str, bool]) -> bool:
    """Whether something holds on two of three data sets: what the paper calls a tendency."""
    return 3 * sum(holds.values()) >= 2 * len(holds)


def listed(values: Mapping[str, float], unit: str = "") -> str:
    """A number for each data set: ``Netflix 1.2, AOL 3``."""
    return ", ".join(f"{name} {short(value)}{unit}" for name, value in values.items())


def short(value: float) -> str:
    """A number to three digits."""
    return alone(float(f"{value:.3g}"))


def less(one: Number, other: Number) -> bool:
    """Whether a mean is below another by more than chance makes likely."""
    spread: float = (one.standard_error**2 + other.standard_error**2) ** 0.5
    return other.mean - one.mean > ERRORS * spread
