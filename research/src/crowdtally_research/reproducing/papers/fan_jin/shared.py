"""How claims are judged, and what the figures share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import hypot
from typing import Any

from crowdtally.lab.comparison.summary import alone, with_error
from crowdtally_research.reproducing.figure import Data, Judged, Number, Part
from crowdtally_research.reproducing.papers.fan_jin.work import (
    EPSILON,
    LESS,
    SOURCES,
    auto,
    methods,
)

# How claims are held against numbers: place by place, with a margin of standard errors.

MARGIN = 2
"""Standard errors of a difference, beyond which one mean is larger than another."""
TWICE = 2
"""An error so many times as large is larger, also where few bad runs make its mean uncertain."""
ALL = 0.95
"""The share of hits that is called 100%."""
SAID = (
    f"One mean is called larger than another where they differ by more than {MARGIN} standard "
    f"errors of the difference, one error also where it is more than {TWICE} times the other: the "
    "mean of dft is that of many good runs and few very bad ones. A claim about several data sets "
    "agrees where it holds on each."
)


@dataclass(frozen=True)
class Check:
    """A claim at one place, such as one data set."""

    where: str
    holds: bool
    """Whether it holds there."""
    shown: str


def judged(checks: Iterable[Check], why: str = "") -> Judged:
    """Agrees where it holds everywhere; ``why`` says what may be behind it where it does not."""
    found = list(checks)
    wrong = [one for one in found if not one.holds]
    right = [one for one in found if one.holds]
    if not wrong:
        return Judged("agrees", f"{_listed(right)}.")
    words = f"Not on {_listed(wrong)}" if len(found) > 1 else _listed(wrong)
    held = f"; it holds on {_listed(right)}" if right else ""
    return Judged("differs", f"{words}{held}.{f' What may be behind it: {why}' if why else ''}")


def _listed(checks: Sequence[Check]) -> str:
    return "; ".join(f"{one.where}: {one.shown}" if one.where else one.shown for one in checks)


def each(places: Iterable[str], check: Callable[[str], tuple[bool, str]]) -> list[Check]:
    return [Check(place, *check(place)) for place in places]


def larger(one: Number, other: Number) -> bool:
    """Whether a mean is larger than another, beyond the margin."""
    return one.mean - other.mean > MARGIN * hypot(one.standard_error, other.standard_error)


def worse(one: Number, other: Number) -> bool:
    """Whether an error is larger than another, beyond the margin, or by far."""
    return larger(one, other) or one.mean > TWICE * other.mean


def at_least(one: Number, level: float) -> bool:
    """Whether a mean reaches a level, or misses it by less than the margin."""
    return one.mean + MARGIN * one.standard_error >= level


def shown(one: Number) -> str:
    return with_error(one.mean, one.standard_error) if one.runs > 1 else alone(one.mean)


def against(*numbers: Number) -> str:
    return ", ".join(f"{one.line} {shown(one)}" for one in numbers)


# The work that several figures share, and the axes that they have in common.

RUNS = 20
QUICK_RUNS = 2
READ_OFF = (
    "M = max|T_k| for lpa, dft and gs and d = min|T_k| for HPA are read off the data, as in the "
    "paper; a release must not do that."
)
TOLD = (
    "auto is told what a curator knows: that nobody rates a movie twice (Netflix, MovieLens), and "
    "that gender and age belong to the user. On Netflix it is run 5 times, else 20 times."
)


def methods_part(dataset: str, quick: bool) -> Part:
    """The paper's methods on one data set."""
    runs = QUICK_RUNS if quick else RUNS
    told = {"dataset": dataset, "runs": runs}
    return Part(f"methods-{dataset}", methods, told, (dataset,), is_spread=True)


def auto_part(dataset: str, quick: bool) -> Part:
    """Our own method on one data set; also at the second ε of figure 6."""
    runs = QUICK_RUNS if quick else SOURCES[dataset].auto_runs
    told: dict[str, Any] = {"dataset": dataset, "runs": runs}
    if dataset == "foursquare":
        told["epsilon"] = f"{LESS},{EPSILON}"
    return Part(f"auto-{dataset}", auto, told, (dataset,), is_spread=True)


def all_methods(data: Data, quick: bool) -> Sequence[Part]:
    """Every method on every data set: auto last, so that lines have one order everywhere."""
    parts = [methods_part(name, quick) for name in SOURCES]
    return [*parts, *(auto_part(name, quick) for name in SOURCES)]
