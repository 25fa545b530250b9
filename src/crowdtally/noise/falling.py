"""Exact coins of probability e^(−x), each with its own x ≥ 0. The proof is in gaussian.md."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from crowdtally.laws.balls import Real, as_ball
from crowdtally.noise.bernoulli import Coins, is_below
from crowdtally.noise.source import Words, WordSource
from crowdtally.noise.uniform import Uniform

# The filter's polynomial is nearer to e^(−x) than the first where x is at most the second, in exact
# arithmetic and in floats: x^6/720 < 2^−21 there, and all roundings together are below 2^−40.
_DOUBT = 2.0**-20
_SMALL = 0.25


def falling(
    near: NDArray[np.float64], exact: Callable[[int], Fraction], words: Words, source: WordSource
) -> Coins:
    """Returns one coin per word, the i-th True with probability e^(−exact(i)), for uniform words.

    Args:
        near: floats within 2^-40 of the exact exponents, where they are at most 1/4.
        exact: from a place to its exponent x ≥ 0, for the few that floats do not decide.
        words: one for each coin.
        source: where further words come from.
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
    """Whether U < e^(−x): both balls shrink until they are apart. The word is never redrawn."""
    chance = Real(("falling", exponent), lambda bits: (-as_ball(exponent)).exp())
    return is_below(uniform, chance, source)
