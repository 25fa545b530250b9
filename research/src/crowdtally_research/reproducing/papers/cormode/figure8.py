"""Figure 8: range sums from trees and wavelets."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from crowdtally.curator.summaries.priority import prioritised
from crowdtally.lab.comparison.charts import Axis
from crowdtally.noise.draws import SystemDraws
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
    TIME_NOTE,
    is_below,
    judged,
    lower_at,
    shown,
    times,
    unknown,
    where,
)
from crowdtally_research.reproducing.papers.cormode.measuring import (
    CHECKED,
    D_FILTER,
    D_FILTER_PRIORITY,
    D_GEOMETRIC,
    D_PRIORITY,
    Trees,
    batches,
    range_errors,
)
from crowdtally_research.reproducing.papers.cormode.tables import (
    GEOMETRIC,
    PERCENT,
    WAVELET,
    Ranges,
    Sparse,
    auto_estimates,
    clustered,
    relative,
    uniform,
)

# What the paper states of ranges.

UNIFORM, SKEWED, CONSISTENT, CHECKED_UNIFORM, TIME = (
    "uniform", "skewed", "consistent-skewed", "consistent-uniform", "time"
)  # fmt: skip
SUMMARIES = (D_PRIORITY, D_FILTER, D_FILTER_PRIORITY)
_STABLE = 3.0
_WIDE = 0.009
"""From this share of the domain on ranges are wide: 1%, and a little less after rounding."""


def _widths(numbers: Numbers, panel: str) -> list[Place]:
    """Ranges of 1% of the domain or more; the largest that was asked is 30% of it."""
    places = list(numbers.curve(panel, D_GEOMETRIC))
    cells = max(float(x) for x in places) / 0.3
    return [x for x in places if float(x) >= _WIDE * cells]


def _priority_worst(numbers: Numbers) -> Judged:
    curve = numbers.curve(UNIFORM, D_PRIORITY)
    beaten = [
        x for x in curve
        if not all(is_below(numbers.at(UNIFORM, line, x), curve[x])
                   for line in (D_FILTER, D_FILTER_PRIORITY))
    ]  # fmt: skip
    ratios = [curve[x].mean / numbers.mean(UNIFORM, D_FILTER, x) for x in curve]
    found = f"Its error is {min(ratios):.1f} to {max(ratios):.1f} times that of d-filter."
    return judged(not beaten, found)


def _much_better(numbers: Numbers) -> Judged:
    ratios = [
        numbers.mean(UNIFORM, D_PRIORITY, x) / numbers.mean(UNIFORM, line, x)
        for line in (D_FILTER, D_FILTER_PRIORITY)
        for x in numbers.curve(UNIFORM, line)
    ]
    found = f"D-priority is {min(ratios):.1f} to {max(ratios):.1f} times as far off as they are."
    return judged(min(ratios) >= 2, f"{found} Much means twice.")


def _trees_pay(numbers: Numbers) -> Judged:
    wide = _widths(numbers, UNIFORM)
    ratios = {
        x: numbers.mean(UNIFORM, GEOMETRIC, x) / numbers.mean(UNIFORM, D_GEOMETRIC, x) for x in wide
    }
    words = ", ".join(f"{times(ratio)} at {shown(x)}" for x, ratio in ratios.items())
    found = (
        f"Geometric is {words} as far off; far means twice. With the noise of 21 levels on about "
        "20 nodes, a range of 1% of the cells is about where both meet."
    )
    return judged(min(ratios.values()) >= 2, found)


def _stable(numbers: Numbers) -> Judged:
    """Absolute errors: the relative ones times the size, all counts being alike."""
    words, worst = [], 0.0
    for line in (D_GEOMETRIC, D_FILTER, D_FILTER_PRIORITY, D_PRIORITY):
        curve = numbers.curve(UNIFORM, line)
        absolute = [one.mean * float(x) for x, one in curve.items()]
        ratio = max(absolute) / min(absolute)
        worst = max(worst, ratio)
        words.append(f"{line} {ratio:.1f}")
    first, last = (end(numbers.curve(UNIFORM, D_GEOMETRIC), key=float) for end in (min, max))
    found = (
        f"The largest absolute error over the smallest, for ranges of {shown(first)} to "
        f"{shown(last)} cells: {', '.join(words)}. Weakly means below {_STABLE:.0f}."
    )
    return judged(worst < _STABLE, found)


def _filter_wins(numbers: Numbers) -> Judged:
    below, above = lower_at(numbers, SKEWED, D_FILTER, D_GEOMETRIC)
    ratios = {
        x: numbers.mean(SKEWED, D_FILTER, x) / numbers.mean(SKEWED, D_GEOMETRIC, x)
        for x in numbers.curve(SKEWED, D_FILTER)
    }
    found = (
        f"D-filter is below d-geometric at ranges of {where(below)}, above it at {where(above)}; "
        f"its error is {min(ratios.values()):.2f} to {max(ratios.values()):.2f} of the other."
    )
    return judged(len(below) * 2 > len(ratios) and not above, found)


def _wavelet_good(numbers: Numbers) -> Judged:
    words, holds = [], True
    for panel in (UNIFORM, SKEWED):
        below, _ = lower_at(numbers, panel, WAVELET, D_GEOMETRIC)
        holds &= len(below) == len(numbers.curve(panel, WAVELET))
        words.append(f"{panel}: below d-geometric at ranges of {where(below)}")
    return judged(holds, f"{'; '.join(words)}.")


def _saved(numbers: Numbers, panel: str) -> dict[str, dict[Place, float]]:
    """By how many percent consistency lowers errors."""
    return {
        line: {x: PERCENT - one.mean for x, one in numbers.curve(panel, line).items()}
        for line in (D_FILTER, D_FILTER_PRIORITY)
    }


def _told(saved: dict[str, dict[Place, float]]) -> str:
    return "; ".join(
        f"{line} by {min(by.values()):.0f}% to {max(by.values()):.0f}%"
        for line, by in saved.items()
    )


def _helps_skewed(numbers: Numbers) -> Judged:
    saved = _saved(numbers, CONSISTENT)
    every = [one for by in saved.values() for one in by.values()]
    inside = sum(25 <= one <= 65 for one in every)
    found = (
        f"Errors fall: {_told(saved)}; between 25% and 65% at {inside} of {len(every)} points. "
        "Wider ranges are made of large nodes, which pass the filter with or without the rule."
    )
    return judged(inside * 2 > len(every), found)


def _helps_uniform(numbers: Numbers) -> Judged:
    saved = _saved(numbers, CHECKED_UNIFORM)
    every = [one for by in saved.values() for one in by.values()]
    mean = sum(every) / len(every)
    skewed = [one for by in _saved(numbers, CONSISTENT).values() for one in by.values()]
    found = (
        f"Errors fall: {_told(saved)}; {mean:.0f}% on average, and on skewed data "
        f"{sum(skewed) / len(skewed):.0f}%. Closer to 10% means 5% to 15% on average."
    )
    return judged(5 <= mean <= 15, found)


def _faster(numbers: Numbers) -> Judged:
    places = numbers.curve(TIME, D_GEOMETRIC)
    ratios = {
        x: [
            min(places[x].mean, numbers.mean(TIME, WAVELET, x)) / numbers.mean(TIME, line, x)
            for line in SUMMARIES
        ]
        for x in places
    }
    words = ", ".join(
        f"{min(found):.1f} to {max(found):.1f} times at density {shown(x)}"
        for x, found in ratios.items()
    )
    found = f"Than the faster of d-geometric and wavelet, summaries are faster {words}."
    return judged(min(min(one) for one in ratios.values()) > 1, found)


def _less_pronounced(numbers: Numbers) -> Judged:
    place = max(numbers.curve(TIME, D_GEOMETRIC), key=float)
    slow = numbers.mean(TIME, D_GEOMETRIC, place)
    ratios = {line: slow / numbers.mean(TIME, line, place) for line in SUMMARIES}
    words = ", ".join(f"{line} {ratio:.1f} times" for line, ratio in ratios.items())
    found = f"At density {shown(place)}, faster than d-geometric: {words}."
    return judged(all(1.5 <= ratio <= 5 for ratio in ratios.values()), found)


CLAIMS = (
    Claim("“D-Priority is the worst of our private summary techniques on dyadic ranges.”",
          _priority_worst),
    Claim("D-filter and d-filter-priority “are much better”.", _much_better),
    Claim("“D-Geometric is far better than Geometric for all range query sizes R ≥ 10^4.”",
          _trees_pay),
    Claim("The accuracy of trees “depends only very weakly on the range size”.", _stable),
    Claim("On skewed data “D-Filter is better than D-Geometric”.", _filter_wins),
    Claim("“Wavelet has good accuracy in both experiments.”", _wavelet_good),
    Claim("On skewed data consistency checks reduce “the errors of our two techniques by 30% to "
          "60%”.", _helps_skewed),
    Claim("On more uniform data “the improvement is closer to 10%”.", _helps_uniform),
    Claim("“Sampling and filtering are always much faster than both wavelet and the geometric "
          "mechanism applied to dyadic ranges.”", _faster),
    Claim("At larger densities they are faster “by a factor of about 2 to 4 times”.",
          _less_pronounced),
    unknown("Combining wavelets with filtering and sampling “resulted in considerably degraded "
            "query accuracy”.",
            "The paper shows no numbers of it, and its weights of coefficients are not those of "
            "the integer transform here."),
)  # fmt: skip
"""In the order of the paper."""


# Figure 8: ranges, from trees and wavelets.

SIZES = (100, 1_000, 10_000, 30_000, 100_000, 300_000)
_QUERIES = 200
_MAKERS = {UNIFORM: uniform, SKEWED: clustered}
_CONSISTENT = {UNIFORM: CHECKED_UNIFORM, SKEWED: CONSISTENT}
_BOTH = (D_FILTER, D_FILTER_PRIORITY)


def _sizes(cells: int) -> list[int]:
    return [max(size * cells // 1_000_000, 1) for size in SIZES]


def ranges(given: Given, *, panel: str, cells: int, runs: int) -> list[Number]:
    """One kind of data: its panel, and the one that shows what consistency does to it."""
    trees, sizes = Trees.over(cells, cells // 10), _sizes(cells)
    seen: dict[str, dict[int, list[float]]] = {}
    for run in range(runs):
        sparse = _MAKERS[panel](cells, cells // 10, 20, run)
        for line, errors in range_errors(trees, sparse, sizes, _QUERIES, run).items():
            for size, error in errors.items():
                seen.setdefault(line, {}).setdefault(size, []).append(error)
    found = [
        Number.over(panel, line, size, values)
        for line, by_size in seen.items()
        if not line.endswith(CHECKED)
        for size, values in by_size.items()
    ]
    return found + [
        Number.over(_CONSISTENT[panel], line, size, left(seen[line + CHECKED][size], values))
        for line in _BOTH
        for size, values in seen[line].items()
    ]


def left(checked: Sequence[float], plain: Sequence[float]) -> list[float]:
    """What consistency leaves of the error of each run, in percent.

    >>> left([3.0, 1.0], [4.0, 4.0])
    [75.0, 25.0]
    """
    return [PERCENT * one / other for one, other in zip(checked, plain, strict=True)]


def auto(given: Given, *, panel: str, cells: int, runs: int) -> list[Number]:
    """The same ranges, answered by ``auto``: sums of its estimates of cells."""
    seen: dict[int, list[float]] = {size: [] for size in _sizes(cells)}
    for seed, number in batches(runs):
        sparse = _MAKERS[panel](cells, cells // 10, 20, seed)
        asked = Ranges.drawn(cells, list(seen), _QUERIES, seed)
        truth = asked.sums(sparse.truth)
        for found in auto_estimates(sparse, number):
            for size, error in relative(asked.sums(found), truth).items():
                seen[size].append(error)
    return [Number.over(panel, AUTO, size, values) for size, values in seen.items()]


def seconds(given: Given, *, cells: int, power: int, runs: int) -> list[Number]:
    """How long the methods on trees take, where one of 10^power cells is occupied."""
    occupied = cells // 10**power
    sparse, trees = uniform(cells, occupied, 20, power), Trees.over(cells, occupied)
    seen: dict[str, list[float]] = {}
    for run in range(runs + 1):
        for line, way in _timed(trees, sparse).items():
            start = time.process_time()
            way()
            spent = time.process_time() - start
            if run:  # the first one also loads code
                seen.setdefault(line, []).append(spent)
    return [Number.over(TIME, line, 10.0**-power, values) for line, values in seen.items()]


def _timed(trees: Trees, sparse: Sparse) -> Mapping[str, Callable[[], object]]:
    counts, draws = sparse.counts, SystemDraws()
    return {
        D_GEOMETRIC: lambda: trees.nodes.publish(counts, draws),
        WAVELET: lambda: trees.wavelet.publish(counts, draws),
        D_PRIORITY: lambda: trees.sample.publish(counts, draws),
        D_FILTER: lambda: trees.filtered(sparse),
        D_FILTER_PRIORITY: lambda: prioritised(trees.filtered(sparse), trees.size, draws),
    }


def _parts(data: Data, quick: bool) -> Sequence[Part]:
    cells = 10_000 if quick else 1_000_000
    more, fewer, few = (2, 2, 2) if quick else (50, 20, 5)
    own = [
        Part(f"figure8-{panel}", ranges, {"panel": panel, "cells": cells, "runs": more})
        for panel in _MAKERS
    ]
    ours = [
        Part(f"figure8-{panel}-auto", auto, {"panel": panel, "cells": cells, "runs": fewer})
        for panel in _MAKERS
    ]
    times = [
        Part(
            f"figure8-time-{power}", seconds, {"cells": cells, "power": power, "runs": few},
            is_timed=True,
        )
        for power in (1, 2, 3)
    ]  # fmt: skip
    return [*own, *ours, *times]


_ERROR = Axis("error, % of the true sum", True)
_LEFT = Axis("error that is left, % of that without", False, (50.0, 110.0))
_RANGE = Axis("cells of a range", True)

FIGURE = Figure(
    "8",
    "Error of range sums, from trees and wavelets",
    "Paper and we: 1,000,000 cells of which 100,000 are occupied, counts N(100, 20), ε = 0.1, "
    "summaries of 100,000 nodes. Skewed: the occupied cells lie in clusters; ours are 100 clusters "
    "around random places, because the paper does not say how its own were made.",
    "Trees and wavelets have the same absolute error at every size, so their relative error falls "
    "tenfold with each tenfold range, and geometric's less. On skewed data filters win. In c, "
    "dropping nodes below dropped ones leaves less of the error on skewed data, and nearly all of "
    "it on uniform data.",
    (
        Panel(UNIFORM, "a: uniform data", _RANGE, _ERROR),
        Panel(SKEWED, "b: skewed data", _RANGE, _ERROR),
        Panel(CONSISTENT, "c: consistency, skewed data", _RANGE, _LEFT),
        Panel(CHECKED_UNIFORM, "c: consistency, uniform data", _RANGE, _LEFT),
        Panel(TIME, "time (section 5.3)", Axis("density", True), Axis("processor seconds", True)),
    ),
    CLAIMS,
    _parts,
    (
        "A tree of 2^20 leaves has 21 levels, so its noise is that of 21 counts; the paper's log m "
        "is one short. Wavelets are integer coefficients with the same noise.",
        "Ranges of d-geometric are sums of the fewest nodes, as in the paper. The product's reader "
        "would fit all nodes to each other, which is better. Its d-filter always drops orphans: in "
        "a and b, as in the paper, they are kept.",
        "The κ of d-filter and d-filter-priority is the one at which 100,000 empty nodes are "
        "expected to pass. Without their orphans fewer are left, so that nothing is sampled away "
        "and both are one. The paper does not say its κ: a smaller one lets more noise pass, of "
        "which the rule then takes more away. With 10 or 1,000 clusters instead of 100 the gain is "
        "alike.",
        "50 runs, 200 random ranges of each size in each; auto: 20 runs, five on each of four "
        "tables.",
        AUTO_NOTE,
        TIME_NOTE,
    ),
)
