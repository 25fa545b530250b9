"""The joint law of the short cut against the laborious method: two samples of 10^5 tables each.

Cells are independent, so one run over 10^5 copies of a table of four cells, side by side, is 10^5
independent runs over that table.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from crowdtally.core.counts import Counts, Keeping
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.summaries.base import Summary
from crowdtally.curator.summaries.priority import prioritised
from crowdtally.curator.summaries.threshold import filter_summary, threshold_summary
from crowdtally.noise.draws import SystemDraws
from kit import laborious
from kit.chisquare import Verdict, two_samples
from kit.laborious import DROPPED
from kit.sparse_cases import RULES, named
from kit.words import Seeded

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
    joint = two_samples(laborious.codes(short), laborious.codes(long), bins=BINS)
    alone = [[0, 1], [2], [3]]  # columns of equal counts
    return [joint] + [
        two_samples(
            *(laborious.codes(side[:, columns].reshape(-1, 1)) for side in (short, long)), BINS
        )
        for columns in alone
    ]


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_filters_and_threshold_samples(rule):
    seed = RULES.index(rule)
    short = spread(publish(rule, RUNS, SystemDraws(Seeded(seed))), RUNS)
    long = laborious.draw(TABLE, SCALE, rule, RUNS, np.random.default_rng(1000 + seed))
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
    long = laborious.draw(TABLE, scale, wrong, RUNS, np.random.default_rng(2000))
    assert not all(verdict.fits for verdict in verdicts(short, long))


def priority_codes(kept: np.ndarray, limit: np.ndarray, tau: Fraction) -> np.ndarray:
    """The published table together with τ_S, in eighths of an octave, or τ itself."""
    octaves = np.where(
        limit > float(tau), 1 + np.floor(8 * np.log2(limit / float(tau))).clip(0, 40), 0
    ).astype(np.int64)
    return octaves * 18**4 + laborious.codes(kept, most=8)


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
    noisy = laborious.draw(TABLE, SCALE, Keeping(max(cut, 1), None, sides), runs, rng)
    kept, limit = laborious.prioritise(noisy, size, tau, rng)
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
    sampled = laborious.draw(TABLE, SCALE, Keeping(0, tau), runs, rng)
    twice = priority_codes(*laborious.prioritise(sampled, 1, tau, rng), tau)
    assert not two_samples(twice, right, bins=BINS).fits
