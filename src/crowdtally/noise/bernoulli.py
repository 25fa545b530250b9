"""Exact coins, of rational and of real probability. The proof is in bernoulli.md."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.errors import UsageError
from crowdtally.laws.balls import Probability, Real, as_probability, precision
from crowdtally.noise.geometric import in_blocks
from crowdtally.noise.source import WordSource
from crowdtally.noise.uniform import Uniform, uniforms_below

Coins = NDArray[np.bool_]

_WIDTH = 64
_BITS = 192


def bernoulli(p: Probability, size: int, source: WordSource) -> Coins:
    """Returns ``size`` independent coins, each True with probability exactly ``p``.

    Args:
        p: a Fraction, or a real known by balls, in [0, 1].
        size: how many to toss.
        source: where the words come from.

    >>> from crowdtally.noise.source import system_words
    >>> bernoulli(Fraction(1), 3, system_words())
    array([ True,  True,  True])
    """
    p = as_probability(p)
    if isinstance(p, Real):
        real = p
        return in_blocks(size, lambda n: _real(real, n, source), np.bool_)
    return in_blocks(size, lambda n: _rational(p, n, source), np.bool_)


def bernoulli_each(
    numerators: NDArray[Any], denominators: NDArray[Any], source: WordSource
) -> Coins:
    """Returns independent coins, the i-th True with probability numerators[i]/denominators[i].

    Integer arrays; object arrays of Python integers where int64 does not hold them.

    >>> from crowdtally.noise.source import system_words
    >>> bernoulli_each(np.array([0, 7]), np.array([5, 7]), system_words())
    array([False,  True])
    """
    numerators, denominators = _naturals(numerators), _naturals(denominators)
    if (numerators > denominators).any():
        raise UsageError("a probability must lie in [0, 1]: a numerator is above its denominator.")
    return np.asarray(uniforms_below(denominators, source) < numerators, dtype=np.bool_)


def _naturals(values: NDArray[Any]) -> NDArray[Any]:
    """Integers ≥ 0 as uint64 or Python integers: int64 beside uint64 would turn into floats."""
    whole = values.dtype == object or np.issubdtype(values.dtype, np.integer)
    if not whole or (values < 0).any():
        raise UsageError("the parts of a probability must be non-negative integers.")
    return values if values.dtype == object else values.astype(np.uint64)


def _rational(p: Fraction, n: int, source: WordSource) -> Coins:
    kind = np.uint64 if p.denominator < 1 << 64 else object
    return bernoulli_each(
        np.full(n, p.numerator, dtype=kind), np.full(n, p.denominator, dtype=kind), source
    )


def _real(p: Real, n: int, source: WordSource) -> Coins:
    """One word decides unless it is among the few that the ball around p·2^64 touches."""
    with precision(_BITS):
        scaled = p.enclose(_BITS) * (1 << _WIDTH)
        first = int(scaled.lower().floor().unique_fmpz())
        last = int(scaled.upper().ceil().unique_fmpz()) - 1  # of the touched words
    last = min(last, (1 << _WIDTH) - 1)  # a ball around almost 1 reaches above it
    words = source.words(n)
    coins = words < np.uint64(first)
    for position in np.flatnonzero(~coins & (words <= np.uint64(last))).tolist():
        coins[position] = is_below(Uniform(int(words[position]), _WIDTH), p, source)
    return coins


def is_below(uniform: Uniform, p: Real, source: WordSource) -> bool:
    """Whether U < p, extending U by as many words as that takes."""
    while True:
        bits = 256 + 4 * uniform.bits
        with precision(bits):
            ball = p.enclose(bits)
            low, high = uniform.ends()
            if high <= ball:
                return True
            if low >= ball:
                return False
        uniform.extend(source)
