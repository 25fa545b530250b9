"""The whole work on one data set: it is read once for all figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from crowdtally_research.reproducing.figure import Given
from crowdtally_research.reproducing.numbers import Number, Numbers
from crowdtally_research.reproducing.papers.day_li import panels
from crowdtally_research.reproducing.papers.day_li.bench import Bench, bench_on
from crowdtally_research.reproducing.papers.day_li.budgets import BUDGETS
from crowdtally_research.reproducing.papers.day_li.curves import curve_numbers, full_size_numbers
from crowdtally_research.reproducing.papers.day_li.errors import Comparison
from crowdtally_research.reproducing.papers.day_li.sampling import sampling_numbers

OURS = "look-alike"
_WHOLE = "1"


def measured(
    given: Given,
    *,
    name: str,
    title: str,
    scale: str,
    largest: int,
    runs: int,
    autos: int,
    sampled: bool,
) -> Sequence[Number]:
    """Every number of one data set.

    Args:
        given: where the data are.
        name: of the look-alike.
        title: as the paper calls it.
        scale: the share of its rows.
        largest: the largest θ of DPSense-S's candidates.
        runs: of every method at both ε, and of every place of figure 1.
        autos: runs of ``auto`` at both ε.
        sampled: whether rows that are sampled are compared with rows that are scaled.
    """
    bench = bench_on(given.data.lookalike(name, scale))
    found = [*_properties(bench, title), *curve_numbers(bench, name, title, runs)]
    if scale != _WHOLE and not given.data.is_quick:
        found += full_size_numbers(name, title)
    compared = Comparison(bench, name, title, largest, runs, autos).numbers()
    found += _along(compared, found, name)
    if sampled:
        found += sampling_numbers(bench, title, runs)
    return [*found, *_regrets(Numbers(found), name, title)]


def _properties(bench: Bench, title: str) -> Iterator[Number]:
    """Table 2, of the look-alike."""
    rows = bench.rows
    values = {
        "rows": rows.users, "columns": rows.cells, "most": rows.most, "mean": rows.column_mean
    }  # fmt: skip
    for column, value in values.items():
        yield Number(panels.table(column), OURS, title, float(value))


def _along(compared: Iterator[Number], found: Sequence[Number], name: str) -> Iterator[Number]:
    """The same numbers; of figure 1 auto's error stands at every θ, because it is given none."""
    panel = panels.curves(name)
    places = dict.fromkeys(one.x for one in found if one.panel == panel)
    for one in compared:
        if one.panel == panel:
            yield from (replace(one, x=place) for place in places)
        else:
            yield one


def _regrets(numbers: Numbers, name: str, title: str) -> Iterator[Number]:
    """DPSense's error over that at the best θ of the curve: what choosing privately costs."""
    for budget in BUDGETS:
        curve = numbers.curve(panels.curves(name), panels.error_line(budget))
        least = min(one.mean for one in curve.values())
        chosen = numbers.at(panels.over_all("mae", budget), "dpsense", title)
        yield replace(
            chosen, panel=panels.REGRET, line=panels.error_line(budget),
            mean=chosen.mean / least, standard_error=chosen.standard_error / least,
        )  # fmt: skip
