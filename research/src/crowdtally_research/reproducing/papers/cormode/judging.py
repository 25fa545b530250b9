"""Judge and word the claims of several figures, and run those on real data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import hypot, log10

import numpy as np

from crowdtally.curator.summaries.base import Publishing
from crowdtally.lab.comparison.charts import Axis
from crowdtally_research.reproducing.figure import (
    Claim,
    Data,
    Given,
    Judged,
    Number,
    Numbers,
    Panel,
    Part,
    Place,
)
from crowdtally_research.reproducing.papers.cormode.measuring import (
    as_curves,
    errors_of,
    errors_of_auto,
    timed,
    ways_of,
)
from crowdtally_research.reproducing.papers.cormode.tables import (
    FILTER,
    FILTER_PRIORITY,
    GEOMETRIC,
    PRIORITY,
    THRESHOLD,
    Sparse,
    blocks,
    filter_priority,
    filtering_to,
    geometric,
    priority,
    profiles,
    tracts,
)

# Notes that several figures share.

RUNS_NOTE = (
    "50 runs, each with data, noise and queries of its own: up to 500 random subsets of each size. "
    "auto: 20 runs, five on each of four tables, because counting ten million persons takes longer "
    "than all else."
)
AUTO_NOTE = (
    "auto is the real method on persons with one record each. It bounds nobody, spends 3% of ε on "
    "how long rows are and the rest on all cells, and a sum is that of the reader's estimates. "
    "Each estimate is near its own count; but where most cells are empty, an empty one is believed "
    "to hold a little, which adds up in sums over many cells. The noisy sum, which a reader is "
    "told beside the estimate, has no such bias, and about the noise of geometric; where persons "
    "are few per cell (density 0.01, Adult) twice that, because half of ε goes to a second look at "
    "the largest."
)
TIME_NOTE = (
    "Processor time, so that what else the machine does counts little. Noise is exact and drawn by "
    "compiled code; the paper's absolute times are of another machine and other code."
)
REAL_NOTE = (
    "Each unit of a count is one person with one record. The lists of values are those that occur "
    "in the file: an experiment's licence. Times and sizes are of 5 runs, errors of 50, those of "
    "auto of 20, with new noise and new queries in each."
)


# Words and margins that judges of claims share.
#
# A mean is below another one if it is so by two standard errors of their difference. Two are alike
# if neither is more than a quarter larger.

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


# What Figures 6 and 7 have in common: time, output and accuracy on a real table.

TIME, OUTPUT, ERROR, TABLE = "a", "b", "c", "data"
DOMAIN, OCCUPIED, PERSONS = "cells", "occupied", "persons"
DATA = "data"
PUBLISHED = "publishing"
SHARES = (0.1, 0.5, 1.0, 5.0, 10.0, 25.0)
"""Of all cells, in percent: how many a query sums."""
_TABLES: Mapping[str, Callable[[Data], Sparse]] = {
    "blocks": blocks, "tracts": tracts, "profiles": profiles
}  # fmt: skip


def cost(given: Given, *, table: str, runs: int) -> list[Number]:
    """Time and output of all methods, with summaries of as many cells as are occupied."""
    sparse = _TABLES[table](given.data)
    ways = dict(ways_of(sparse, len(sparse.cells), wavelet=False))
    del ways[THRESHOLD]
    found: list[Number] = []
    for name, seen in timed(sparse, ways, runs).items():
        found += [
            Number.over(TIME, name, PUBLISHED, [one.seconds for one in seen]),
            Number.over(OUTPUT, name, PUBLISHED, [float(one.values) for one in seen]),
        ]
    about = {DOMAIN: sparse.size, OCCUPIED: len(sparse.cells), PERSONS: sparse.persons}
    return found + [Number(TABLE, DATA, what, float(many)) for what, many in about.items()]


def accuracy(given: Given, *, table: str, size: int, cut: int | None, runs: int) -> list[Number]:
    """Subset sums, with summaries of ``size`` cells."""
    sparse = _TABLES[table](given.data)
    ways: dict[str, Publishing] = {
        GEOMETRIC: geometric(),
        FILTER: filtering_to(size),
        PRIORITY: priority(size),
        FILTER_PRIORITY: filter_priority(size, cut),
    }
    sizes = _sizes(sparse)
    seen = errors_of(ways, lambda _: sparse, list(sizes), runs)
    return as_curves(ERROR, seen, sizes.__getitem__)


def auto(given: Given, *, table: str, runs: int) -> list[Number]:
    sparse = _TABLES[table](given.data)
    sizes = _sizes(sparse)
    seen = errors_of_auto(lambda _: sparse, list(sizes), runs)
    return as_curves(ERROR, seen, sizes.__getitem__)


def _sizes(sparse: Sparse) -> dict[int, float]:
    """How many cells a query sums, and which share of all that is."""
    return {round(share / 100 * sparse.size): share for share in SHARES}


def parts_of(
    figure: str, dataset: str, timed_on: str, asked: Mapping[str, object], *, quick: bool
) -> Sequence[Part]:
    """The work of one of the two figures."""
    table = {"table": asked["table"]}
    runs, fewer, few = (2, 2, 2) if quick else (50, 20, 5)
    return [
        Part(f"{figure}-cost", cost, {"table": timed_on, "runs": few}, (dataset,), is_timed=True),
        Part(f"{figure}-accuracy", accuracy, {**asked, "runs": runs}, (dataset,)),
        Part(f"{figure}-auto", auto, {**table, "runs": fewer}, (dataset,)),
    ]


def panels_of(timed_on: str, summed: str) -> tuple[Panel, ...]:
    """The three panels of the paper, and what the table is like."""
    return (
        Panel(TIME, f"a: time, {timed_on}", Axis("step", False), Axis("processor seconds", True),
              is_bars=True),
        Panel(OUTPUT, f"b: output, {timed_on}", Axis("step", False), Axis("published values", True),
              is_bars=True),
        Panel(ERROR, f"c: error, {summed}", Axis("% of all cells that a query sums", True),
              Axis("error, % of the true sum", True)),
        Panel(TABLE, f"the data: {timed_on}", Axis("what", False), Axis("number", True),
              is_bars=True),
    )  # fmt: skip
