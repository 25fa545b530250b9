"""Figure 6: commuters between census blocks."""

from __future__ import annotations

from collections.abc import Sequence

from crowdtally_research.reproducing.datasets import Data
from crowdtally_research.reproducing.figure import Claim, Figure, Judged, Part
from crowdtally_research.reproducing.numbers import Numbers
from crowdtally_research.reproducing.papers.cormode.judging import (
    is_alike,
    judged,
    percent,
    shown,
    times,
    unknown,
)
from crowdtally_research.reproducing.papers.cormode.noting import AUTO_NOTE, REAL_NOTE, TIME_NOTE
from crowdtally_research.reproducing.papers.cormode.on_real import (
    DATA,
    DOMAIN,
    ERROR,
    OCCUPIED,
    OUTPUT,
    PUBLISHED,
    SHARES,
    TABLE,
    TIME,
    panels_of,
    parts_of,
)
from crowdtally_research.reproducing.papers.cormode.real import LODES
from crowdtally_research.reproducing.papers.cormode.ways import (
    FILTER,
    FILTER_PRIORITY,
    GEOMETRIC,
    PRIORITY,
)

SUMMARIES = (FILTER, PRIORITY, FILTER_PRIORITY)
_SIZE = 10_890
"""Cells of the summaries in c: the paper's 3·10^6 of 1.6·10^7 cells, of 241 · 241."""
_CUT = 5
"""A small one, as the paper says."""
_LARGE = 5.0
"""From this share of the cells on, in percent, the paper states an error."""
_MOST = 0.8
_SINGLE_DIGITS = 10


def _parts(data: Data, quick: bool) -> Sequence[Part]:
    asked = {"table": "tracts", "size": _SIZE, "cut": _CUT}
    return parts_of("figure6", LODES, "tracts" if quick else "blocks", asked, quick=quick)


def speeds(numbers: Numbers) -> dict[str, float]:
    """How many times as fast as geometric each summary is."""
    slow = numbers.mean(TIME, GEOMETRIC, PUBLISHED)
    return {line: slow / numbers.mean(TIME, line, PUBLISHED) for line in SUMMARIES}


def _listed(ratios: dict[str, float]) -> str:
    return ", ".join(f"{line} {times(ratio)}" for line, ratio in ratios.items())


def _faster(numbers: Numbers) -> Judged:
    ratios = speeds(numbers)
    seconds = numbers.mean(TIME, GEOMETRIC, PUBLISHED)
    found = f"Geometric takes {seconds:.2g} s; faster than it are {_listed(ratios)}."
    return judged(max(ratios.values()) >= 8, f"{found} We ask for 8 times or more.")


def bounded(numbers: Numbers) -> Judged:
    """Whether the output of samples is as asked, and geometric's is the domain."""
    asked = numbers.mean(TABLE, DATA, OCCUPIED)
    sizes = {line: numbers.mean(OUTPUT, line, PUBLISHED) for line in SUMMARIES}
    ratio = numbers.mean(OUTPUT, GEOMETRIC, PUBLISHED) / asked
    words = ", ".join(f"{line} {shown(round(size))}" for line, size in sizes.items())
    found = (
        f"Asked for {shown(round(asked))}: {words}; geometric has {times(ratio)} as many. Filter's "
        "size is an expectation of empty cells alone."
    )
    fixed = all(sizes[line] <= asked for line in (PRIORITY, FILTER_PRIORITY))
    return judged(fixed and sizes[FILTER] <= 2 * asked and ratio > 100, found)


def _filter_bends(numbers: Numbers) -> Judged:
    curve, other = numbers.curve(ERROR, FILTER), numbers.curve(ERROR, GEOMETRIC)
    ratios = {x: curve[x].mean / other[x].mean for x in other}
    found = "Filter over geometric: " + ", ".join(
        f"{ratio:.2f} at {shown(x)}%" for x, ratio in ratios.items()
    )
    return judged(ratios[SHARES[0]] < 1.25 and ratios[SHARES[-1]] > 2, f"{found}.")


