"""Exact discrete Laplace noise: Pr[X=k] ∝ e^(−|k|/b). The proof is in laplace.md."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from crowdtally.errors import UsageError
from crowdtally.laws.balls import rational
from crowdtally.noise.geometric import Integers, geometric, in_blocks
from crowdtally.noise.source import WordSource


def discrete_laplace(scale: Fraction, size: int, source: WordSource) -> Integers:
    """Returns ``size`` independent integers distributed as Pr[X=k] ∝ e^(−|k|/scale).

    Args:
        scale: b > 0, exact. For counts that one user changes by at most L in all, L/ε.
        size: how many to draw.
        source: where the words come from.

    >>> from crowdtally.noise.source import system_words
    >>> discrete_laplace(Fraction(1, 10**6), 3, system_words())
    array([0, 0, 0])
    """
    return difference(lambda rate, n: geometric(rate, n, source), scale, size)


def difference(draw: Callable[[Fraction, int], Integers], scale: Fraction, size: int) -> Integers:
    """Returns G − G′ ``size`` times, where ``draw(rate, n)`` returns n of either.

    Distributed as the discrete Laplace law of ``scale`` if ``draw`` is geometric.
    """
    scale = rational(scale, "a noise scale")
    if scale <= 0:
        raise UsageError("a noise scale must be greater than 0.")
    rate = 1 / scale
    return in_blocks(size, lambda n: draw(rate, n) - draw(rate, n))
