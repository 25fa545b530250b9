"""Exact interval noise on K cells: Pr[z] ∝ e^(−ε(max z⁺ + max z⁻)). The proof is in interval.md.

One user who adds 1 to any set of cells moves the counts by 1 in this norm, whatever the set: the
noise is ε-differentially private without any bounding. It is built on what ``Draws`` can draw:
geometric numbers, one weighted choice, uniform integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from flint import fmpz_poly
from numpy.typing import NDArray

from crowdtally.core.numbers import is_whole, repeated
from crowdtally.errors import UsageError
from crowdtally.laws.balls import rational
from crowdtally.laws.interval import MOST_CELLS
from crowdtally.noise.geometric import Integers

Geometric = Callable[[Fraction, int], Integers]
Choose = Callable[[Sequence[int], Sequence[int], Fraction], int]
Uniforms = Callable[[NDArray[Any]], NDArray[Any]]


def interval(
    geometric: Geometric, choose_among: Choose, uniforms: Uniforms, rate: Fraction, size: int
) -> Integers:
    """Returns z_1 … z_size, distributed *together* as Pr[z] ∝ e^(−rate·(max z⁺ + max z⁻)).

    One draw of the whole vector, never a part of one: two tables, or two groups of users, need a
    call each.

    Args:
        geometric: as ``Draws.geometric``.
        choose_among: as ``Draws.choose_among``.
        uniforms: as ``Draws.uniforms_below``.
        rate: ε for counts that one user changes by 0 or 1 in each cell, all the same way.
        size: K, the number of cells, at most ``MOST_CELLS``.
    """
    rate = rational(rate, "the rate of interval noise")
    if rate <= 0:
        raise UsageError("the rate of interval noise must be greater than 0.")
    if not is_whole(size) or not 1 <= size <= MOST_CELLS:
        raise UsageError(
            f"interval noise is drawn for 1 to {MOST_CELLS} cells at a time: received {size!r}."
        )
    width = _width(geometric, choose_among, rate, size)  # s
    drawn = _signed(uniforms(repeated(width + 1, size + 1)), width)
    return np.asarray(drawn[0] - drawn[1:])  # A − U_i


def _width(geometric: Geometric, choose_among: Choose, rate: Fraction, size: int) -> int:
    """Returns s distributed as Pr[s] ∝ (s+1)^(size+1)·e^(−rate·s), s ≥ 0: Worpitzky's identity."""
    weights = eulerian(size + 1)
    steps = choose_among(range(0, -len(weights), -1), weights, rate)  # Pr[j] ∝ ⟨K+1, j⟩·e^(−εj)
    return steps + sum(map(int, geometric(rate, size + 2).tolist()))


def _signed(values: NDArray[Any], most: int) -> Integers:
    """Unsigned integers up to ``most`` in a kind of array whose differences do not wrap round."""
    return values.astype(np.int64 if most < 1 << 62 else object)


@lru_cache(maxsize=16)
def eulerian(n: int) -> tuple[int, ...]:
    """The Eulerian numbers ⟨n, 0⟩ … ⟨n, n−1⟩: Σ_k (k+1)^n·x^k = Σ_j ⟨n, j⟩·x^j / (1−x)^(n+1).

    The row reads the same both ways, so half of the product of both series is enough.

    >>> eulerian(4)
    (1, 11, 11, 1)
    """
    half = (n + 1) // 2
    powers = fmpz_poly([(k + 1) ** n for k in range(half)])
    signed = [1]  # the coefficients of (1−x)^(n+1)
    for k in range(1, half):
        signed.append(-signed[-1] * (n + 2 - k) // k)
    row = [int(number) for number in powers.mul_low(fmpz_poly(signed), half).coeffs()]
    return tuple(row + row[: n - half][::-1])