def _comparable(numbers: Numbers) -> Judged:
    words, fine, asked = [], 0, 0
    other = numbers.curve(ERROR, GEOMETRIC)
    for line in (PRIORITY, FILTER_PRIORITY):
        ratios = {x: numbers.mean(ERROR, line, x) / other[x].mean for x in other}
        fine += sum(ratio < 1 or is_alike(ratio, 1) for ratio in ratios.values())
        asked += len(ratios)
        words.append(f"{line} {min(ratios.values()):.1f} to {max(ratios.values()):.1f} times")
    found = (
        f"The error of geometric, {' and '.join(words)}. Comparable (no more than a quarter "
        f"larger) at {fine} of {asked} points. This table is nearly full and its counts are 10 on "
        "average, where the paper's are 150: a sample of a fifth of the cells then adds more than "
        "noise does."
    )
    return judged(fine * 2 > asked, found)


def _below_one(numbers: Numbers) -> Judged:
    errors = {
        line: max(one.mean for x, one in numbers.curve(ERROR, line).items() if float(x) >= _LARGE)
        for line in (GEOMETRIC, *SUMMARIES)
    }
    words = ", ".join(f"{line} {percent(error)}" for line, error in errors.items())
    found = (
        f"From 5% of the cells on at most: {words}. The paper's table has about 300 times as many "
        "persons, so that the same noise is less of a sum."
    )
    return judged(max(errors.values()) < _MOST, found)


def _density(numbers: Numbers) -> Judged:
    domain, occupied = (numbers.mean(TABLE, DATA, what) for what in (DOMAIN, OCCUPIED))
    share = 100 * occupied / domain
    found = (
        f"{shown(round(occupied))} of {shown(round(domain))} cells are occupied: {percent(share)}."
    )
    return judged(share < _SINGLE_DIGITS, found)


FIGURE = Figure(
    "6",
    "Commuters: time, output and error",
    "Paper: OnTheMap, 47 states, 2.2·10^9 cells of which 1.7·10^7 are occupied; the error on an "
    "aggregated table, with summaries of 3·10^6 cells. We: LODES of Rhode Island, 2019, 8,358 × "
    "17,127 census blocks, 372,191 of them occupied by 406,052 persons, summaries of as many "
    "cells; the error on 241 × 241 census tracts, with summaries of 10,890 cells, the same share. "
    "ε = 0.1.",
    "a and b: summaries take little time and space, geometric has a value for each of 143 million "
    "cells. c: filter has a bias that stays, all others fall with the size of a query.",
    panels_of("census blocks", "census tracts"),
    (
        Claim("“Our summary methods are up to an order of magnitude faster.”", _faster),
        Claim("The output of summaries is “bounded, meeting the target s = n”, that of geometric "
              "“hundreds of times larger”.", bounded),
        Claim("“Filter is accurate for small subset queries, but becomes inaccurate for larger "
              "ones.”", _filter_bends),
        Claim("Priority, and filter-priority with a small threshold, are “comparable to Geometric "
              "for most queries”.", _comparable),
        Claim("“All queries for subsets of 5% or more of the data have errors less than 0.8%.”",
              _below_one),
        Claim("Such data have a “density in the single-digits or less”, in percent (section 1).",
              _density),
        unknown("Synthetic data after Machanavajjhala et al. have errors more than three times "
                "those of geometric.", "That method is not in this project, and needs δ > 0."),
    ),
    _parts,
    (
        "OnTheMap of 2008 is not available. In c the cut of filter-priority is 5, that of filter "
        "follows from the size.",
        "Where the file is missing: as many cells anywhere with counts of a Pareto law.",
        REAL_NOTE,
        AUTO_NOTE,
        TIME_NOTE,
    ),
)  # fmt: skip
