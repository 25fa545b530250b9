"""Summaries that leave cells out, against the dense table they were taken from."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from crowdtally.core.counts import Keeping
from crowdtally.inference import mixing
from crowdtally.inference.facts import ItemFacts, Summary
from crowdtally.inference.items import bounded_counts
from crowdtally.inference.mixing import sparse_posterior
from crowdtally.inference.posterior import Noise
from crowdtally.laws.laplace import DiscreteLaplace

LAW = DiscreteLaplace(Fraction(20))
LEVEL = Fraction(19, 20)
SIZE = 5000
RULES = {
    "filter": Keeping(60),
    "one-sided": Keeping(60, sides="one"),
    "threshold": Keeping(0, Fraction(150)),
    "both": Keeping(40, Fraction(200), "one"),
}


def summary(keeping: Keeping, seed: int = 1) -> tuple[np.ndarray, Summary]:
    rng = np.random.default_rng(seed)
    truth = np.rint(np.where(rng.random(SIZE) < 0.1, 150 * rng.pareto(1.5, SIZE), 0))
    values = truth + rng.geometric(1 - np.exp(-1 / 20), SIZE)
    values -= rng.geometric(1 - np.exp(-1 / 20), SIZE)
    weight = np.abs(values) if keeping.sides == "two" else np.maximum(values, 0)
    kept = weight >= keeping.least
    if keeping.samples:
        assert keeping.threshold is not None
        kept &= rng.random(SIZE) < weight / float(keeping.threshold)
    places = np.flatnonzero(kept)
    return truth, Summary(places, values[places].astype(float), LAW, keeping)


@pytest.mark.parametrize("rule", RULES)
def test_missing_cells_are_estimated_by_what_is_left_out(rule):
    truth, found = summary(RULES[rule])
    kept, others = sparse_posterior(found, SIZE, LEVEL)
    missing = np.delete(truth, found.places)
    assert others.mean[0] == pytest.approx(missing.mean(), rel=0.5, abs=1.5)
    assert (missing <= others.high[0]).mean() > 0.94
    assert others.low[0] == 0
    inside = (kept.low <= truth[found.places]) & (truth[found.places] <= kept.high)
    assert inside.mean() > 0.9


def test_kept_noise_is_seen_through():
    truth, found = summary(Keeping(60))
    kept, _ = sparse_posterior(found, SIZE, LEVEL)
    known = truth[found.places]
    assert ((kept.mean - known) ** 2).mean() < 0.9 * ((found.values - known) ** 2).mean()


def test_every_cell_of_a_list_has_an_estimate():
    truth, found = summary(RULES["filter"])
    dense = bounded_counts(ItemFacts(SIZE, summary=found))
    assert dense.mean.sum() == pytest.approx(truth.sum(), rel=0.1)
    missing = np.delete(dense.mean, found.places)
    assert (missing == missing[0]).all()
    assert missing[0] < dense.mean[found.places].mean() / 10


def test_any_number_of_cells():
    _, found = summary(RULES["filter"])
    kept, others = sparse_posterior(found, 10**18, LEVEL)
    assert np.isfinite(kept.mean).all()
    assert others.mean[0] < 1
    nothing = Summary(np.empty(0, dtype=np.int64), np.empty(0), LAW, Keeping(60))
    for size in (10, 10**9):
        kept, others = sparse_posterior(nothing, size, LEVEL)
        assert kept.mean.shape == (0,)
        assert 0 <= others.mean[0] < 60
        assert others.high[0] >= others.median[0] >= others.low[0]


@pytest.mark.parametrize("rule", RULES)
def test_the_chance_of_missing_is_that_of_the_rule(rule):
    keeping = RULES[rule]
    counts = np.array([0.0, 30.0, 100.0])
    found = mixing._missing(Noise(LAW), keeping, counts)
    values = np.arange(-1500, 1500)
    weight = np.abs(values) if keeping.sides == "two" else np.maximum(values, 0)
    kept = (weight >= keeping.least).astype(float)
    if keeping.samples:
        assert keeping.threshold is not None
        kept *= np.minimum(weight / float(keeping.threshold), 1)
    for chance, count in zip(found, counts, strict=True):
        missing = float(LAW.probabilities(values - count) @ (1 - kept))
        assert chance == pytest.approx(missing, rel=0.01)
