"""Cells that are reached by skipping: their joint law, and hits that are very rare."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from crowdtally.errors import UsageError
from crowdtally.laws.balls import Rate, Real, as_ball
from crowdtally.noise import skip
from crowdtally.noise.geometric import geometric
from crowdtally.noise.skip import hit_blocks, hits, rare_hits
from crowdtally.noise.source import system_words
from kit.draws import Scripted, Seeded
from kit.sampler_checks import SIGNIFICANCE, goodness

# ---- Skip sampling: the joint law of the cells, the ends, huge domains ---------------------------


IRRATIONAL = Real.ball("e^-1", lambda bits: (-as_ball(1)).exp())


def joint_law(p: float, cells: int) -> np.ndarray:
    """Pr of each subset, as a number with one bit per cell."""
    sizes = np.array([mask.bit_count() for mask in range(2**cells)])
    return p**sizes * (1 - p) ** (cells - sizes)


@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(9, 10), IRRATIONAL])
def test_joint_law_of_six_cells(p):
    """10^5 stretches of six neighbouring cells, and runs over six cells with both their ends."""
    chance = math.exp(-1) if isinstance(p, Real) else float(p)
    included = np.zeros(600_000, dtype=np.int64)
    included[hits(p, included.size, system_words())] = 1
    masks = included.reshape(-1, 6) @ (1 << np.arange(6))
    verdict = goodness(np.bincount(masks, minlength=64), joint_law(chance, 6))
    assert verdict.fits, f"stretches: {verdict}"
    runs = [int((1 << hits(p, 6, system_words())).sum()) for _ in range(10_000)]
    verdict = goodness(np.bincount(runs, minlength=64), joint_law(chance, 6))
    assert verdict.fits, f"runs: {verdict}"


def test_a_wrong_probability_is_rejected():
    included = np.zeros(600_000, dtype=np.int64)
    included[hits(Fraction(1, 3) * Fraction(105, 100), included.size, system_words())] = 1
    masks = included.reshape(-1, 6) @ (1 << np.arange(6))
    assert not goodness(np.bincount(masks, minlength=64), joint_law(1 / 3, 6)).fits


def test_the_number_of_hits_is_binomial():
    for p, cells in [(Fraction(1, 1000), 10**6), (Fraction(1, 2), 200_000)]:
        n = hits(p, cells, system_words()).size
        assert stats.binomtest(n, cells, float(p)).pvalue > SIGNIFICANCE


@pytest.mark.parametrize(
    ("p", "cells", "kind"),
    [
        (Fraction(1, 10), 10**6, np.int64),
        (Fraction(1, 10**14), 10**18, np.int64),
        (Fraction(1, 10**15), 2**61 + 1, np.int64),
        (Fraction(1, 10**26), 10**30, object),
        (Fraction(1, 10**400), 10**402, object),
    ],
    ids=["10^6", "10^18", "2^61+1", "10^30", "10^402"],
)
def test_sorted_distinct_and_inside(p, cells, kind):
    found = hits(p, cells, system_words())
    assert found.dtype == kind
    values = found.tolist()
    assert all(a < b for a, b in pairwise(values))
    assert values[0] >= 0
    assert values[-1] < cells
    expected = float(p * cells)
    assert abs(len(values) - expected) < 6 * math.sqrt(expected)
    thirds = np.bincount([int(3 * value // cells) for value in values], minlength=3)
    assert goodness(thirds, np.full(3, 1 / 3)).fits


def test_vector_and_python_walk_agree():
    rate = Rate.of_probability(Fraction(1, 10))
    gaps = geometric(rate, 1000, Seeded(3))
    for cells in (1, 7, 5000, 10**6):
        vector, done = skip._walk(-1, gaps, cells)
        python, done_too = skip._walk_python(-1, gaps, cells)
        assert vector.tolist() == python.tolist()
        assert done == done_too


def test_gaps_that_would_overflow_are_cut_at_the_end():
    cells = 2**61
    huge = np.array([5, 2**63 - 1] + [2**63 - 1] * 60)
    found, done = skip._walk(cells - 10, huge, cells)
    assert (found.tolist(), done) == ([cells - 4], True)
    beyond = np.array([cells - 2, 0, 10**40], dtype=object)
    found, done = skip._walk(-1, beyond, cells)
    assert (found.tolist(), done) == ([cells - 2, cells - 1], True)


def test_a_last_cell_is_a_cell():
    assert skip._walk(-1, np.array([9, 0]), 10)[0].tolist() == [9]
    assert skip._walk(-1, np.array([10, 0]), 10)[0].tolist() == []


def test_blocks_join_seamlessly(monkeypatch):
    """Blocks of 16 gaps: the law at the seams is that of the whole."""
    monkeypatch.setattr(skip, "BLOCK", 16)
    blocks = list(hit_blocks(Fraction(1, 3), 30_000, system_words()))
    assert max(block.size for block in blocks) <= 16
    found = np.concatenate(blocks)
    gaps = np.diff(found, prepend=-1) - 1
    counts = np.bincount(np.minimum(gaps, 10), minlength=11)
    law = np.append((2 / 3) ** np.arange(10) / 3, (2 / 3) ** 10)
    assert goodness(counts, law).fits


@pytest.mark.parametrize("zero", [Fraction(0), Real.exact(0)])
def test_probability_zero(zero):
    assert hits(zero, 10**30, system_words()).size == 0


@pytest.mark.parametrize("one", [Fraction(1), Real.exact(1)])
def test_probability_one(one):
    assert hits(one, 100_000, system_words()).tolist() == list(range(100_000))
    with pytest.raises(UsageError, match="every cell"):
        hits(one, 10**30, system_words())


def test_no_cells():
    for p in (Fraction(0), Fraction(1, 2), Fraction(1)):
        assert hits(p, 0, system_words()).tolist() == []


@pytest.mark.parametrize("p", [Fraction(-1, 2), Fraction(2), 0.5])
def test_what_is_no_probability_is_refused(p):
    with pytest.raises(UsageError):
        hits(p, 10, system_words())


@pytest.mark.parametrize("cells", [-1, 1.0, True])
def test_what_is_no_number_of_cells_is_refused(cells):
    with pytest.raises(UsageError):
        hits(Fraction(1, 2), cells, system_words())


# ---- Hits so rare that their gaps could not be written down --------------------------------------


FEW = Seeded(5).words(50).tolist()
TINY = Real.ball("e^-10^6", lambda bits: (-as_ball(10**6)).exp())


@pytest.mark.parametrize("p", [TINY, Fraction(1, 10**30000)])
def test_nothing_is_found_with_few_words(p):
    for cells in (1, 10**18, 10**40):
        found = hits(p, cells, Scripted(*FEW))
        assert found.size == 0
        assert found.dtype == (np.int64 if cells < 2**63 else object)


@pytest.mark.parametrize("p", [Fraction(1, 3), Real.ball("e^-1", lambda bits: (-as_ball(1)).exp())])
@pytest.mark.parametrize("cells", [1, 4])
def test_halving_has_the_joint_law(p, cells):
    chance = float(p) if isinstance(p, Fraction) else float(np.exp(-1))
    source = Seeded(11)
    masks = [sum(1 << hit for hit in rare_hits(p, cells, source)) for _ in range(2000)]
    sizes = np.array([mask.bit_count() for mask in range(1 << cells)])
    law = chance**sizes * (1 - chance) ** (cells - sizes)
    verdict = goodness(np.bincount(masks, minlength=1 << cells), law)
    assert verdict.fits, verdict


def test_a_hit_is_possible_however_rare():
    """Four words of 0 say that there is a hit; words of one half, that no first half holds it."""
    found = hits(Fraction(1, 2**200), 8, Scripted(*[0] * 4, *[2**63] * 60))
    assert found.tolist() == [7]


def test_hits_come_sorted():
    source = Seeded(12)
    for _ in range(100):
        found = rare_hits(Fraction(1, 2), 9, source)
        assert found == sorted(set(found))
        assert all(0 <= hit < 9 for hit in found)
