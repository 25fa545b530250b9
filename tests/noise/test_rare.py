"""Hits so rare that their gaps could not be written down."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from crowdtally.laws.balls import Real, as_ball
from crowdtally.noise.skip import hits, rare_hits
from kit.chisquare import goodness
from kit.words import Scripted, Seeded

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
