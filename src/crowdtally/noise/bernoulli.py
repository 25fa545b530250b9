"""Exact coins, of rational and of real probability; ``bernoulli.md`` has the proof."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.errors import UsageError
from crowdtally.laws.balls import Probability, Real, as_ball, as_probability, precision
from crowdtally.noise.geometric import in_blocks
from crowdtally.noise.source import Uniform, Words, WordSource, uniforms_below

Coins = NDArray[np.bool_]

_WIDTH = 64
_BITS = 192


def bernoulli(p: Probability, size: int, source: WordSource) -> Coins:
    """Returns ``size`` independent coins, each True with probability exactly ``p`` in [0, 1].

    >>> from crowdtally.noise.source import system_words
    >>> bernoulli(Fraction(1), 3, system_words())
    array([ True,  True,  True])
    """
    chance = as_probability(p)
    if isinstance(chance, Real):
        return in_blocks(size, lambda n: _real(chance, n, source), np.bool_)
    return in_blocks(size, lambda n: _rational(chance, n, source), np.bool_)


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
    numerators, denominators = (np.full(n, part, dtype=kind) for part in p.as_integer_ratio())
    return bernoulli_each(numerators, denominators, source)


def _real(p: Real, n: int, source: WordSource) -> Coins:
    """One word decides, unless it is one of the few that the ball around p·2^64 touches."""
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
    """Whether U < p, extending U as far as needed."""
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


# Exact coins of probability e^(−x), each with its own x ≥ 0. The proof is in gaussian.md.

# The filter's polynomial is nearer to e^(−x) than the first where x is at most the second, in exact
# arithmetic and in floats: x^6/720 < 2^−21 there, and all roundings together are below 2^−40.
_DOUBT = 2.0**-20
_SMALL = 0.25


def falling(
    near: NDArray[np.float64], exact: Callable[[int], Fraction], words: Words, source: WordSource
) -> Coins:
    """Returns one coin per word, the i-th True with probability e^(−exact(i)), for uniform words.

    ``near`` are floats within 2^-40 of the exact exponents x ≥ 0, where these are at most 1/4;
    ``exact`` is asked for the few that floats do not decide.
    """
    # U lies within 2^−52 of this float. Only +, −, × and ÷, which IEEE 754 bounds.
    uniforms = words.astype(np.float64) * 2.0**-64
    coins = uniforms + near < 1 - _DOUBT  # e^(−x) ≥ 1 − x: so are most where x is small
    rest = np.flatnonzero(~coins)
    x = near[rest]
    lead = uniforms[rest] - (1 - x * (1 - x / 2 * (1 - x / 3 * (1 - x / 4 * (1 - x / 5)))))
    coins[rest] = lead < 0
    for place in rest[(np.abs(lead) <= _DOUBT) | (x > _SMALL)].tolist():
        coins[place] = _settled(Uniform(int(words[place]), 64), exact(place), source)
    return coins


def _settled(uniform: Uniform, exponent: Fraction, source: WordSource) -> bool:
    """Whether U < e^(−x): both balls shrink until they are disjoint. The word is never redrawn."""
    chance = Real(("falling", exponent), lambda bits: (-as_ball(exponent)).exp())
    return is_below(uniform, chance, source)
