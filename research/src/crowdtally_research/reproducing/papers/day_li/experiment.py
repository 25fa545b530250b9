"""The work on one data set, the figures' setting, and Table 2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from crowdtally.lab.comparison.charts import Axis
from crowdtally.lab.comparison.summary import alone
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
)
from crowdtally_research.reproducing.papers.day_li import panels
from crowdtally_research.reproducing.papers.day_li.bench import Bench, bench_on
from crowdtally_research.reproducing.papers.day_li.methods import (
    Comparison,
    curve_numbers,
    full_size_numbers,
    sampling_numbers,
)
from crowdtally_research.reproducing.papers.day_li.panels import BUDGETS

# The whole work on one data set: it is read once for all figures.

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


# What the paper's experiments are made of: six data sets, two ε, six methods.

RUNS = 30
"""As often as the paper runs every algorithm."""
METHODS = ("dpsense", "dpsense-s", "gs", "alpa", "lpa", AUTO)
"""In the order of every figure."""


@dataclass(frozen=True)
class Set:
    name: str
    """Of its look-alike."""
    title: str
    """As the paper calls it."""
    rows: int
    """Users, as Table 2 prints them."""
    columns: int
    """Items, d."""
    most: int
    """Δ_D: the most ones in a row."""
    mean: float
    """ac(D): the average column count."""
    largest: int
    """The largest θ that DPSense-S chooses from: public, about seven times the mean row."""
    scale: str = "1"
    """The share of the rows that the look-alike has."""
    autos: int = RUNS
    sampled: bool = True
    """Whether its rows are sampled, too: of the largest set that takes minutes."""

    @property
    def row_mean(self) -> float:
        """The average row count, by Table 2."""
        return self.mean * self.columns / self.rows


SETS = (
    Set("netflix", "Netflix", 480_189, 17_770, 17_653, 5_654.50, 1_500, autos=5, sampled=False),
    Set("transaction", "Transaction", 515_597, 1_657, 164, 2_031.99, 200),
    Set("movielens-10m", "Movielens", 71_567, 10_681, 7_359, 936.25, 1_000),
    Set("document", "Document", 8_200_000, 141_043, 436, 3_427.68, 400, "0.05", autos=20),
    Set("aol", "AOL", 657_426, 46_176, 27_027, 498.85, 300, autos=20),
    Set("kosarak", "Kosarak", 990_002, 41_270, 2_497, 194.31, 200),
)
"""Table 2 of the paper."""
SMALLER = tuple(one for one in SETS if one.scale != "1")
"""Those of which only a share is made."""


def parts(data: Data, quick: bool) -> Sequence[Part]:
    """One part for each data set: it has the numbers of every figure."""
    return [Part(one.name, measured, _arguments(one, quick), (one.name,)) for one in SETS]


def _arguments(one: Set, quick: bool) -> dict[str, Any]:
    shared = {
        "name": one.name,
        "title": one.title,
        "scale": one.scale,
        "largest": one.largest,
        "sampled": one.sampled,
    }
    if quick:
        return shared | {"runs": 2, "autos": 1, "largest": min(one.largest, 40)}
    return shared | {"runs": RUNS, "autos": one.autos}


# Table 2: the data sets.

PAPER = "paper"
_COLUMNS = {
    "rows": ("Rows", "users"),
    "columns": ("Columns, d", "items"),
    "most": ("Δ_D, the most ones in a row", "items of one user"),
    "mean": ("ac(D), the average column count", "users of an item"),
}


def printed(given: Given) -> Sequence[Number]:
    return [
        Number(panels.table(column), PAPER, one.title, float(getattr(one, column)))
        for one in SETS
        for column in _COLUMNS
    ]


def _parts(data: Data, quick: bool) -> Sequence[Part]:
    return [Part("table2", printed), *parts(data, quick)]


def made(numbers: Numbers) -> Judged:
    """How far the look-alikes are from the printed numbers: they were made after them."""
    off = []
    for one in SETS:
        for column, (words, _) in _COLUMNS.items():
            ours = numbers.mean(panels.table(column), OURS, one.title)
            theirs = getattr(one, column)
            if round(ours, 2) != theirs:
                off.append(f"{one.title}, {words}: {alone(ours)} instead of {alone(theirs)}")
    differing = f"all but these are the same: {'; '.join(off)}" if off else "all are the same"
    return Judged(
        "cannot be checked",
        f"the files are not at hand. The look-alikes were made with these numbers; {differing}.",
    )


FIGURE = Figure(
    "table2",
    "Properties of the data sets",
    "Rows, columns, the longest row and the average column count of the six data sets.",
    "The look-alikes have the printed numbers; Document has a twentieth of its rows.",
    tuple(
        Panel(panels.table(column), title, Axis("data set", False), Axis(unit, True), is_bars=True)
        for column, (title, unit) in _COLUMNS.items()
    ),
    (
        Claim(
            "Netflix has 480,189 rows, 17,770 columns, Δ_D = 17,653 and ac(D) = 5,654.50; and so "
            "on for the others.",
            made,
        ),
    ),
    _parts,
    (
        "No method is compared here, so there is no line of auto.",
        "Document at its full size has 483 million ones: more than this time and memory are for.",
    ),
)
