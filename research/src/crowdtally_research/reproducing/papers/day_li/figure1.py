"""Figure 1 and its claims: quality and error by θ."""

from __future__ import annotations

from collections.abc import Iterator

from crowdtally.lab.comparison.charts import Axis
from crowdtally_research.reproducing.figure import Claim, Figure, Judged, Numbers, Panel
from crowdtally_research.reproducing.papers.day_li import panels
from crowdtally_research.reproducing.papers.day_li.experiment import SETS, SMALLER, Set, parts
from crowdtally_research.reproducing.papers.day_li.panels import (
    BUDGETS,
    LARGE,
    SMALL,
    Budget,
    judged,
    listed,
    mostly,
    short,
)

# What the paper states of figure 1, and the sentences of section 4 that its numbers decide.

_SYMMETRIC = 0.2
"""The average may move by this share of what the error moves."""
_CLOSE = 5.0
"""% of the mean column count that is called close."""
_NEAR = 1.5
"""Two θ within this factor are neighbours among the places of the curves."""
_FLATTER = 0.5
"""The slope at ln 3 over that at ln 1.5; the noise alone makes it 0.37."""
_LITTLE = 1.1
_SIMILAR = 10.0
_LOW, _HIGH = 1.5, 6.0
_WHOLE = 1.02
"""θ is a whole number, so that a multiple of the mean row is only met nearly."""

Curve = dict[float, float]


def curve(numbers: Numbers, one: Set, line: str, panel: str | None = None) -> Curve:
    found = numbers.curve(panel or panels.curves(one.name), line)
    if not found:
        raise KeyError((one.title, line))
    return {float(x): number.mean for x, number in found.items()}


def _cases() -> Iterator[tuple[str, Set, Budget]]:
    for one in SETS:
        for budget in BUDGETS:
            yield f"{one.title} {budget.words}", one, budget


def _span(values: Curve) -> float:
    return max(values.values()) - min(values.values())


def symmetric(numbers: Numbers) -> Judged:
    """The average of both stays where it is while each of them moves."""
    shares = {}
    for case, one, budget in _cases():
        average = curve(numbers, one, panels.average_line(budget), panels.averages(one.name))
        shares[case] = 100 * _span(average) / _span(curve(numbers, one, panels.error_line(budget)))
    holds = {case: share <= 100 * _SYMMETRIC for case, share in shares.items()}
    found = (
        f"while the MAE goes from its least to its largest, the average moves by this share of it: "
        f"{listed(shares, '%')}. Called symmetrical up to {100 * _SYMMETRIC:.0f}%: "
        f"{sum(holds.values())} of {len(holds)}. Where it moves, it falls with θ: negative counts "
        "are set to 0, which halves the noise of the many columns that hardly anybody has."
    )
    return judged(mostly(holds), found)


def _gaps(numbers: Numbers, panel: str) -> dict[str, float]:
    return {
        f"{one.title} {budget.words}": numbers.mean(panel, panels.average_line(budget), one.title)
        for one in SETS
        for budget in BUDGETS
    }


def close_to_half(numbers: Numbers) -> Judged:
    """The average lies at half the mean column count."""
    cut, kept = _gaps(numbers, panels.GAP), _gaps(numbers, panels.GAP_KEPT)
    holds = {case: gap <= _CLOSE for case, gap in cut.items()}
    found = (
        f"the mean distance over all θ, in % of ac(D): {listed(cut, '%')}. Called close up to "
        f"{_CLOSE:.0f}%: {sum(holds.values())} of {len(holds)}. The paper's explanation forgets "
        "that negative counts are set to 0 (line 11 of its Algorithm 1). With negative counts kept "
        f"{sum(gap <= _CLOSE for gap in kept.values())} of {len(kept)} are close: "
        f"{listed(kept, '%')}."
    )
    return judged(mostly(holds), found)


def same_at_both(numbers: Numbers) -> Judged:
    """The average depends little on ε."""
    gaps = {}
    for one in SETS:
        panel = panels.averages(one.name)
        small, large = (curve(numbers, one, panels.average_line(b), panel) for b in BUDGETS)
        half = curve(numbers, one, panels.HALF, panel)
        each = [abs(small[x] - large[x]) / (2 * half[x]) for x in half]
        gaps[one.title] = 100 * sum(each) / len(each)
    holds = {case: gap <= _CLOSE for case, gap in gaps.items()}
    found = (
        f"the mean distance between the two averages, in % of ac(D): {listed(gaps, '%')}; "
        f"insignificant up to {_CLOSE:.0f}%: {sum(holds.values())} of {len(holds)}."
    )
    return judged(mostly(holds), found)


def _least(values: Curve) -> float:
    return min(values, key=values.__getitem__)


def same_optimum(numbers: Numbers) -> Judged:
    """Least error and best quality are at the same θ."""
    factors = {}
    for case, one, budget in _cases():
        error = _least(curve(numbers, one, panels.error_line(budget)))
        quality = curve(numbers, one, panels.quality_line(budget))
        best = max(quality, key=quality.__getitem__)
        factors[case] = max(error / best, best / error)
    holds = {case: factor <= _NEAR for case, factor in factors.items()}
    found = (
        f"the larger of the two θ over the smaller: {listed(factors)}. Within {_NEAR}, the "
        f"distance of neighbouring θ here: {sum(holds.values())} of {len(holds)}."
    )
    return judged(mostly(holds), found)


