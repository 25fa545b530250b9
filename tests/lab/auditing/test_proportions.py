"""The bounds on a probability against exact binomial tails."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from flint import arb, ctx

from crowdtally.lab.auditing.certify import at_least, at_most

CASES = [(k, n) for n in (1, 2, 7, 60) for k in sorted({0, 1, n // 3, n - 1, n}) if k <= n]
ALPHAS = (0.25, 0.0005, 1e-7)


def tail(k: int, n: int, p: Fraction) -> Fraction:
    """Pr[Bin(n, p) ≥ k]."""
    return sum((comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(k, n + 1)), Fraction(0))


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize(("k", "n"), CASES)
def test_the_lower_bound_is_the_largest_that_is_valid(k: int, n: int, alpha: float) -> None:
    bound = Fraction(float(at_least(k, n, alpha)))
    if k == 0:
        assert bound == 0
        return
    assert tail(k, n, bound) <= Fraction(alpha)
    assert tail(k, n, min(bound * (1 + Fraction(1, 10**7)), Fraction(1))) > Fraction(alpha)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize(("k", "n"), CASES)
def test_the_upper_bound_is_the_smallest_that_is_valid(k: int, n: int, alpha: float) -> None:
    bound = Fraction(float(at_most(k, n, alpha)))
    if k == n:
        assert bound == 1
        return
    assert 1 - tail(k + 1, n, bound) <= Fraction(alpha)
    assert 1 - tail(k + 1, n, bound * (1 - Fraction(1, 10**7))) > Fraction(alpha)


@pytest.mark.parametrize("k", [1, 17, 12_345, 25_000, 49_990])
def test_many_runs_against_balls(k: int) -> None:
    n, alpha = 50_000, 1e-6
    before, ctx.prec = ctx.prec, 200
    try:

        def beyond(seen: int, p: float) -> arb:
            return arb(p).beta_lower(arb(seen), arb(n - seen + 1), regularized=True)

        low, high = float(at_least(k, n, alpha)), float(at_most(k, n, alpha))
        assert beyond(k, low) <= arb(alpha)
        assert beyond(k, low * (1 + 1e-6)) > arb(alpha)
        assert 1 - beyond(k + 1, high) <= arb(alpha)
        assert 1 - beyond(k + 1, high * (1 - 1e-6)) > arb(alpha) or high == 1
    finally:
        ctx.prec = before


def test_arrays_are_bounded_one_by_one() -> None:
    seen = np.array([0, 3, 10])
    assert at_least(seen, 10, 0.01).tolist() == [float(at_least(k, 10, 0.01)) for k in seen]
    assert at_most(seen, 10, 0.01).tolist() == [float(at_most(k, 10, 0.01)) for k in seen]
