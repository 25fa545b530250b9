"""Figures 3 and 4: errors by parameters, and running time by density."""

from __future__ import annotations

from collections.abc import Sequence

from crowdtally.lab.comparison.charts import Axis
from crowdtally_research.reproducing.figure import (
    AUTO,
    Claim,
    Data,
    Figure,
    Given,
    Judged,
    Number,
    Numbers,
    Panel,
    Part,
    Place,
)
from crowdtally_research.reproducing.papers.cormode.judging import (
    AUTO_NOTE,
    RUNS_NOTE,
    TIME_NOTE,
    between,
    is_alike,
    is_below,
    judged,
    percent,
    shown,
    spanned,
    times,
    where,
)
from crowdtally_research.reproducing.papers.cormode.measuring import (
    MOST_CELLS,
    Make,
    Seen,
    errors_of,
    errors_of_auto,
    level,
    timed,
    ways_of,
)
from crowdtally_research.reproducing.papers.cormode.tables import (
    FILTER,
    FILTER_PRIORITY,
    GEOMETRIC,
    PRIORITY,
    THRESHOLD,
    WAVELET,
    filter_priority,
    filtering,
    geometric,
    priority,
    sampling,
    uniform,
)

# Figure 3: how the parameters of each method decide its error.

TWO, ONE = "filter, two sides", "filter, one side"
CUTS = (10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110)
TRIED = (5, 10, 20, 30, 40, 50, 60, 70)
"""θ of filter-priority: as far as the paper tries it."""
SHARES = (0.2, 0.5, 1.0, 1.5, 2.0, 3.0)
"""Sizes of samples over the number of occupied cells."""
BEST = 40
"""The θ that the paper finds best."""
_SUBSET = 200
"""The cells over those of a query: 5,000 of a million."""
_MEAN = 100


