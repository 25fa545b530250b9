"""Statistics of sparse summaries: the joint law of the short cut, and what sums over cells say."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from crowdtally.core.counts import Counts, Keeping
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.summaries.base import Summary
from crowdtally.curator.summaries.priority import prioritised
from crowdtally.curator.summaries.sparse import draw_sample
from crowdtally.curator.summaries.threshold import filter_summary
from crowdtally.laws.floors import empty_cell
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.noise.draws import SystemDraws
from kit import summaries
from kit.draws import Seeded
from kit.exact import laplace
from kit.sampler_checks import Verdict, two_samples
from kit.summaries import (
    DROPPED,
    RULES,
    named,
    priority_summary,
    sampled,
    sum_of,
    threshold_summary,
    told_by,
)

# ---- The joint law of the short cut against the laborious method: two samples of 10^5 tables
#      each
#
# Cells are independent, so one run over 10^5 copies of a table of four cells, side by side, is
# 10^5 independent runs over that table.


RUNS = 100_000
TABLE = [0, 0, 2, 6]
SCALE = Fraction(2)
EPSILON, L = Epsilon.of(1), 2
BINS = 400


def side_by_side(runs: int) -> Counts:
    table = np.tile(TABLE, runs)
    cells = np.flatnonzero(table)
    return Counts(table.size, cells, table[cells], L)


def publish(rule: Keeping, runs: int, draws: SystemDraws) -> Summary:
    counts = side_by_side(runs)
    if rule.threshold is None:
        return filter_summary(counts, EPSILON, draws, cut=rule.cut, sides=rule.sides)
    return threshold_summary(
        counts, EPSILON, draws, threshold=rule.threshold, cut=rule.cut, sides=rule.sides
    )


def spread(summary: Summary, runs: int) -> np.ndarray:
    table = np.full(runs * len(TABLE), DROPPED)
    table[summary.cells] = summary.values
    return table.reshape(runs, -1)


def verdicts(short: np.ndarray, long: np.ndarray) -> list[Verdict]:
    """All four cells jointly; and each count alone, which sees small changes better."""
    joint = two_samples(summaries.codes(short), summaries.codes(long), bins=BINS)
    alone = [[0, 1], [2], [3]]  # columns of equal counts
    return [joint] + [
        two_samples(
            *(summaries.codes(side[:, columns].reshape(-1, 1)) for side in (short, long)), BINS
        )
        for columns in alone
    ]


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_filters_and_threshold_samples(rule):
    seed = RULES.index(rule)
    short = spread(publish(rule, RUNS, SystemDraws(Seeded(seed))), RUNS)
    long = summaries.draw(TABLE, SCALE, rule, RUNS, np.random.default_rng(1000 + seed))
    for verdict in verdicts(short, long):
        assert verdict.df > 2
        assert verdict.fits, verdict


@pytest.mark.parametrize("change", ["scale", "cut", "threshold", "sides"])
def test_the_comparison_sees_a_small_change(change):
    rule = Keeping(1, Fraction(7, 2))
    wrong = {
        "cut": replace(rule, cut=2),
        "threshold": replace(rule, threshold=Fraction(15, 4)),
        "sides": replace(rule, sides="one"),
        "scale": rule,
    }[change]
    scale = SCALE * Fraction(26, 25) if change == "scale" else SCALE
    short = spread(publish(rule, RUNS, SystemDraws(Seeded(50))), RUNS)
    long = summaries.draw(TABLE, scale, wrong, RUNS, np.random.default_rng(2000))
    assert not all(verdict.fits for verdict in verdicts(short, long))


def priority_codes(kept: np.ndarray, limit: np.ndarray, tau: Fraction) -> np.ndarray:
    """The published table together with τ_S, in eighths of an octave, or τ itself."""
    octaves = np.where(
        limit > float(tau), 1 + np.floor(8 * np.log2(limit / float(tau))).clip(0, 40), 0
    ).astype(np.int64)
    return octaves * 18**4 + summaries.codes(kept, most=8)


def short_priorities(
    cut: int, tau: Fraction, sides: str, size: int, runs: int, seed: int
) -> np.ndarray:
    """One threshold sample for all runs, then each run's own priorities."""
    draws = SystemDraws(Seeded(seed))
    whole = publish(Keeping(cut, tau, sides), runs, draws)
    ends = np.searchsorted(whole.cells, np.arange(runs + 1) * len(TABLE))
    kept = np.full((runs, len(TABLE)), DROPPED)
    limit = np.empty(runs)
    for run in range(runs):
        part = slice(ends[run], ends[run + 1])
        one = replace(whole, cells=whole.cells[part] % len(TABLE), values=whole.values[part])
        found = prioritised(one, size, draws)
        kept[run, found.cells] = found.values
        limit[run] = float(found.threshold)
    return priority_codes(kept, limit, tau)


