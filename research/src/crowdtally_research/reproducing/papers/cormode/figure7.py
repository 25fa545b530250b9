"""Figure 7: a census by attributes."""

from __future__ import annotations

from collections.abc import Sequence

from crowdtally_research.reproducing.datasets import Data
from crowdtally_research.reproducing.figure import Claim, Figure, Judged, Part
from crowdtally_research.reproducing.numbers import Numbers
from crowdtally_research.reproducing.papers.cormode.figure6 import speeds
from crowdtally_research.reproducing.papers.cormode.judging import (
    judged,
    lower_at,
    percent,
    shown,
    times,
    where,
)
from crowdtally_research.reproducing.papers.cormode.noting import AUTO_NOTE, REAL_NOTE, TIME_NOTE
from crowdtally_research.reproducing.papers.cormode.on_real import (
    DATA,
    DOMAIN,
    ERROR,
    OCCUPIED,
    OUTPUT,
    PERSONS,
    PUBLISHED,
    SHARES,
    TABLE,
    TIME,
    panels_of,
    parts_of,
)
from crowdtally_research.reproducing.papers.cormode.real import ADULT
from crowdtally_research.reproducing.papers.cormode.ways import (
    FILTER,
    FILTER_PRIORITY,
    GEOMETRIC,
)

_SIZE = 8_619
"""Cells of the summaries: as many as are occupied."""
_MUCH = 30.0
"""Two orders of magnitude, about."""


def _parts(data: Data, quick: bool) -> Sequence[Part]:
    asked = {"table": "profiles", "size": _SIZE, "cut": None}
    return parts_of("figure7", ADULT, "profiles", asked, quick=quick)


def _faster(numbers: Numbers) -> Judged:
    ratios = speeds(numbers)
    domain = numbers.mean(TABLE, DATA, DOMAIN)
    words = ", ".join(f"{line} {times(ratio)}" for line, ratio in ratios.items())
    seconds = numbers.mean(TIME, GEOMETRIC, PUBLISHED)
    found = (
        f"Faster than geometric, which takes {seconds:.2g} s: {words}. The domain here has "
        f"{shown(round(domain))} cells, the paper's 1.6·10^10: geometric's time is as its cells, "
        "a summary's is not (Figure 4)."
    )
    return judged(min(ratios.values()) >= _MUCH, found)


def _smaller(numbers: Numbers) -> Judged:
    ratio = numbers.mean(OUTPUT, GEOMETRIC, PUBLISHED) / numbers.mean(
        OUTPUT, FILTER_PRIORITY, PUBLISHED
    )
    return judged(ratio >= 10, f"Geometric publishes {times(ratio)} as many values.")


def _many_entries(numbers: Numbers) -> Judged:
    curves = {line: numbers.curve(ERROR, line) for line in (FILTER, FILTER_PRIORITY)}
    words, holds = [], True
    for line, curve in curves.items():
        first, last = curve[SHARES[0]].mean, curve[SHARES[-1]].mean
        holds &= first > 2 * last
        words.append(f"{line} falls from {percent(first)} to {percent(last)}")
    found = (
        f"From 0.1% to 25% of the cells {' and '.join(words)}; geometric from "
        f"{percent(numbers.mean(ERROR, GEOMETRIC, SHARES[0]))} to "
        f"{percent(numbers.mean(ERROR, GEOMETRIC, SHARES[-1]))}. What filters leave is their bias: "
        "most cells here hold one or two persons, below every cut."
    )
    return judged(holds, found)


def _filters_win(numbers: Numbers) -> Judged:
    words, ahead, asked = [], 0, 0
    for line in (FILTER, FILTER_PRIORITY):
        below, above = lower_at(numbers, ERROR, line, GEOMETRIC)
        ahead, asked = ahead + len(below), asked + len(numbers.curve(ERROR, line))
        words.append(
            f"{line} is below geometric at {where(below, '%')}, above it at {where(above, '%')}"
        )
    return judged(ahead >= 0.8 * asked, f"Of the cells: {'; '.join(words)}.")


def _adult(numbers: Numbers) -> Judged:
    domain, occupied, persons = (
        numbers.mean(TABLE, DATA, what) for what in (DOMAIN, OCCUPIED, PERSONS)
    )
    found = (
        f"{shown(round(occupied))} of {shown(round(domain))} cells are occupied, "
        f"{percent(100 * occupied / domain)}, by {persons / occupied:.1f} persons on average. "
        "Which rows and which lists of values the paper took is not said: with all values of the "
        "file and both of its halves this is the result."
    )
    near = 0.1 <= 100 * occupied / domain <= 0.2 and 8 <= persons / occupied <= 10
    return judged(near, found)


FIGURE = Figure(
    "7",
    "A census by attributes: time, output and error",
    "Paper: census incomes by age, birthplace, occupation and income, 1.6·10^10 cells of which "
    "3.8·10^6 are occupied. We: Adult by its seven attributes (appendix of the paper), 907,200 "
    "cells of which 8,619 are occupied by 48,842 persons; summaries of as many cells; ε = 0.1.",
    "c: noise of 14 on each of 907,200 cells drowns 5.7 persons in an occupied one. Filters take "
    "most of the noise away, until what is left is their bias: about half of the persons are in "
    "cells below the cut.",
    panels_of("Adult", "Adult"),
    (
        Claim("Summaries are “faster than Geometric by about two orders of magnitude”.", _faster),
        Claim("Summaries “publish a significantly smaller output”.", _smaller),
        Claim("“Queries have to touch quite a large number of entries before they become "
              "accurate.”", _many_entries),
        Claim("“Methods which involve a filter step … are substantially more accurate than the "
              "baseline Geometric method for nearly all query sizes.”", _filters_win),
        Claim("Adult by its categorical attributes has “a density of 0.14%, and an average value "
              "in each (non-zero) cell of 9” (appendix).", _adult),
    ),
    _parts,
    (
        "The census incomes of the paper are not at hand; Adult is the other census of its "
        "appendix. It has far fewer persons per cell.",
        "Where the file is missing: as many cells anywhere with counts of a Pareto law.",
        REAL_NOTE,
        AUTO_NOTE,
        TIME_NOTE,
    ),
)  # fmt: skip