def _make(cells: int) -> Make:
    return lambda seed: uniform(cells, cells // 10, 20, seed)


def _ends(cells: int) -> list[Place]:
    """From the smallest to the largest summary of panel a."""
    return [cells // 30, cells // 2]


def filters(given: Given, *, cells: int, runs: int) -> list[Number]:
    """Panel a: each cut, at the mean size of its summaries."""
    ways = {(TWO, cut): filtering(cut) for cut in CUTS} | {
        (ONE, cut): filtering(cut, "one") for cut in CUTS
    }
    named = {f"{line} {cut}": way for (line, cut), way in ways.items()} | {GEOMETRIC: geometric()}
    seen = errors_of(named, _make(cells), [cells // _SUBSET], runs)
    found = [
        Number.over("a", line, _size(seen[f"{line} {cut}"]), _errors(seen[f"{line} {cut}"]))
        for line, cut in ways
    ]
    return found + level("a", GEOMETRIC, _errors(seen[GEOMETRIC]), _ends(cells))


def samples(given: Given, *, cells: int, runs: int) -> list[Number]:
    """Panel b: threshold and priority samples by the size that is asked for."""
    sizes = [round(share * cells / 10) for share in SHARES]
    total = cells // 10 * _MEAN
    ways = {f"{THRESHOLD} {size}": sampling(size, total) for size in sizes}
    seen = errors_of(
        ways | {f"{PRIORITY} {size}": priority(size) for size in sizes} | {GEOMETRIC: geometric()},
        _make(cells), [cells // _SUBSET], runs,
    )  # fmt: skip
    found = [
        Number.over("b", line, size, _errors(seen[f"{line} {size}"]))
        for line in (THRESHOLD, PRIORITY)
        for size in sizes
    ]
    return found + level("b", GEOMETRIC, _errors(seen[GEOMETRIC]), [sizes[0], sizes[-1]])


def cuts(given: Given, *, cells: int, runs: int) -> list[Number]:
    """Panel c: filter-priority by its cut."""
    ways = {str(cut): filter_priority(cells // 10, cut) for cut in TRIED}
    seen = errors_of(ways | {GEOMETRIC: geometric()}, _make(cells), [cells // _SUBSET], runs)
    found = [Number.over("c", FILTER_PRIORITY, cut, _errors(seen[str(cut)])) for cut in TRIED]
    return found + level("c", GEOMETRIC, _errors(seen[GEOMETRIC]), [TRIED[0], TRIED[-1]])


def auto(given: Given, *, cells: int, runs: int) -> list[Number]:
    """The same queries, answered by ``auto``: in every panel, from end to end."""
    values = _errors(errors_of_auto(_make(cells), [cells // _SUBSET], runs)[AUTO])
    sizes: list[Place] = [round(share * cells / 10) for share in (SHARES[0], SHARES[-1])]
    return [
        *level("a", AUTO, values, _ends(cells)),
        *level("b", AUTO, values, sizes),
        *level("c", AUTO, values, [TRIED[0], TRIED[-1]]),
    ]


def _errors(seen: Seen) -> list[float]:
    (values,) = seen.errors.values()
    return values


def _size(seen: Seen) -> int:
    return round(sum(seen.published) / len(seen.published))


def _parts_3(data: Data, quick: bool) -> Sequence[Part]:
    size = {"cells": 10_000 if quick else 1_000_000}
    more, fewer = {**size, "runs": 2 if quick else 50}, {**size, "runs": 2 if quick else 20}
    return [
        Part("figure3-filters", filters, more),
        Part("figure3-samples", samples, more),
        Part("figure3-cuts", cuts, more),
        Part("figure3-auto", auto, fewer),
    ]


def _occupied(numbers: Numbers) -> float:
    """n: the sizes of panel b go up to three times as many."""
    return max(float(x) for x in numbers.curve("b", PRIORITY)) / SHARES[-1]


def _two_sides(numbers: Numbers) -> Judged:
    two, one = numbers.curve("a", TWO), numbers.curve("a", ONE)
    worse = [x for x in one if between(two, float(x)) > 1.02 * one[x].mean]
    largest = max(one, key=float)
    ratio = one[largest].mean / between(two, float(largest))
    found = (
        f"At {len(one) - len(worse)} of {len(one)} sizes two sides are not worse. One side is "
        f"better at sizes {where(worse)}, and {times(ratio)} as far off at {shown(largest)}."
    )
    return judged(len(worse) * 2 < len(one), found)


def _about_one_percent(numbers: Numbers) -> Judged:
    n = _occupied(numbers)
    curve = {x: one for x, one in numbers.curve("a", TWO).items() if float(x) >= n}
    found = f"From {shown(round(n))} cells on, two-sided filters are off by {spanned(curve)}."
    return judged(bool(curve) and all(0.5 <= one.mean <= 2 for one in curve.values()), found)


def _small_alike(numbers: Numbers) -> Judged:
    two, one = numbers.curve("a", TWO), numbers.curve("a", ONE)
    small = [x for x in two if float(x) < 0.85 * _occupied(numbers)]
    ratios = [two[x].mean / between(one, float(x)) for x in small]
    found = f"At sizes {where(small)} the ratios are {', '.join(f'{one:.2f}' for one in ratios)}."
    return judged(bool(small) and all(is_alike(ratio, 1) for ratio in ratios), found)


def _best_filter(numbers: Numbers) -> Judged:
    two, n = numbers.curve("a", TWO), _occupied(numbers)
    best = min(two, key=lambda x: two[x].mean)
    found = (
        f"The least error of two sides, {percent(two[best].mean)}, is at {shown(best)} cells; "
        f"{shown(round(n))} are occupied."
    )
    return judged(0.8 * n <= float(best) <= 1.3 * n, found)


def _samples_alike(numbers: Numbers) -> Judged:
    one, other = numbers.curve("b", THRESHOLD), numbers.curve("b", PRIORITY)
    ratios = [one[x].mean / other[x].mean for x in other]
    found = f"Threshold over priority: {min(ratios):.2f} to {max(ratios):.2f} at all sizes."
    return judged(all(is_alike(ratio, 1) for ratio in ratios), found)


def _samples_span(numbers: Numbers) -> Judged:
    curve = numbers.curve("b", PRIORITY)
    inside = [x for x, one in curve.items() if 1 <= one.mean <= 7]
    found = (
        f"Priority is off by {spanned(curve)} at sizes {where(curve)}; within 1% to 7% at sizes "
        f"{where(inside)}. Which sizes the paper drew is in its picture alone; samples of the "
        "number of occupied cells and more are within."
    )
    n = _occupied(numbers)
    return judged(all(x in inside for x in curve if float(x) >= n), found)


def _cut_span(numbers: Numbers) -> Judged:
    curve = numbers.curve("c", FILTER_PRIORITY)
    found = f"We measured {spanned(curve)}."
    return judged(all(0.3 <= one.mean <= 6 for one in curve.values()), found)


def _best_cut(numbers: Numbers) -> Judged:
    curve = numbers.curve("c", FILTER_PRIORITY)
    best = min(curve, key=lambda x: curve[x].mean)
    every = next(iter(numbers.curve("c", GEOMETRIC).values()))
    below = [x for x, one in curve.items() if is_below(one, every)]
    found = (
        f"The best is θ = {shown(best)} with {percent(curve[best].mean)}; θ = 40 has "
        f"{percent(curve[BEST].mean)}, because more empty cells pass and the sample is drawn from "
        f"more. Below geometric, which has {percent(every.mean)}, at θ = {where(below)}."
    )
    return judged(best == BEST, found)


FIGURE_3 = Figure(
    "3",
    "Error of subset sums against the parameters of each method",
    "Paper and we: 1,000,000 cells of which 100,000 are occupied, counts N(100, 20) rounded to "
    "positive integers, ε = 0.1, sums over 5,000 random cells. The paper draws the absolute error; "
    "we draw it over the true sum, which is about 50,000: 1% is an error of 500.",
    "In a, two-sided filters are best where the summary has about as many cells as are occupied, "
    "and stay good when it is larger, while one-sided filters become useless. In b, both samples "
    "are alike and need many cells. In c, a cut below the smallest true counts is best.",
    (
        Panel(
            "a", "a: filter", Axis("cells in the summary", True),
            Axis("error, % of the true sum", True),
        ),
        Panel(
            "b", "b: threshold and priority samples", Axis("cells in the summary", True),
            Axis("error, % of the true sum", True),
        ),
        Panel(
            "c", "c: filter-priority, 100,000 cells", Axis("θ, the cut of the filter", False),
            Axis("error, % of the true sum", True),
        ),
    ),
    (
        Claim("“Two-sided filtering is generally more accurate than one-sided filtering.”",
              _two_sides),
        Claim("Once most occupied cells are in a two-sided summary, the relative error is "
              "“consistently around 1%”.", _about_one_percent),
        Claim("When the summary is small, “both techniques have similar accuracy”.", _small_alike),
        Claim("“The minimal error occurs when the sample contains most of the true data points "
              "and few originally zero entries.”", _best_filter),
        Claim("“The behavior of threshold sampling is very similar to that of priority sampling.”",
              _samples_alike),
        Claim("Threshold and priority samples have “relative errors in the range 1% to 7%”.",
              _samples_span),
        Claim("The relative errors of filter-priority are “within [0.3%, 6%]” for θ from 5 to 70.",
              _cut_span),
        Claim("“For this setting, we find that θ = 40 is best”, about half of the mean count.",
              _best_cut),
    ),
    _parts_3,
    (
        "geometric and auto publish every cell, so that they do not depend on the axis: each is "
        "drawn from end to end.",
        "The τ of threshold samples follows from the true total, as in the paper; a release "
        "would take a public guess of it.",
        RUNS_NOTE,
        AUTO_NOTE,
    ),
)  # fmt: skip


# Figure 4: how long publishing takes where ever fewer cells are occupied.

TIME, SIZE = "time", "size"
SUMMARIES = (FILTER, THRESHOLD, PRIORITY, FILTER_PRIORITY)
_POWERS = (1, 2, 3, 4, 5)
_SAME = 4.0
"""Times that differ by no more than this are about the same, on a scale of powers of ten."""
_MUCH = 10.0
_GROWS = 0.3
"""Time grows with the cells if it does so at least by this share of their ratio."""
_MOST_SHARE = 0.01
_SMALLER = 1000.0


def density(given: Given, *, occupied: int, power: int, runs: int) -> list[Number]:
    """All methods where one of 10^power cells is occupied."""
    sparse = uniform(occupied * 10**power, occupied, 20, seed=power)
    seen = timed(sparse, ways_of(sparse, occupied), runs)
    place = 10.0**-power
    return [
        number
        for name, runs_of in seen.items()
        for number in (
            Number.over(TIME, name, place, [one.seconds for one in runs_of]),
            Number.over(SIZE, name, place, [float(one.values) for one in runs_of]),
        )
    ]


def _parts_4(data: Data, quick: bool) -> Sequence[Part]:
    occupied, runs = (10_000, 2) if quick else (1_000_000, 5)
    return [
        Part(
            f"figure4-{power}", density,
            {"occupied": occupied, "power": power, "runs": runs}, is_timed=True,
        )
        for power in (_POWERS[:3] if quick else _POWERS)
    ]  # fmt: skip


def _filter_first(numbers: Numbers) -> Judged:
    """Among the methods of the paper, at every density."""
    slower: dict[str, list[Place]] = {}
    for other in SUMMARIES[1:]:
        one = numbers.curve(TIME, FILTER)
        theirs = numbers.curve(TIME, other)
        slower[other] = [x for x in one if is_below(theirs[x], one[x])]
    faster = {name: places for name, places in slower.items() if places}
    words = "; ".join(f"{name} is faster at {where(places)}" for name, places in faster.items())
    found = words or "no other summary is faster at any density"
    return judged(not faster, f"{found.capitalize()}.{_why_at_most(numbers)}")


def _why_at_most(numbers: Numbers) -> str:
    """How many cells a filter keeps where most are occupied: its size is not bounded."""
    sizes = numbers.curve(SIZE, FILTER)
    densest = max(sizes, key=float)
    return (
        f" At density {shown(densest)} filter publishes {shown(round(sizes[densest].mean))} cells: "
        "as many empty ones as were asked for, and the occupied ones beside them."
    )


def _sorting_costs(numbers: Numbers) -> Judged:
    slow = numbers.curve(TIME, PRIORITY), numbers.curve(TIME, FILTER_PRIORITY)
    quick = numbers.curve(TIME, THRESHOLD)
    ratios = [min(one[x].mean for one in slow) / quick[x].mean for x in quick]
    found = (
        f"Both take {times(min(ratios))} to {times(max(ratios))} as long as a threshold sample, "
        "which does not sort."
    )
    return judged(min(ratios) > 1, found)


def _same_where_dense(numbers: Numbers) -> Judged:
    places = numbers.curve(TIME, GEOMETRIC)
    densest = max(places, key=float)
    seconds = {line: numbers.mean(TIME, line, densest) for line in (GEOMETRIC, WAVELET, *SUMMARIES)}
    least, most = min(seconds, key=seconds.__getitem__), max(seconds, key=seconds.__getitem__)
    found = (
        f"At density {shown(densest)}: from {seconds[least]:.2f} s ({least}) to "
        f"{seconds[most]:.2f} s ({most}), geometric {seconds[GEOMETRIC]:.2f} s. About the same "
        f"means within {times(_SAME)}."
    )
    return judged(seconds[most] <= _SAME * seconds[least], found)


def _faster(numbers: Numbers) -> Judged:
    places = numbers.curve(TIME, GEOMETRIC)
    sparsest = min(places, key=float)
    ratios = {
        line: places[sparsest].mean / numbers.mean(TIME, line, sparsest) for line in SUMMARIES
    }
    found = (
        f"At density {shown(sparsest)}, the sparsest at which every cell can be published here, "
        f"{'; '.join(f'{line} {times(ratio)}' for line, ratio in ratios.items())} faster."
    )
    return judged(min(ratios.values()) >= _MUCH, found)


def _flat(numbers: Numbers) -> Judged:
    ratios = {}
    for line in SUMMARIES:
        curve = numbers.curve(TIME, line)
        ratios[line] = curve[min(curve, key=float)].mean / curve[max(curve, key=float)].mean
    found = "From the densest to the sparsest table the time grows " + ", ".join(
        f"{ratio:.2f} times ({line})" for line, ratio in ratios.items()
    )
    return judged(max(ratios.values()) < 2, f"{found}; the domain grows 10,000 times.")


def _dense_stop(numbers: Numbers) -> Judged:
    """Whether the time of dense methods grows as their cells do."""
    words, holds = [], True
    for line in (GEOMETRIC, WAVELET):
        curve = numbers.curve(TIME, line)
        sparsest, densest = min(curve, key=float), max(curve, key=float)
        ratio = curve[sparsest].mean / curve[densest].mean
        holds &= ratio >= _GROWS * float(densest) / float(sparsest)
        words.append(
            f"{line} takes {times(ratio)} as long at {shown(sparsest)} as at {shown(densest)}"
        )
    found = (
        f"{', '.join(words)}; beyond {MOST_CELLS:,} cells they do not fit the memory and are not "
        "run: there is no number, and none is guessed."
    )
    return judged(holds, found)


def _one_percent(numbers: Numbers) -> Judged:
    places = numbers.curve(TIME, GEOMETRIC)
    sparsest = min(places, key=float)
    best = min(SUMMARIES, key=lambda line: numbers.mean(TIME, line, sparsest))
    share = numbers.mean(TIME, best, sparsest) / places[sparsest].mean
    found = f"{best} takes {share:.1%} of the time of geometric at density {shown(sparsest)}."
    if share >= _MOST_SHARE and len(places) < len(numbers.curve(TIME, best)):
        why = "Sparser tables are too large for geometric here; Figure 6 has one that it can do."
        return Judged("cannot be checked", f"{found} {why}")
    return judged(share < _MOST_SHARE, found)


def _smaller(numbers: Numbers) -> Judged:
    """The domain over the summary: known also where geometric was not run."""
    sizes = numbers.curve(SIZE, FILTER_PRIORITY)
    sparsest = min(sizes, key=float)
    ratio = sizes[max(sizes, key=float)].mean / float(sparsest) / sizes[sparsest].mean
    found = (
        f"At density {shown(sparsest)} a summary of {shown(round(sizes[sparsest].mean))} cells "
        f"stands for a domain that is {times(ratio)} as large."
    )
    return judged(ratio >= _SMALLER, found)


FIGURE_4 = Figure(
    "4",
    "Running time of publishing against the density of the table",
    "Paper: 1,000,000 occupied cells in domains of 10^7 to 10^11 cells, summaries of 1,000,000 "
    "cells, on a 3 GHz Xeon with 4 GB. We: the same tables, processor seconds of the publishing "
    "step in one process, five times each.",
    "Times of summaries are flat: they do not depend on the domain. Times of geometric and wavelet "
    "rise tenfold with each step to the left, until such tables do not fit the memory.",
    (
        Panel(
            TIME, "time", Axis("density: occupied cells / all cells", True),
            Axis("processor seconds", True),
        ),
        Panel(
            SIZE, "output", Axis("density: occupied cells / all cells", True),
            Axis("published values", True),
        ),
    ),
    (
        Claim("“Among all methods, Filter is the fastest.”", _filter_first),
        Claim("“Priority and Filter-Priority have a higher cost due to the extra effort to find "
              "the (s + 1)th priority.”", _sorting_costs),
        Claim("At density 0.1 “the running time is about the same for all methods”.",
              _same_where_dense),
        Claim("“As the data becomes more sparse, all our techniques are orders of magnitude faster "
              "than Geometric.”", _faster),
        Claim("The time of summaries is independent of the size of the domain (section 1).", _flat),
        Claim("The wavelet, as geometric, “fails to scale for large domains”.", _dense_stop),
        Claim("Summaries “can be computed in less than 1% of the time compared to standard "
              "methods” (abstract).", _one_percent),
        Claim("“The summaries are up to 1000 times smaller” (abstract).", _smaller),
    ),
    _parts_4,
    (
        "The κ of filter and filter-priority follows from the cells, the size and ε: as many empty "
        "cells as were asked for are expected to pass. So filter publishes up to twice that many.",
        "auto is its step that publishes the cells (beyond 2^22 cells a filter-priority summary of "
        "1,000,000), with 97% of ε; counting the persons before it is not timed.",
        TIME_NOTE,
    ),
)  # fmt: skip