def long_priorities(
    cut: int, tau: Fraction, sides: str, size: int, runs: int, seed: int
) -> np.ndarray:
    rng = np.random.default_rng(seed)
    noisy = summaries.draw(TABLE, SCALE, Keeping(max(cut, 1), None, sides), runs, rng)
    kept, limit = summaries.prioritise(noisy, size, tau, rng)
    return priority_codes(kept, limit, tau)


def compare_priorities(cut: int, tau: str, sides: str, size: int, runs: int) -> None:
    short, long = (
        draw(cut, Fraction(tau), sides, size, runs, seed)
        for seed, draw in ((3, short_priorities), (4, long_priorities))
    )
    verdict = two_samples(short, long, bins=BINS)
    assert verdict.df > 20
    assert verdict.fits, verdict


@pytest.mark.parametrize(
    ("cut", "tau", "sides", "size"),
    [(0, "7/2", "two", 1), (0, "2", "one", 2), (1, "19/3", "two", 2), (5, "4", "one", 1)],
)
def test_priority_samples(cut, tau, sides, size):
    compare_priorities(cut, tau, sides, size, 15_000)


@pytest.mark.long
@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("tau", ["3", "7/2"])
@pytest.mark.parametrize("cut", [0, 1, 5])
@pytest.mark.parametrize("sides", ["one", "two"])
def test_priority_samples_at_length(cut, tau, sides, size):
    compare_priorities(cut, tau, sides, size, RUNS)


def test_the_comparison_of_priorities_sees_a_wrong_law():
    """Priorities from r uniform on (0, 1] for a cell that was already sampled: counted twice."""
    tau, runs = Fraction(8), 15_000
    right = long_priorities(0, tau, "two", 1, runs, 4)
    rng = np.random.default_rng(5)
    sampled = summaries.draw(TABLE, SCALE, Keeping(0, tau), runs, rng)
    twice = priority_codes(*summaries.prioritise(sampled, 1, tau, rng), tau)
    assert not two_samples(twice, right, bins=BINS).fits


# ---- Sums over subsets are unbiased for what they say, and their errors are as large as they
#      say
#
# One run over many copies of a table, side by side, is many independent runs
# (``test_sparse_joint``).


SCALE_SUMS = Fraction(3)
TABLE_SUMS = np.array([0] * 12 + [1, 2, 5, 9, 14, 20, 33, 60])
RUNS_SUMS = 4000
RULES_SUMS = [
    Keeping(cut, None if tau is None else Fraction(tau), sides)
    for sides in ("two", "one")
    for cut, tau in [(0, None), (4, None), (0, "15/2"), (0, "40"), (4, "15/2"), (4, "40")]
    if sides == "two" or cut or tau
]


