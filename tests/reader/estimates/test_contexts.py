"""Contexts of which the totals alone are known."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.reader.estimates.cell_sums import Believed
from crowdtally.reader.estimates.contexts import UNMEASURED, AlikeContexts
from crowdtally.reader.estimates.estimator import LEVEL

ITEMS = np.array([10.0, 5.0])
LAW = DiscreteLaplace(Fraction(9))


def alike(*totals: float) -> AlikeContexts:
    return AlikeContexts.of(Believed(*[ITEMS] * 6), np.array(totals), LAW)


def test_totals_below_nothing_are_held_up() -> None:
    """A context that noise made negative has half of a deviation; shares still add up to 1."""
    found = alike(-40, 60)
    assert found.shares.sum() == pytest.approx(1)
    assert (found.shares > 0).all()
    both = [found.column(np.arange(2) == place, LEVEL).mean for place in range(2)]
    assert both[0] + both[1] == pytest.approx(ITEMS)


def test_each_context_has_its_share_of_every_item() -> None:
    found = alike(3_000, 1_000)
    one = found.column(np.array([True, False]), LEVEL)
    assert one.mean == pytest.approx(0.75 * ITEMS)
    assert (one.low < one.mean).all()
    assert (one.mean < one.high).all()
    beyond = np.sqrt(one.own**2 - (0.75 * ITEMS) ** 2) / one.mean
    assert beyond == pytest.approx(UNMEASURED, rel=0.01)  # and hardly any noise of the totals
    assert found.column(np.array([True, True]), LEVEL) is found.items


def test_the_error_of_a_share_is_that_of_the_noise() -> None:
    rng, true = np.random.default_rng(1), np.array([900.0, 300.0])
    noise = rng.laplace(0, 9, (20_000, 2))
    shares = (true + noise)[:, 0] / (true + noise).sum(axis=1)
    assert alike(*true).shares_error[0] * 0.75 == pytest.approx(float(shares.std()), rel=0.05)
