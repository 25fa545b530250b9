"""Whether intervals cover what they say, averaged over the cells of simulated releases."""

from __future__ import annotations

import numpy as np
import pytest

from crowdtally.inference.facts import ItemFacts
from crowdtally.inference.items import bounded_counts, estimate_items
from kit.simulated_items import SHAPES, Crowd, crowd, release

TOLERANCE = 0.03


def covered(people: Crowd, releases: int, seed: int) -> tuple[float, float]:
    """The share of bounded counts, and of true ones, inside their intervals of 95%."""
    rng = np.random.default_rng(seed)
    bounded, true = [], []
    for _ in range(releases):
        facts = release(people, rng)
        assert facts.theta is not None
        left, truth = people.rows(facts.theta), people.truth
        alone = bounded_counts(ItemFacts(facts.size, table=facts.table))
        bounded.append(((alone.low <= left) & (left <= alone.high)).mean())
        found = estimate_items(facts)
        true.append(((found.low <= truth) & (truth <= found.high)).mean())
    return float(np.mean(bounded)), float(np.mean(true))


@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_cover_what_they_say(shape):
    people = crowd(shape, np.random.default_rng(10))
    bounded, true = covered(people, 5, 20)
    # 5 releases of 600 cells, one calibration each: less than a point of chance
    assert bounded == pytest.approx(0.95, abs=TOLERANCE)
    assert true == pytest.approx(0.95, abs=TOLERANCE + 0.01)


@pytest.mark.long
@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_cover_what_they_say_over_a_thousand_releases(shape):
    bounded, true = np.mean(
        [
            covered(crowd(shape, np.random.default_rng(100 + seed)), 50, 200 + seed)
            for seed in range(20)
        ],
        axis=0,
    )
    print(f"{shape}: bounded counts {bounded:.3f}, true counts {true:.3f}")
    assert bounded == pytest.approx(0.95, abs=TOLERANCE)
    assert true == pytest.approx(0.95, abs=TOLERANCE)