def target(rule: Keeping) -> float:
    """The expected sum of the filtered noisy table, from the definition."""
    plain = replace(rule, threshold=None)
    if rule.cut == 0 and rule.sides == "two":
        return float(TABLE_SUMS.sum())
    values = range(-100, 200)
    return sum(
        laplace(SCALE_SUMS, v - int(c)) * v
        for c in TABLE_SUMS
        for v in values
        if v > 0 or rule.sides == "two"
        if summaries.chance(v, replace(plain, cut=max(plain.cut, 1)))
    )


def rows(rule: Keeping, seed: int) -> list[np.ndarray]:
    """The published values of each run's table."""
    table = np.tile(TABLE_SUMS, RUNS_SUMS)
    cells = np.flatnonzero(table)
    counts = Counts(table.size, cells, table[cells], 3)
    cells, values = draw_sample(
        counts, DiscreteLaplace(SCALE_SUMS), rule, SystemDraws(Seeded(seed))
    )
    ends = np.searchsorted(cells, np.arange(RUNS_SUMS + 1) * len(TABLE_SUMS))
    return [values[a:b] for a, b in pairwise(ends)]


@pytest.mark.parametrize("rule", RULES_SUMS, ids=str)
def test_sums_are_unbiased_for_what_they_say(rule):
    how = sampled(rule, SCALE_SUMS)
    found = [sum_of(values, len(TABLE_SUMS), how) for values in rows(rule, 1)]
    sums = np.array([estimate.value for estimate in found])
    error = sums.std() / RUNS_SUMS**0.5
    assert abs(sums.mean() - target(rule)) < 5 * error
    if rule.threshold == 40:  # the mutant: values as they are
        raw = np.array([values.sum() for values in rows(rule, 1)])
        assert abs(raw.mean() - target(rule)) > 5 * error
    said = np.sqrt(np.mean([estimate.standard_error**2 for estimate in found]))
    # The noise of a clipped or cut cell is counted in full: the error is said to be rather larger.
    plain = rule.sides == "two" and not rule.cut
    assert (0.95 if plain else 0.7) < sums.std() / said < (1.05 if plain else 1.35)


def test_empty_tables_have_the_error_that_is_foretold():
    for rule in RULES_SUMS:
        cell = empty_cell(SCALE_SUMS, rule)
        counts = Counts(40 * RUNS_SUMS, [], [], 3)
        cells, values = draw_sample(
            counts, DiscreteLaplace(SCALE_SUMS), rule, SystemDraws(Seeded(2))
        )
        sums = np.bincount(
            cells // 40, weights=sampled(rule, SCALE_SUMS).adjusted(values), minlength=RUNS_SUMS
        )
        assert abs(sums.mean() - 40 * cell.mean) < 5 * (40 * cell.variance / RUNS_SUMS) ** 0.5
        assert sums.var() == pytest.approx(40 * cell.variance, rel=0.1)


@pytest.mark.parametrize("sides", ["one", "two"])
@pytest.mark.parametrize("cut", [0, 4])
@pytest.mark.parametrize("size", [3, 6])
def test_priority_samples_are_unbiased_also_where_they_fall_short(cut, sides, size):
    runs = 3000
    draws = SystemDraws(Seeded(3))
    table = np.tile(TABLE_SUMS, runs)
    cells = np.flatnonzero(table)
    whole = threshold_summary(
        Counts(table.size, cells, table[cells], 3), Epsilon.of(1), draws,
        threshold=Fraction(23, 2), cut=cut, sides=sides,
    )  # fmt: skip
    ends = np.searchsorted(whole.cells, np.arange(runs + 1) * len(TABLE_SUMS))
    sums, said, short = [], [], 0
    for a, b in pairwise(ends):
        part = replace(whole, cells=whole.cells[a:b], values=whole.values[a:b])
        found = prioritised(part, size, draws)
        how = sampled(replace(found.keeping, threshold=found.threshold), SCALE_SUMS)
        sums.append(how.adjusted(found.values).sum())
        if len(said) < 250:
            said.append(sum_of(found.values, len(TABLE_SUMS), how).standard_error)
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
