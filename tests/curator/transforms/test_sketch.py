"""The count sketch: hashes, buckets, bound."""

from __future__ import annotations

import numpy as np
import pytest

from crowdtally.core.counts import Counts
from crowdtally.core.hierarchy import PRIME, Sketching, _reduced, _times
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.summaries.threshold import filter_summary
from crowdtally.curator.transforms.base import sketch_counts
from crowdtally.errors import UsageError
from crowdtally.noise.draws import SystemDraws
from kit.sampler_checks import goodness


def test_arithmetic_modulo_the_prime():
    rng = np.random.default_rng(1)
    edges = [0, 1, 2**30, 2**31 - 1, 2**31, 2**60 - 1, PRIME - 1]
    values = np.array([*edges, *rng.integers(0, PRIME, 50)], dtype=np.uint64)
    for factor in (*edges, int(rng.integers(0, PRIME))):
        expected = [int(v) * factor % PRIME for v in values]
        assert _times(values, np.uint64(factor)).tolist() == expected
    sums = np.array([0, PRIME, PRIME + 5, 2**63, 2**64 - 1], dtype=np.uint64)
    assert _reduced(sums).tolist() == [int(v) % PRIME for v in sums]


def hashed(sketching: Sketching, number: int, purpose: str, limbs: int) -> int:
    """The definition in Python integers: limbs folded to z, a polynomial of degree 3 in z."""

    def coefficient(name: str) -> int:
        return int(sketching._coefficient(f"{purpose}, {name}"))

    parts = [number >> 60 * place & 2**60 - 1 for place in range(limbs)]
    z = sum(coefficient(f"limb {place}") * x for place, x in enumerate(parts)) % PRIME
    return sum(coefficient(f"power {power}") * z**power for power in range(4)) % PRIME


@pytest.mark.parametrize("cells", [100, 2**62, 10**30])
def test_places_are_those_of_the_definition(cells):
    sketching = Sketching(cells, buckets=7, rows=3, seed=11)
    numbers = [0, 1, cells // 3, cells - 1]
    limbs = -(-(cells - 1).bit_length() // 60)
    for row in range(3):
        kind = np.int64 if cells < 2**63 else object
        bucket, sign = sketching.places(np.array(numbers, dtype=kind), row)
        for place, number in enumerate(numbers):
            assert bucket[place] == hashed(sketching, number, f"bucket {row}", limbs) % 7
            odd = hashed(sketching, number, f"sign {row}", limbs) % 2
            assert sign[place] == (-1 if odd else 1)


def test_four_cells_are_independent_over_seeds():
    """Neighbouring cells, where a straight line modulo a prime is far from it."""
    joint = np.zeros(4**4)
    for seed in range(3000):
        bucket, sign = Sketching(10**13, buckets=2, rows=1, seed=seed).places(np.arange(4), 0)
        code = bucket * 2 + (sign + 1) // 2
        joint[code @ 4 ** np.arange(4)] += 1
    verdict = goodness(joint, np.full(4**4, 4.0**-4))
    assert verdict.fits, verdict


def test_buckets_are_signed_sums():
    rng = np.random.default_rng(2)
    cells = np.unique(rng.integers(0, 10**9, 500))
    values = rng.integers(1, 100, len(cells))
    sketching = Sketching(10**9, buckets=16, rows=3, seed=5)
    found = sketch_counts(Counts(10**9, cells, values, 4), sketching)
    wanted = np.zeros(48, dtype=np.int64)
    for row in range(3):
        for cell, value in zip(cells, values, strict=True):
            bucket, sign = sketching.places(np.array([cell]), row)
            wanted[row * 16 + bucket[0]] += sign[0] * value
    table = np.zeros(48, dtype=np.int64)
    table[found.cells] = found.values
    assert table.tolist() == wanted.tolist()
    assert found.l1_bound == 4 * 3
    assert found.size == 48
    assert found.signed


def test_one_record_changes_one_bucket_of_each_row():
    for rows in (1, 2, 5):
        for cell in (0, 17, 10**20):
            found = sketch_counts(
                Counts(10**20 + 1, [cell], [1], 1), Sketching(10**20 + 1, 3, rows, 0)
            )
            assert np.abs(found.values).sum() == found.l1_bound == rows


def test_only_two_sided():
    counts = sketch_counts(Counts(9, [1], [5], 1), Sketching(9, 4, 1, 0))
    with pytest.raises(UsageError, match="two-sided"):
        filter_summary(counts, Epsilon.of(1), SystemDraws(), cut=1, sides="one")


def test_the_seed_decides_everything():
    cells = np.arange(1000)
    one, same, other = (Sketching(1000, 64, 1, seed) for seed in (1, 1, 2))
    assert one.places(cells, 0)[0].tolist() == same.places(cells, 0)[0].tolist()
    assert one.places(cells, 0)[0].tolist() != other.places(cells, 0)[0].tolist()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0, 4, 1, 0), "cells"),
        ((9, 0, 1, 0), "buckets"),
        ((9, 4, 0, 0), "rows"),
        ((9, 4, 1.0, 0), "rows"),
        ((9, 4, 1, -1), "seed"),
        ((9, 4, 1, None), "seed"),
        ((9, 2**40, 2, 0), "too large"),
    ],
)
def test_sketches_that_are_none(arguments, words):
    with pytest.raises(UsageError, match=words):
        Sketching(*arguments)


def test_a_sketch_of_another_table():
    with pytest.raises(UsageError, match="hashes 8 cells"):
        sketch_counts(Counts(9, [1], [5], 1), Sketching(8, 4, 1, 0))
