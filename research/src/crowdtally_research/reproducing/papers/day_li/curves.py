"""Figure 1's numbers: the error of DPSense at given θ, beside what its quality function says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from crowdtally.curator.bounding.dpsense import DPSense
from crowdtally.curator.choosing.dpsense import DPSenseChoice
from crowdtally.curator.choosing.rows import RowSums
from crowdtally.lab.metrics import mae
from crowdtally_research.lookalikes.shapes import SHAPES
from crowdtally_research.lookalikes.sizes import records_per_user
from crowdtally_research.lookalikes.statistics import statistics_of
from crowdtally_research.reproducing.numbers import Number
from crowdtally_research.reproducing.papers.day_li import panels
from crowdtally_research.reproducing.papers.day_li.bench import Bench
from crowdtally_research.reproducing.papers.day_li.budgets import BUDGETS, Budget
from crowdtally_research.reproducing.papers.day_li.dpsense import Scaling, best

_TIMES = (0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8, 10)
"""θ over the mean row count."""


def thetas(bench: Bench, scalings: Sequence[Scaling]) -> list[int]:
    """The places of the curves: multiples of the mean row count, and where the quality is best."""
    mean = bench.rows.row_mean
    every = {max(1, round(mean * times)) for times in _TIMES}
    every |= {one.best for one in scalings}
    return sorted(theta for theta in every if theta <= bench.domain.size)


def curve_numbers(bench: Bench, name: str, title: str, runs: int) -> Iterator[Number]:
    """All curves of one data set, and where each has its optimum."""
    scalings = [Scaling.of(bench, budget.epsilon) for budget in BUDGETS]
    places = thetas(bench, scalings)
    half = bench.rows.column_mean / 2
    for budget, scaling in zip(BUDGETS, scalings, strict=True):
        qualities = {theta: scaling.quality(theta) for theta in places}
        line = panels.quality_line(budget)
        for theta, value in qualities.items():
            yield Number(panels.curves(name), line, theta, value)
        yield from _errors(scaling, budget, qualities, name, title, runs)
        yield Number(panels.OPTIMUM, line, title, scaling.best / bench.rows.row_mean)
    for theta in places:
        yield Number(panels.averages(name), panels.HALF, theta, half)


def _errors(
    scaling: Scaling, budget: Budget, qualities: dict[int, float], name: str, title: str, runs: int
) -> Iterator[Number]:
    """The measured curve, what it averages to with the quality, and how far that is from half."""
    error, average = panels.error_line(budget), panels.average_line(budget)
    rows = scaling.bench.rows
    found: dict[int, float] = {}
    gaps: dict[str, list[float]] = {panels.GAP: [], panels.GAP_KEPT: []}
    for theta, quality in qualities.items():
        cut, kept = _measured(scaling, theta, runs)
        found[theta] = float(np.mean(cut))
        yield Number.over(panels.curves(name), error, theta, cut)
        both = [(quality + one) / 2 for one in cut]
        yield Number.over(panels.averages(name), average, theta, both)
        for panel, values in ((panels.GAP, cut), (panels.GAP_KEPT, kept)):
            gap = (quality + float(np.mean(values)) - rows.column_mean) / 2
            gaps[panel].append(100 * abs(gap) / rows.column_mean)
    for panel, each in gaps.items():
        yield Number(panel, average, title, float(np.mean(each)))
    least = min(found, key=found.__getitem__)
    yield Number(panels.OPTIMUM, error, title, least / rows.row_mean)


def _measured(scaling: Scaling, theta: int, runs: int) -> tuple[list[float], list[float]]:
    """The errors of runs with negative counts set to 0, as Algorithm 1 does, and kept."""
    rule, truth = DPSense(theta), scaling.bench.rows.truth
    counts = scaling.bench.rows.scaled(rule)
    cut, kept = [], []
    for _ in range(runs):
        estimate = scaling.published(rule, counts)
        kept.append(mae(truth, estimate))
        cut.append(mae(truth, np.maximum(estimate, 0)))
    return cut, kept


def full_size_numbers(name: str, title: str) -> Iterator[Number]:
    """Where the quality is best at the full size of a data set that was made smaller.

    Equation 3 needs the lengths of the rows alone.
    """
    numbers = statistics_of(name)
    lengths = records_per_user(
        numbers.users, numbers.records, fewest=numbers.fewest, most=numbers.most,
        spread=SHAPES[name].spread,
    )  # fmt: skip
    sums = RowSums(*(one.astype(np.int64) for one in np.unique(lengths, return_counts=True)))
    for budget in BUDGETS:
        spent, kept = budget.epsilon * Fraction(1, 10), budget.epsilon * Fraction(9, 10)
        choice = DPSenseChoice(numbers.items, numbers.items, spent, kept)
        optimum = best(choice.scores(sums)) / numbers.mean
        place = f"{title}{panels.FULL}"
        yield Number(panels.OPTIMUM, panels.quality_line(budget), place, optimum)
