"""Sums over subsets are unbiased for what they say, and their errors are as large as they say.

One run over many copies of a table, side by side, is many independent runs (``test_sparse_joint``).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from crowdtally.core.counts import Counts, Keeping
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.summaries.priority import prioritised, priority_summary
from crowdtally.curator.summaries.sparse import draw_sample
from crowdtally.curator.summaries.threshold import threshold_summary
from crowdtally.laws.floors import empty_cell
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.noise.draws import SystemDraws
from kit import laborious
from kit.enumerated import laplace
from kit.sums import sampled, sum_of, told_by
from kit.words import Seeded

SCALE = Fraction(3)
TABLE = np.array([0] * 12 + [1, 2, 5, 9, 14, 20, 33, 60])
RUNS = 4000
RULES = [
    Keeping(cut, None if tau is None else Fraction(tau), sides)
    for sides in ("two", "one")
    for cut, tau in [(0, None), (4, None), (0, "15/2"), (0, "40"), (4, "15/2"), (4, "40")]
    if sides == "two" or cut or tau
]


def target(rule: Keeping) -> float:
    """The expected sum of the filtered noisy table, from the definition."""
    plain = replace(rule, threshold=None)
    if rule.cut == 0 and rule.sides == "two":
        return float(TABLE.sum())
    values = range(-100, 200)
    return sum(
        laplace(SCALE, v - int(c)) * v
        for c in TABLE
        for v in values
        if v > 0 or rule.sides == "two"
        if laborious.chance(v, replace(plain, cut=max(plain.cut, 1)))
    )


def rows(rule: Keeping, seed: int) -> list[np.ndarray]:
    """The published values of each run's table."""
    table = np.tile(TABLE, RUNS)
    cells = np.flatnonzero(table)
    counts = Counts(table.size, cells, table[cells], 3)
    cells, values = draw_sample(counts, DiscreteLaplace(SCALE), rule, SystemDraws(Seeded(seed)))
    ends = np.searchsorted(cells, np.arange(RUNS + 1) * len(TABLE))
    return [values[a:b] for a, b in pairwise(ends)]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_sums_are_unbiased_for_what_they_say(rule):
    how = sampled(rule, SCALE)
    found = [sum_of(values, len(TABLE), how) for values in rows(rule, 1)]
    sums = np.array([estimate.value for estimate in found])
    error = sums.std() / RUNS**0.5
    assert abs(sums.mean() - target(rule)) < 5 * error
    if rule.threshold == 40:  # the mutant: values as they are
        raw = np.array([values.sum() for values in rows(rule, 1)])
        assert abs(raw.mean() - target(rule)) > 5 * error
    said = np.sqrt(np.mean([estimate.standard_error**2 for estimate in found]))
    # The noise of a clipped or cut cell is counted in full: the error is said to be rather larger.
    plain = rule.sides == "two" and not rule.cut
    assert (0.95 if plain else 0.7) < sums.std() / said < (1.05 if plain else 1.35)


def test_empty_tables_have_the_error_that_is_foretold():
    for rule in RULES:
        cell = empty_cell(SCALE, rule)
        counts = Counts(40 * RUNS, [], [], 3)
        cells, values = draw_sample(counts, DiscreteLaplace(SCALE), rule, SystemDraws(Seeded(2)))
        sums = np.bincount(
            cells // 40, weights=sampled(rule, SCALE).adjusted(values), minlength=RUNS
        )
        assert abs(sums.mean() - 40 * cell.mean) < 5 * (40 * cell.variance / RUNS) ** 0.5
        assert sums.var() == pytest.approx(40 * cell.variance, rel=0.1)


@pytest.mark.parametrize("sides", ["one", "two"])
@pytest.mark.parametrize("cut", [0, 4])
@pytest.mark.parametrize("size", [3, 6])
def test_priority_samples_are_unbiased_also_where_they_fall_short(cut, sides, size):
    runs = 3000
    draws = SystemDraws(Seeded(3))
    table = np.tile(TABLE, runs)
    cells = np.flatnonzero(table)
    whole = threshold_summary(
        Counts(table.size, cells, table[cells], 3), Epsilon.of(1), draws,
        threshold=Fraction(23, 2), cut=cut, sides=sides,
    )  # fmt: skip
    ends = np.searchsorted(whole.cells, np.arange(runs + 1) * len(TABLE))
    sums, said, short = [], [], 0
    for a, b in pairwise(ends):
        part = replace(whole, cells=whole.cells[a:b], values=whole.values[a:b])
        found = prioritised(part, size, draws)
        how = sampled(replace(found.keeping, threshold=found.threshold), SCALE)
        sums.append(how.adjusted(found.values).sum())
        if len(said) < 250:
            said.append(sum_of(found.values, len(TABLE), how).standard_error)
        short += found.short
    assert (short > runs // 100) == (size == 6)
    wanted = target(Keeping(cut, None, sides) if cut or sides == "two" else Keeping(1, None, "one"))
    assert abs(np.mean(sums) - wanted) < 5 * np.std(sums) / runs**0.5
    if size == 6:  # of three the errors' errors are too large to compare
        assert 0.7 < np.std(sums) / np.sqrt(np.mean(np.square(said))) < 1.4


def test_subsets_of_a_large_priority_sample():
    """Nine of ten cells hold nobody; the subset takes every third cell."""
    rng = np.random.default_rng(4)
    size = 30_000
    cells = np.sort(rng.choice(size, 3000, replace=False))
    values = rng.integers(20, 200, 3000)
    counts = Counts(size, cells, values, 1)
    truth = values[cells % 3 == 0].sum()
    misses = []
    for seed in range(60):
        found = priority_summary(counts, Epsilon.of("0.5"), SystemDraws(Seeded(seed)), size=3000)
        estimate = sum_of(found.values[found.cells % 3 == 0], size // 3, told_by(found))
        misses.append((estimate.value - truth) / estimate.standard_error)
    assert abs(np.mean(misses)) < 5 / 60**0.5
    assert 0.7 < np.std(misses) < 1.35
