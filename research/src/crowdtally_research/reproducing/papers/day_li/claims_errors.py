"""What the paper states of its methods' errors, as far as we have its text."""

from __future__ import annotations

from collections.abc import Iterable

from crowdtally_research.reproducing.figure import Claim, Judged
from crowdtally_research.reproducing.numbers import Number, Numbers, Place
from crowdtally_research.reproducing.papers.day_li import panels
from crowdtally_research.reproducing.papers.day_li.budgets import BUDGETS, LARGE, Budget
from crowdtally_research.reproducing.papers.day_li.judging import judged, less, listed, mostly
from crowdtally_research.reproducing.papers.day_li.setting import METHODS, SETS

_FACTOR, _AROUND = 1.1, 0.1
_LARGEST_FACTOR = 2.0
_MUCH = 2.0
"""So many times an error is called much larger."""
_OWN, _OTHERS = ("dpsense", "dpsense-s"), ("gs", "alpa", "lpa")
_BEFORE = "the text that we have breaks off before."

Where = tuple[str, str, Place]
"""Of one data set: its title, a panel, and a place in it."""


def by_set(metric: str) -> list[Where]:
    """The places of an error of all columns at ε = ln 3."""
    return [(one.title, panels.over_all(metric, LARGE), one.title) for one in SETS]


def by_list(metric: str, k: int) -> list[Where]:
    """The places of an error of the top k at ε = ln 3."""
    return [(one.title, panels.on_top(metric, one.name, LARGE), k) for one in SETS]


def missing(section: str, places: Iterable[Where], *, most_first: bool = False) -> Claim:
    """What the paper says of a figure whose sentences we do not have, and our order of methods.

    Args:
        section: where they stood.
        places: what is compared.
        most_first: whether more is better.
    """
    wanted = list(places)

    def judge(numbers: Numbers) -> Judged:
        orders = [
            f"{title}: {', '.join(_order(numbers, panel, x, most_first=most_first))}"
            for title, panel, x in wanted
        ]
        found = f"{_BEFORE} Our order at ε = ln 3, the best first: {'; '.join(orders)}."
        return Judged("cannot be checked", found)

    return Claim(f"What section {section} says of this figure.", judge)


def _order(numbers: Numbers, panel: str, x: Place, *, most_first: bool) -> list[str]:
    means = {line: numbers.mean(panel, line, x) for line in METHODS}
    return sorted(means, key=means.__getitem__, reverse=most_first)


def better(places: Iterable[Where], words: str, *, most_first: bool = False) -> Claim:
    """The purpose of the paper: its own methods err less than those before it."""
    wanted = list(places)

    def judge(numbers: Numbers) -> Judged:
        holds, lost = {}, []
        for title, panel, x in wanted:
            own = [numbers.at(panel, line, x) for line in _OWN]
            best = _best(own, most_first=most_first)
            before = {line: numbers.at(panel, line, x) for line in _OTHERS}
            beaten = [line for line, one in before.items() if _worse(one, best, most_first)]
            holds[title] = len(beaten) == len(before)
            lost += [f"{line} on {title}" for line in before if line not in beaten]
        found = (
            f"the better of dpsense and dpsense-s is better than all three, by more than two "
            f"standard errors, on {sum(holds.values())} of {len(holds)} data sets (ln 3)"
        )
        return judged(mostly(holds), f"{found}; not better than {', '.join(lost)}." if lost
                      else f"{found}.")  # fmt: skip

    return Claim(words, judge)


def _best(numbers: list[Number], *, most_first: bool) -> Number:
    pick = max if most_first else min
    return pick(numbers, key=lambda one: one.mean)


def _worse(one: Number, best: Number, most_first: bool) -> bool:
    return less(one, best) if most_first else less(best, one)


def _factors(numbers: Numbers, line: str) -> dict[str, float]:
    return {
        f"{one.title} {budget.words}": numbers.mean(panels.scalings(budget), line, one.title)
        for one in SETS
        for budget in BUDGETS
    }


