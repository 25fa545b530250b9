"""The exponential mechanism (``choose.md``) and interval noise (``interval.md``), exactly."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Any, cast

import numpy as np
from flint import arb, fmpq, fmpz_poly
from numpy.typing import NDArray

from crowdtally.core.integers import repeated
from crowdtally.core.numbers import is_whole
from crowdtally.errors import UsageError
from crowdtally.laws.balls import precision, rational
from crowdtally.laws.interval import MOST_CELLS
from crowdtally.noise.geometric import Integers
from crowdtally.noise.source import Uniform, WordSource, uniform_below

# The exponential mechanism: Pr[i] ∝ exp(rate·score_i). Scores are exact integers or Fractions.
# Equal scores share one weight, so a million candidates with a hundred distinct scores cost a
# hundred exponentials; every candidate takes part, however small its weight.

Score = int | Fraction
Scores = Sequence[Score] | NDArray[np.integer]
Multiplicities = Sequence[int] | NDArray[np.integer]


def choose(scores: Scores, rate: Fraction, source: WordSource) -> int:
    """Returns an index i distributed as Pr[i] ∝ exp(rate·scores[i]).

    The rate is ε/Δ or ε/(2Δ), as the mechanism's proof says.

    >>> from crowdtally.noise.source import system_words
    >>> choose([0, 10**6, 5], Fraction(1), system_words())
    1
    """
    if isinstance(scores, np.ndarray):
        return _choose_in_array(scores, rate, source)
    _refuse_inexact(scores)  # before counting: 1.0 would pass for its equal 1
    counts = Counter(scores)
    distinct = list(counts)
    group, member = choose_group(distinct, list(counts.values()), rate, source)
    equals = (i for i, score in enumerate(scores) if score == distinct[group])
    return next(i for rank, i in enumerate(equals) if rank == member)


def _choose_in_array(scores: NDArray[np.integer], rate: Fraction, source: WordSource) -> int:
    if not np.issubdtype(scores.dtype, np.integer) or scores.ndim != 1:
        raise UsageError(f"scores must be exact integers in one row: received {scores.dtype}.")
    distinct, counts = np.unique(scores, return_counts=True)
    group, member = choose_group(distinct, counts, rate, source)
    return int(np.flatnonzero(scores == distinct[group])[member])


def choose_group(
    scores: Scores, multiplicities: Multiplicities, rate: Fraction, source: WordSource
) -> tuple[int, int]:
    """Returns (g, r) with Pr[(g, r)] ∝ exp(rate·scores[g]) for every r below multiplicities[g].

    Group g has ``multiplicities[g]`` candidates of score ``scores[g]``, numbered from 0.
    """
    group = choose_among(scores, multiplicities, rate, source)
    return group, uniform_below(int(multiplicities[group]), source)


def choose_among(
    scores: Scores, multiplicities: Multiplicities, rate: Fraction, source: WordSource
) -> int:
    """Returns a group g distributed as Pr[g] ∝ multiplicities[g]·exp(rate·scores[g]).

    >>> from crowdtally.noise.source import system_words
    >>> choose_among([0, 5], [0, 10**40], Fraction(1), system_words())
    1
    """
    marks, copies = _listed(scores), _listed(multiplicities)
    _refuse_inexact(marks)
    rate = rational(rate, "the rate of a choice")
    if rate <= 0:
        raise UsageError("the rate of a choice must be greater than 0.")
    counted = set(map(type, copies)) <= {int} and min(copies, default=0) >= 0
    if not counted or len(marks) != len(copies):
        raise UsageError("each group of candidates needs a multiplicity, an integer of 0 or more.")
    # Largest first: negligible weights are then at the end, where U needs many words to be.
    groups = sorted((g for g, n in enumerate(copies) if n), key=marks.__getitem__, reverse=True)
    if not groups:
        raise UsageError("there is nothing to choose from.")
    slope = fmpq(rate.numerator, rate.denominator)
    gaps = (marks[g] - marks[groups[0]] for g in groups)
    exponents = [slope * fmpq(gap.numerator, gap.denominator) for gap in gaps]
    return groups[_place(exponents, [copies[g] for g in groups], source)]


def _listed(values: Sequence[Any] | NDArray[Any]) -> Sequence[Any]:
    """Python numbers, which do not wrap as numpy's do."""
    return cast(list[Any], values.tolist()) if isinstance(values, np.ndarray) else values


def _refuse_inexact(scores: Sequence[Score]) -> None:
    if not set(map(type, scores)) <= {int, Fraction}:
        raise UsageError("scores must be exact: integers or Fractions, or a numpy integer array.")


def _place(exponents: list[fmpq], counts: list[int], source: WordSource) -> int:
    """Returns a place j distributed as Pr[j] ∝ counts[j]·exp(exponents[j])."""
    uniform = Uniform()
    while True:
        uniform.extend(source)
        bits = 128 + 2 * uniform.bits
        with precision(bits):
            weights = (count * arb(e).exp() for e, count in zip(exponents, counts, strict=True))
            place = _certain(list(accumulate(weights)), uniform)
        if place is not None:
            return place


def _certain(sums: list[arb], uniform: Uniform) -> int | None:
    """The j with sums[j−1] ≤ U·total < sums[j], if every U of the interval and the balls agree."""
    low, high = (end * sums[-1] for end in uniform.ends())
    # Not "the first sum above U" but "the first that U is not certainly at or above": so the lower
    # side of the answer is certain, and the upper one is checked.
    place = bisect_left(sums, True, hi=len(sums) - 1, key=lambda total: not low >= total)
    return place if place == len(sums) - 1 or high <= sums[place] else None


# Interval noise on K cells: Pr[z] ∝ e^(−ε(max z⁺ + max z⁻)). One user who adds 1 to any set of
# cells moves the counts by 1 in this norm, so the noise is ε-differentially private without any
# bounding. It is built on the primitives of ``Draws``: geometric numbers, a weighted choice,
# uniform integers.

Geometric = Callable[[Fraction, int], Integers]
Choose = Callable[[Sequence[int], Sequence[int], Fraction], int]
Uniforms = Callable[[NDArray[Any]], NDArray[Any]]


def interval(
    geometric: Geometric, choose_among: Choose, uniforms: Uniforms, rate: Fraction, size: int
) -> Integers:
    """Returns z_1 … z_size, distributed *together* as Pr[z] ∝ e^(−rate·(max z⁺ + max z⁻)).

    One draw of the whole vector, never a part of one: two tables, or two groups of users, need a
    call each. The rate is ε for counts that one user changes by 0 or 1 in each cell, all the same
    way.
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
    """Unsigned integers up to ``most`` in a kind of array whose differences do not overflow."""
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
