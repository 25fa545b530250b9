"""Exact geometric numbers: Pr[G=k] = (1−e^(−x))·e^(−xk) for k ≥ 0. The proof is in geometric.md."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.errors import UsageError
from crowdtally.laws.balls import Rate, as_rate, precision
from crowdtally.noise.digits import DigitLaw, Table, table
from crowdtally.noise.source import WordSource

Integers = NDArray[Any]
"""int64 where all values fit, else Python integers in an object array."""

# Draws at a time: small enough for the cache, and the memory beside the result stays constant.
BLOCK = 1 << 16
_BITS = 128


def geometric(rate: Rate | Fraction, size: int, source: WordSource) -> Integers:
    """Returns ``size`` independent integers distributed as Pr[G=k] ∝ e^(−rate·k), k ≥ 0.

    Args:
        rate: x > 0, a rational or a real known by balls; a rate is 1/scale, not a scale.
        size: how many to draw.
        source: where the words come from.

    >>> from crowdtally.noise.source import system_words
    >>> geometric(Fraction(10**6), 3, system_words())
    array([0, 0, 0])
    """
    tables = _tables(as_rate(rate))

    def block(n: int) -> Integers:
        return _assemble([t.digits(source.words(n), source) for t in tables])

    return in_blocks(size, block)


@lru_cache(maxsize=128)
def digit_laws(rate: Rate) -> tuple[DigitLaw, ...]:
    """The laws of G's digits, lowest first; the last is unbounded.

    Any place may be the highest: G // 256^j is geometric of rate x·256^j. The first with a rate of
    0.7 or more has a short table, and 0 is its likeliest digit.
    """
    level = 0
    with precision(_BITS):
        y = rate.enclose(_BITS)
        while not 10 * y * 256**level >= 7:
            level += 1
    lower = (DigitLaw(rate, j, highest=False) for j in range(level))
    return (*lower, DigitLaw(rate, level, highest=True))


def _tables(rate: Rate) -> tuple[Table, ...]:
    return tuple(table(law) for law in digit_laws(rate))


def _assemble(digits: list[NDArray[np.int64]]) -> Integers:
    """Σ digit_j·256^j, in int64 if it must fit, else in Python integers."""
    *lower, top = digits
    least_excluded = (int(top.max(initial=0)) + 1) << (8 * len(lower))
    value: Integers = top if least_excluded <= 1 << 63 else top.astype(object)
    for digit in reversed(lower):
        value = (value << 8) + digit
    return value


def in_blocks(
    size: int, block: Callable[[int], Integers], dtype: type[np.generic] = np.int64
) -> Integers:
    """``size`` values from ``block(n)``, n ≤ ``BLOCK``; Python integers once a block has them."""
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
        raise UsageError("the number of draws must be a non-negative integer.")
    values: Integers = np.empty(size, dtype=dtype)
    for start in range(0, int(size), BLOCK):
        part = block(min(BLOCK, int(size) - start))
        if part.dtype == object and values.dtype != object:
            values = values.astype(object)
        values[start : start + part.size] = part
    return values
