"""The exponential mechanism: Pr[i] ∝ exp(rate·score_i), exactly. The proof is in choose.md.

Scores are exact integers or Fractions. Equal scores share one weight, so a million candidates with
a hundred distinct scores cost a hundred exponentials; every candidate takes part, however
negligible its weight.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any, cast

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from crowdtally.errors import UsageError
from crowdtally.laws.balls import precision, rational
from crowdtally.noise.source import WordSource
from crowdtally.noise.uniform import Uniform, uniform_below

Score = int | Fraction
Scores = Sequence[Score] | NDArray[np.integer]
Multiplicities = Sequence[int] | NDArray[np.integer]


def choose(scores: Scores, rate: Fraction, source: WordSource) -> int:
    """Returns an index i distributed as Pr[i] ∝ exp(rate·scores[i]).

    Args:
        scores: one per candidate; exact integers or Fractions, or a numpy integer array.
        rate: ε/Δ or ε/(2Δ) as the mechanism's proof says; greater than 0.
        source: where the words come from.

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
    """Returns (g, r): a candidate drawn with Pr ∝ exp(rate·score), as the r-th of its group.

    Group g stands for ``multiplicities[g]`` candidates of score ``scores[g]``, numbered from 0.
    Pr[(g, r)] ∝ exp(rate·scores[g]) for every r below multiplicities[g].
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
    # Largest first: what is negligible then lies at the end, where U needs many words to be.
    groups = sorted((g for g, n in enumerate(copies) if n), key=marks.__getitem__, reverse=True)
    if not groups:
        raise UsageError("there is nothing to choose from.")
    slope = fmpq(rate.numerator, rate.denominator)
    gaps = (marks[g] - marks[groups[0]] for g in groups)
    exponents = [slope * fmpq(gap.numerator, gap.denominator) for gap in gaps]
    return groups[_place(exponents, [copies[g] for g in groups], source)]


def _listed(values: Sequence[Any] | NDArray[Any]) -> Sequence[Any]:
    """Python numbers for numpy's: those wrap."""
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
    # Not "the first sum above U" but "the first that U is not certainly at or above": whatever the
    # search probes, its answer j has a certain lower side, and the upper one is checked.
    place = bisect_left(sums, True, hi=len(sums) - 1, key=lambda total: not low >= total)
    return place if place == len(sums) - 1 or high <= sums[place] else None
