"""Noise of half the scale beneath noise that was drawn before. The proof is in refining.md.

Discrete Laplace noise of scale b is noise of scale b/2 plus something independent of it. So a value
can be released with much noise first and with less later, and both together tell no more than the
later one alone. It is built on what ``Draws`` can draw: geometric numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from crowdtally.errors import UsageError
from crowdtally.laws.balls import rational
from crowdtally.noise.geometric import Integers

Geometric = Callable[[Fraction, int], Integers]


def refined(geometric: Geometric, noise: Integers, scale: Fraction) -> Integers:
    """Returns F given Z = F + X, where F has scale/2 and X, independent of F, makes Z's law.

    If each Z is discrete Laplace noise of ``scale``, each F is discrete Laplace noise of scale/2.

    Args:
        geometric: as ``Draws.geometric``.
        noise: Z, integers that were drawn independently of each other.
        scale: b > 0, exact, of Z.

    >>> refined(lambda rate, size: np.zeros(size, dtype=np.int64), np.array([5, -3]), Fraction(2))
    array([0, 0])
    """
    scale = rational(scale, "a noise scale")
    if scale <= 0:
        raise UsageError("a noise scale must be greater than 0.")
    rate = 1 / scale
    size = abs(noise)
    found = _between(geometric, size, rate)
    # With probability e^(−(|z|+1)/b) / (1 + e^(−2/b)) nothing had been added.
    bare = geometric(rate, len(size)) >= size + 1
    bare &= geometric(2 * rate, len(size)) % 2 == 0
    found = np.where(bare, size, found)
    return np.where(noise < 0, -found, found)


def _between(geometric: Geometric, size: Integers, rate: Fraction) -> Integers:
    """Integers with Pr[k] ∝ e^(−rate·(2|k| + |z − k|)) for each z ≥ 0 in ``size``.

    Tried with Pr[k] ∝ e^(−rate·|k|), taken with e^(−2·rate·d), d the distance of k from 0 … z.
    """
    found = np.zeros_like(size)
    left = np.arange(len(size))
    while len(left):
        tried = geometric(rate, len(left)) - geometric(rate, len(left))
        beyond = np.maximum(np.maximum(-tried, tried - size[left]), 0)
        taken = np.asarray(geometric(2 * rate, len(left)) >= beyond, dtype=np.bool_)
        if tried.dtype == object and found.dtype != object:
            found = found.astype(object)
        found[left[taken]] = tried[taken]
        left = left[~taken]
    return found