def close_to_factor(numbers: Numbers) -> Judged:
    """The scaling factors of DPSense-S."""
    factors, best = _factors(numbers, "dpsense-s"), _factors(numbers, panels.BEST)
    holds = {case: abs(one - _FACTOR) <= _AROUND for case, one in factors.items()}
    found = (
        f"the mean factor chosen: {listed(factors)}. Between {_FACTOR - _AROUND:.1f} and "
        f"{_FACTOR + _AROUND:.1f}: {sum(holds.values())} of {len(holds)}. The factors with the "
        f"best score are {listed(best)}. In look-alikes long rows have the same columns as short "
        "ones, so that a small θ with a large factor corrects nearly all of what was cut; real "
        "rows need not allow that."
    )
    return judged(mostly(holds), found)


def two_is_enough(numbers: Numbers) -> Judged:
    """The best factor is not the largest candidate."""
    factors = _factors(numbers, panels.BEST)
    holds = {case: one < _LARGEST_FACTOR for case, one in factors.items()}
    found = (
        f"the factor with the best score is below 2, the largest candidate, in "
        f"{sum(holds.values())} of {len(holds)} cases: {listed(factors)}."
    )
    return judged(mostly(holds), found)


def underestimates(numbers: Numbers) -> Judged:
    """DPSense's mean error is below 0."""
    biases = {
        line: {one.title: numbers.at(panels.bias(LARGE), line, one.title) for one in SETS}
        for line in ("dpsense", "dpsense-s")
    }
    plain, scaled = ({title: one.mean for title, one in each.items()} for each in biases.values())
    zero = Number("", "", 0, 0.0)
    holds = [less(one, zero) for one in biases["dpsense"].values()]
    found = (
        f"the mean error, in % of ac(D), at ln 3: {listed(plain, '%')}; of dpsense-s: "
        f"{listed(scaled, '%')}."
    )
    return judged(all(holds), found)


def needs_no_maximum(numbers: Numbers) -> Judged:
    """Nothing but d is told to DPSense."""
    measured = [numbers.mean(panels.over_all("mae", LARGE), "dpsense", one.title) for one in SETS]
    found = (
        f"it was run on all {len(measured)} data sets with candidates from 1 to d, and was told "
        "nothing else; gs, alpa and lpa were told Δ_D, which is read off the records."
    )
    return judged(True, found)


def heavy_columns(numbers: Numbers) -> Judged:
    """ALPA's error of the columns with the largest counts, beside that of all columns."""
    times = {}
    for one in SETS:
        panel = panels.on_top("topk-mae", one.name, LARGE)
        curve = {float(x): number.mean for x, number in numbers.curve(panel, "alpa").items()}
        if len(curve) < 2:
            raise KeyError((one.title, "alpa"))
        times[one.title] = curve[min(curve)] / curve[max(curve)]
    holds = {title: ratio >= _MUCH for title, ratio in times.items()}
    found = (
        f"its MAE over the {min(panels.KS)} columns with the largest counts is so many times that "
        f"over all columns: {listed(times)} (ln 3); much larger is {_MUCH:.0f} times."
    )
    return judged(all(holds.values()), found)


def less_noise(budget: Budget) -> Claim:
    """ALPA's noise against that of LPA, by their errors."""

    def judge(numbers: Numbers) -> Judged:
        panel = panels.over_all("mae", budget)
        pairs = {
            one.title: (numbers.at(panel, "alpa", one.title), numbers.at(panel, "lpa", one.title))
            for one in SETS
        }
        holds = {title: less(*pair) for title, pair in pairs.items()}
        ratios = {title: alpa.mean / lpa.mean for title, (alpa, lpa) in pairs.items()}
        found = (
            f"ALPA's MAE over LPA's, which is noise alone: {listed(ratios)} ({budget.words}): "
            f"smaller on {sum(holds.values())} of {len(holds)}."
        )
        return judged(mostly(holds), found)

    words = "ALPA “reduces the sensitivity from d to 1 so that less noise is injected” (section 3)"
    return Claim(words, judge)
