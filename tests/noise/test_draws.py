"""The seam: one object, replaceable primitives."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from crowdtally.laws.balls import Rate
from crowdtally.noise.draws import Draws, SystemDraws
from crowdtally.noise.exponential import choose
from crowdtally.noise.geometric import discrete_laplace, geometric
from crowdtally.noise.skip import hits
from kit.words import Seeded


def test_each_method_is_the_sampler_over_its_source():
    x = Fraction(1, 10)
    for method, expected in [
        (lambda d: d.geometric(x, 5), geometric(x, 5, Seeded(4))),
        (lambda d: d.laplace(1 / x, 5), discrete_laplace(1 / x, 5, Seeded(4))),
        (lambda d: d.hits(x, 100), hits(x, 100, Seeded(4))),
        (lambda d: [d.choose([1, 2, 3], x)], np.array([choose([1, 2, 3], x, Seeded(4))])),
    ]:
        assert list(method(SystemDraws(Seeded(4)))) == expected.tolist()


def test_the_default_source_is_the_systems():
    draws: Draws = SystemDraws()
    assert draws.geometric(Rate.of_probability(Fraction(1, 2)), 4).size == 4
    assert draws.bernoulli(Fraction(1, 3), 9).dtype == np.bool_
    assert draws.bernoulli_each(np.array([1]), np.array([1])).all()
    assert draws.choose([1], Fraction(1)) == 0
    assert draws.uniforms_below(np.array([1, 1])).tolist() == [0, 0]


def test_replacing_geometric_replaces_laplace():
    class Counting(SystemDraws):
        asked: list[tuple[Fraction, int]]

        def geometric(self, rate, size):
            self.asked.append((rate, size))
            return np.full(size, 10 if len(self.asked) % 2 else 3)

    draws = Counting()
    draws.asked = []
    assert draws.laplace(Fraction(5, 2), 4).tolist() == [7, 7, 7, 7]
    assert draws.asked == [(Fraction(2, 5), 4)] * 2


def test_no_draw_takes_a_seed():
    with pytest.raises(TypeError):
        SystemDraws(seed=1)
