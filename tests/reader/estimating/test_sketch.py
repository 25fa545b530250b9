"""Answers from a count sketch."""

from __future__ import annotations

import numpy as np
import pytest

from crowdtally.core.counts import Counts
from crowdtally.core.hierarchy import Sketching
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.summaries.threshold import filter_summary
from crowdtally.curator.transforms.base import sketch_counts
from crowdtally.errors import UsageError
from crowdtally.noise.draws import SystemDraws
from crowdtally.reader.estimates.cell_sums import sketch_sum
from kit.words import Seeded

RNG = np.random.default_rng(1)
CELLS = np.unique(RNG.integers(0, 10**12, 200))
VALUES = RNG.integers(50, 150, len(CELLS))
COUNTS = Counts(10**12, CELLS, VALUES, 1)


def buckets(sketching: Sketching) -> np.ndarray:
    found = sketch_counts(COUNTS, sketching)
    table = np.zeros(sketching.size)
    table[found.cells] = found.values
    return table


def test_without_collisions_and_noise_counts_are_exact():
    sketching = Sketching(10**12, buckets=10**6, rows=3, seed=2)
    table = buckets(sketching)
    for place in (0, 57, 199):
        assert sketch_sum(table, CELLS[place : place + 1], sketching).value == VALUES[place]
    assert sketch_sum(table, CELLS, sketching).value == VALUES.sum()
    assert sketch_sum(table, np.array([12345]), sketching).value == 0


@pytest.mark.parametrize("rows", [1, 3])
def test_it_is_unbiased_and_its_error_is_as_said(rows):
    """Over seeds and noise: one occupied cell and one empty one, and a subset of fifty."""
    wanted = [CELLS[:1], np.array([7]), CELLS[:50]]
    truth = [int(VALUES[0]), 0, int(VALUES[:50].sum())]
    errors, said = [], []
    for seed in range(150):
        sketching = Sketching(10**12, buckets=64, rows=rows, seed=seed)
        counts = sketch_counts(COUNTS, sketching)
        table = filter_summary(counts, Epsilon.of("0.5"), SystemDraws(Seeded(seed)), cut=0).values
        found = [sketch_sum(table, cells, sketching) for cells in wanted]
        errors.append([f.value - t for f, t in zip(found, truth, strict=True)])
        said.append([f.standard_error for f in found])
    spread = np.std(errors, axis=0)
    assert (np.abs(np.mean(errors, axis=0)) < 6 * spread / 150**0.5).all()
    ratio = spread / np.mean(said, axis=0)
    assert (ratio > 0.6).all()
    assert (ratio < 1.3).all()


def test_cells_beyond_64_bits():
    cells = np.array([3, 10**25], dtype=object)
    sketching = Sketching(10**26, buckets=1000, rows=2, seed=1)
    found = sketch_counts(Counts(10**26, cells, [5, 7], 1), sketching)
    table = np.zeros(2000)
    table[found.cells] = found.values
    assert sketch_sum(table, cells[1:], sketching).value == 7


def test_what_is_refused():
    sketching = Sketching(10, 4, 2, 0)
    with pytest.raises(UsageError, match="8 buckets"):
        sketch_sum(np.zeros(7), np.array([1]), sketching)