def good_enough(numbers: Numbers) -> Judged:
    """Where the quality is nearly the best, the error is nearly the least."""
    worst = {}
    for case, one, budget in _cases():
        half = curve(numbers, one, panels.HALF, panels.averages(one.name))
        unit = 2 * next(iter(half.values())) / 100  # 1% of the mean column count
        error = curve(numbers, one, panels.error_line(budget))
        quality = curve(numbers, one, panels.quality_line(budget))
        best, least = max(quality.values()), min(error.values())
        near = [x for x in quality if best - quality[x] <= _CLOSE * unit]
        worst[case] = max((error[x] - least) / unit for x in near)
    holds = {case: off <= 2 * _CLOSE for case, off in worst.items()}
    found = (
        f"among all θ whose quality is within {_CLOSE:.0f}% of ac(D) of the best, the largest MAE "
        f"lies above the least by, in % of ac(D): {listed(worst, '%')}. Close is "
        f"{2 * _CLOSE:.0f}%: {sum(holds.values())} of {len(holds)}."
    )
    return judged(mostly(holds), found)


def lower_and_flatter(numbers: Numbers) -> Judged:
    """A larger ε has a smaller error everywhere, which grows less with θ."""
    slopes, lower = {}, {}
    for one in SETS:
        small, large = (curve(numbers, one, panels.error_line(b)) for b in (SMALL, LARGE))
        last, before = max(small), _least(small)
        slopes[one.title] = (large[last] - large[before]) / (small[last] - small[before])
        slack = one.mean / 100  # where rows are cut short, ε decides next to nothing
        lower[one.title] = all(large[x] <= small[x] + slack for x in small)
    flat = {title: slope <= _FLATTER for title, slope in slopes.items()}
    found = (
        f"nowhere higher by more than 1% of the printed ac(D) on {sum(lower.values())} of "
        f"{len(lower)}; the rise from the best θ at "
        f"ln 1.5 to the largest θ, ln 3 over ln 1.5: {listed(slopes)}. Much flatter is up to "
        f"{_FLATTER}."
    )
    return judged(all(lower.values()) and mostly(flat), found)


def larger_bound(numbers: Numbers) -> Judged:
    """A larger ε wants a larger θ."""
    best = {
        budget: {one.title: _least(curve(numbers, one, panels.error_line(budget))) for one in SETS}
        for budget in BUDGETS
    }
    holds = {title: best[LARGE][title] >= theta for title, theta in best[SMALL].items()}
    found = (
        f"the θ of the least MAE at ln 1.5: {listed(best[SMALL])}; at ln 3: {listed(best[LARGE])}."
    )
    return judged(all(holds.values()), found)


def between(numbers: Numbers) -> Judged:
    """The optimum in units of the mean row."""
    ratios = {
        one.title: numbers.mean(panels.OPTIMUM, panels.error_line(LARGE), one.title) for one in SETS
    }
    words = []
    for one in SMALLER:
        place = f"{one.title}{panels.FULL}"
        if place in numbers.curve(panels.OPTIMUM, panels.quality_line(LARGE)):
            small = ratios[one.title]
            ratios[one.title] = numbers.mean(panels.OPTIMUM, panels.quality_line(LARGE), place)
            words.append(
                f"{one.title} is that of the quality at full size; {one.scale} of its rows, where "
                f"noise weighs more, have theirs at {short(small)}."
            )
    holds = {title: _LOW / _WHOLE <= ratio <= _HIGH * _WHOLE for title, ratio in ratios.items()}
    found = (
        f"θ of the least MAE over the average row count at ln 3: {listed(ratios)}; inside on "
        f"{sum(holds.values())} of {len(holds)}. {' '.join(words)}"
    )
    return judged(mostly(holds), found.strip())


def correlated(numbers: Numbers) -> Judged:
    """Longer rows want a larger θ."""
    means = {one.title: one.row_mean for one in SETS}
    best = {one.title: _least(curve(numbers, one, panels.error_line(LARGE))) for one in SETS}
    by_mean, by_best = (sorted(means, key=order.__getitem__) for order in (means, best))
    number = len(means)
    squares = sum((by_mean.index(title) - by_best.index(title)) ** 2 for title in means)
    rank = 1 - 6 * squares / (number * (number**2 - 1))
    found = (
        f"the rank correlation of the two over the six data sets is {rank:.2f} (ln 3); "
        "correlated is 0.5 and more."
    )
    return judged(rank >= 0.5, found)


