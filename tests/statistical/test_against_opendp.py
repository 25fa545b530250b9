"""Our integer Laplace and Gaussian noise and OpenDP's come from one law."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from crowdtally.noise.gaussian import discrete_gaussian
from crowdtally.noise.geometric import discrete_laplace
from crowdtally.noise.source import system_words
from kit.chisquare import two_samples

DRAWS = 50_000


def opendp_laplace(scale: float, n: int) -> np.ndarray:
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    return np.array(dp.m.make_laplace(*space, scale=scale)([0] * n))


@pytest.mark.parametrize("scale", [1, 10, 100])
def test_two_samples_of_one_law(scale):
    theirs = opendp_laplace(float(scale), DRAWS)
    verdict = two_samples(discrete_laplace(Fraction(scale), DRAWS, system_words()), theirs)
    assert verdict.fits, f"scale {scale}: {verdict}"
    fifth_more = discrete_laplace(Fraction(scale) * Fraction(6, 5), DRAWS, system_words())
    assert not two_samples(fifth_more, theirs).fits, "a fifth more passes too"


def opendp_gaussian(scale: float, n: int) -> np.ndarray:
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
    return np.array(dp.m.make_gaussian(*space, scale=scale)([0] * n))


@pytest.mark.parametrize("scale", [1, 10, 300])
def test_two_samples_of_one_gaussian_law(scale):
    """OpenDP asks for the deviation, ours for the variance."""
    theirs = opendp_gaussian(float(scale), DRAWS)
    ours = discrete_gaussian(Fraction(scale) ** 2, DRAWS, system_words())
    verdict = two_samples(ours, theirs)
    assert verdict.fits, f"scale {scale}: {verdict}"
    fifth_more = discrete_gaussian((Fraction(scale) * Fraction(6, 5)) ** 2, DRAWS, system_words())
    assert not two_samples(fifth_more, theirs).fits, "a fifth more passes too"
