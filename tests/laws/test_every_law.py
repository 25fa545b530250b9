"""What every registered law must answer: one example of each, and whoever asks it.

A law that is added to the registry without an example here fails the first test.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import sqrt

import numpy as np
import pytest

from crowdtally.core.counts import Keeping
from crowdtally.inference.posterior import Noise
from crowdtally.laws import registry
from crowdtally.laws.base import Combination, NoiseLaw, Terms
from crowdtally.laws.cumulants import cumulants
from crowdtally.laws.gaussian import GaussianNoise
from crowdtally.laws.interval import IntervalNoise
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.laws.registry import fault_of, law_of
from crowdtally.noise.draws import SystemDraws
from kit.draws import Seeded

LAWS: list[NoiseLaw] = [
    DiscreteLaplace(Fraction(7, 2)),
    DiscreteLaplace(Fraction(40), Fraction(1, 4)),
    IntervalNoise(Fraction(1, 2), 6),
    IntervalNoise(Fraction(1, 3), 6, 1),
    GaussianNoise(Fraction(1, 3)),
    GaussianNoise(Fraction(101, 2), Fraction(1, 4)),
]
LEVEL = Fraction(19, 20)
DRAWS = 2000
every_law = pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law.kind}, {law.std():.3g}")


def probabilities(law: NoiseLaw) -> tuple[np.ndarray, np.ndarray]:
    reach = int(40 * law.std() / float(law.unit)) + 20
    values = np.arange(-reach, reach + 1)
    return values, np.exp(law.log_probabilities(values))


@cache
def drawn(law: NoiseLaw) -> np.ndarray:
    """Draws of six cells each, as counts."""
    draws = SystemDraws(Seeded(9))
    found = np.array([law.draw(draws, 6) for _ in range(DRAWS)], dtype=np.float64)
    return found * float(law.unit)


def test_every_registered_law_has_an_example() -> None:
    assert {type(law) for law in LAWS} == set(registry._LAWS)
    assert len({law.words for law in registry._LAWS}) == len(registry._LAWS)
    assert len({law.kind for law in registry._LAWS}) == len(registry._LAWS)


@every_law
def test_release_json_makes_it_again(law: NoiseLaw) -> None:
    told = law.to_json()
    assert fault_of(told) is None
    assert law_of(told) == law
    assert all(isinstance(value, str | int) for value in told.values()), "no float is exact"


@every_law
def test_cells_are_correlated_only_where_they_are_drawn_together(law: NoiseLaw) -> None:
    apart = law.std() * sqrt(2)
    assert (law.std(Combination.of_cells(2)) > 1.01 * apart) == law.drawn_together
    assert (law.bounded_by == "cell") == law.per_cell
    assert law.blocks == 1


@every_law
def test_probabilities_deviation_tail_and_interval_agree(law: NoiseLaw) -> None:
    values, chances = probabilities(law)
    assert chances.sum() == pytest.approx(1, abs=1e-6)
    assert np.allclose(chances, chances[::-1])
    spread = sqrt((chances * values.astype(float) ** 2).sum()) * float(law.unit)
    assert law.std() == pytest.approx(spread, rel=1e-4)
    width = law.half_width(LEVEL)
    assert law.tail(width) <= 0.05 + 1e-9
    assert width == 0 or law.tail(width - 1) > 0.05 - 1e-9
    assert law.tail(width) == pytest.approx(chances[np.abs(values) > width].sum(), rel=1e-3)


@every_law
def test_sums_of_cells_by_draws(law: NoiseLaw) -> None:
    """Deviation and interval of a sum of three cells, and of one."""
    found = drawn(law)
    for cells in (1, 3):
        sums = found[:, :cells].sum(axis=1)
        of = Combination(float(cells), float(cells), float(cells) ** 2)
        assert sums.std() == pytest.approx(law.std(of), rel=0.1)
        width = law.half_width(LEVEL, cells) * float(law.unit)
        assert (np.abs(sums) <= width + 1e-9).mean() >= 0.95 - 5 * sqrt(0.05 * 0.95 / DRAWS)
        assert law.reach(LEVEL, of) >= law.half_width(LEVEL, cells)
    assert law.reach(LEVEL, Combination(0.5, 0.5)) > 0


@every_law
def test_the_floor_by_draws(law: NoiseLaw) -> None:
    """The largest of six cells passes it seldom enough."""
    found = drawn(law).max(axis=1)
    floor = law.floor(6, independent=law.kind != "interval") * float(law.unit)
    assert (found > floor + 1e-9).mean() <= 0.05 + 5 * sqrt(0.05 * 0.95 / DRAWS)
    assert law.floor(6, Terms.of_cells(3)) >= law.floor(6)
    assert law.floor(6, Terms(((0.5, 2),))) >= 0


@every_law
def test_empty_cells_that_are_all_kept_are_the_noise(law: NoiseLaw) -> None:
    seen = law.empty_cell(Keeping())
    assert seen.probability == 1
    assert sqrt(seen.variance) == pytest.approx(law.std() / float(law.unit), rel=1e-6)


@every_law
def test_cumulants_have_its_variance(law: NoiseLaw) -> None:
    """K(0) = K′(0) = 0 and K″(0) = Var; K grows as E[e^(sX)] does."""
    found = cumulants(law)
    s = min(0.5 / law.std(), found.edge / 4)
    value, slope, bend = found.at(np.array([0.0, s]))
    assert value[0] == pytest.approx(0, abs=1e-9)
    assert slope[0] == pytest.approx(0, abs=1e-9)
    assert bend[0] == pytest.approx(law.std() ** 2, rel=0.01)
    values, chances = probabilities(law)
    assert value[1] == pytest.approx(
        np.log((chances * np.exp(s * float(law.unit) * values)).sum()), rel=0.01
    )


@every_law
def test_estimates_can_ask_it(law: NoiseLaw) -> None:
    noise = Noise(law)
    assert noise.deviation == pytest.approx(law.std() / float(law.unit))
    assert np.isfinite(noise.log(np.array([-3.0, 0.0, 200.0]))).all()