def little_to_gain(numbers: Numbers) -> Judged:
    """What the private choice costs in all."""
    regrets = {
        f"{one.title} {budget.words}": numbers.mean(
            panels.REGRET, panels.error_line(budget), one.title
        )
        for one in SETS
        for budget in BUDGETS
    }
    holds = {case: regret <= _LITTLE for case, regret in regrets.items()}
    found = (
        "no division of ε can gain more than the tenth that the choice is paid with, and what the "
        f"choice loses. DPSense's MAE over that at the best θ: {listed(regrets)}. Little is up to "
        f"{_LITTLE}: {sum(holds.values())} of {len(holds)}."
    )
    return judged(mostly(holds), found)


def alike(numbers: Numbers) -> Judged:
    """Sampling a row and scaling it have the same error."""
    line = panels.error_line(LARGE)
    off = {
        one.title: 100 * (numbers.mean(panels.SAMPLING, line, one.title) - 1)
        for one in SETS
        if one.sampled
    }
    holds = {title: abs(share) <= _SIMILAR for title, share in off.items()}
    found = (
        f"the MAE of sampling against that of normalisation, at the same θ and noise, ln 3: "
        f"{listed(off, '%')} (Netflix, the largest, was left out). Very similar is within "
        f"{_SIMILAR:.0f}%."
    )
    return judged(mostly(holds), found)


CLAIMS = (
    Claim(
        "“for a given ε, the MAE curve and the quality curve are almost symmetrical around a "
        "horizontal line”",
        symmetric,
    ),
    Claim(
        "The average of both “is close to the horizontal line of a half of the average column "
        "count”",
        close_to_half,
    ),
    Claim(
        "“the average of MAE and Quality does not change significantly under the two different "
        "privacy budgets”",
        same_at_both,
    ),
    Claim(
        "“the θ value where MAE is minimized is very close to the θ value where the quality "
        "function is maximized”",
        same_optimum,
    ),
    Claim(
        "“so long as the quality is close the maximum, the resulting MAE will be close to the "
        "minimum”",
        good_enough,
    ),
    Claim(
        "From ln 1.5 to ln 3 “the MAE moves to a lower level and is much flatter as θ increases”",
        lower_and_flatter,
    ),
    Claim("With a larger ε “it is desirable to choose a larger θ”", larger_bound),
    Claim(
        "“When ε = ln 3, the optimal θ values tend to be between 1.5 times and 6 times the average "
        "row count”",
        between,
    ),
    Claim(
        "“the optimal θ values are correlated with the average row count of the dataset”",
        correlated,
    ),
    Claim(
        "“optimizing privacy budget allocation may have little improvement in this framework”",
        little_to_gain,
    ),
    Claim(
        "Sampling and normalisation “produce a very similar effect for utility preservation” "
        "(section 4)",
        alike,
    ),
)


# Figure 1: quality and error against θ.

_THETA = Axis("θ, ones that a row may have", True)
_SET = Axis("data set", False)


def _panels() -> tuple[Panel, ...]:
    count = Axis("count of a column", False)
    above = [
        Panel(
            panels.curves(one.name),
            f"{one.title}: quality and MAE (mean row {one.row_mean:.3g})",
            _THETA,
            count,
        )
        for one in SETS
    ]
    below = [
        Panel(panels.averages(one.name), f"{one.title}: the average of both", _THETA, count)
        for one in SETS
    ]
    return (*above, *below, *_bars())


def _bars() -> tuple[Panel, ...]:
    gap = Axis("% of the mean column count", False)
    return (
        Panel(panels.OPTIMUM, "The θ of the least MAE, of the best quality", _SET,
              Axis("θ over the mean row count", True), is_bars=True),
        Panel(panels.REGRET, "DPSense, its θ chosen privately", _SET,
              Axis("MAE over that at the best θ", False), is_bars=True),
        Panel(panels.SAMPLING, "Rows sampled instead of normalised to θ", _SET,
              Axis("MAE over that of normalised rows", False), is_bars=True),
        Panel(panels.GAP, "The average's distance from half the mean column count", _SET, gap,
              is_bars=True),
        Panel(panels.GAP_KEPT, "The same with negative counts kept", _SET, gap, is_bars=True),
    )  # fmt: skip


FIGURE = Figure(
    "1",
    "Quality function and error against θ",
    "DPSense publishes at fixed θ with 0.9ε, for ε = ln 1.5 and ln 3, 30 runs at each θ. The "
    "places are multiples of the mean row count and the θ of the best quality.",
    "MAE falls, then rises with θ; the quality is nearly its mirror image. Their average leaves "
    "half the mean column count where θ is large, because negative counts are set to 0; with "
    "these kept it stays (last panels). auto needs no θ: its error is a level line below the "
    "curve's least.",
    _panels(),
    CLAIMS,
    parts,
    (
        "ε = ln 1.5 and ln 3 are no rationals: 0.4054 and 1.0986, rounded down, are spent.",
        "Negative counts are set to 0 (line 11 of Algorithm 1), where nothing else is said.",
        "The rows are read once for all θ; the counts are those of a release's own step, and the "
        "noise is drawn by it.",
        "None of the six files is at hand: these are look-alikes with the numbers of Table 2, the "
        "Document set with a twentieth of its rows. How row lengths and popularities are spread "
        "beyond these numbers is not printed, and is ours.",
    ),
)
