"""The checks that a sampler of noise must pass and that each mutant of it must fail.

The same function judges both, so a check without teeth shows up as a mutant that survives.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from crowdtally.noise.geometric import Table
from kit.chisquare import Verdict, goodness
from kit.exactly import PLACES, ExactDigit, exp_neg
from kit.words import ONES, Scripted

Draw = Callable[[int], np.ndarray]
_PART = 1 << 22


def geometric_law(rate: float, values: int) -> np.ndarray:
    """Pr[0], …, Pr[values−2], and the rest."""
    law = -np.expm1(-rate) * np.exp(-rate * np.arange(values - 1))
    return np.append(law, np.exp(-rate * (values - 1)))


def laplace_law(rate: float, values: int) -> np.ndarray:
    """Pr[X ≤ −h], Pr[−h+1], …, Pr[h−1], Pr[X ≥ h] with values = 2h+1."""
    h = values // 2
    law = np.tanh(rate / 2) * np.exp(-rate * np.abs(np.arange(-h, h + 1)))
    law[[0, -1]] = np.exp(-rate * h) / (1 + np.exp(-rate))
    return law


def histogram(draw: Draw, n: int, values: int, two_sided: bool) -> np.ndarray:
    """Counts of n draws in the bins of the laws above, a part at a time."""
    counts = np.zeros(values, dtype=np.int64)
    shift = values // 2 if two_sided else 0
    for start in range(0, n, _PART):
        part = draw(min(_PART, n - start)) + shift
        counts += np.bincount(np.clip(part, 0, values - 1), minlength=values)
    return counts


def fits(counts: np.ndarray, law: np.ndarray) -> tuple[Verdict, Verdict]:
    """With few bins, for the scale, and with all bins, for single values."""
    return goodness(counts, law, bins=40), goodness(counts, law)


def digits_are_exact(table: Table, rate: Fraction, count: int = 40) -> bool:
    """Words at the first boundaries and in the tail, with scripted words behind them."""
    alpha = exp_neg(rate * 256**table.law.level)
    reference = ExactDigit(alpha, table.law.highest, 250)
    cases = [[w + step, 2**63, 7, 9] for w in _boundaries(reference, count) for step in (-1, 0, 1)]
    cases += [[ONES] * ones + [12 << 60, 7, 9] for ones in (1, 2, 3)]
    return all(_digit(table, words) == reference.digit(words) for words in cases)


def _boundaries(reference: ExactDigit, count: int) -> list[int]:
    """The word that holds b(k), for those k that a word tells apart from 1."""
    words = [low >> (PLACES - 64) for low, _ in reference.boundaries[:count]]
    return [word for word in words if word + 1 <= ONES]


def _digit(table: Table, words: list[int]) -> int:
    first = np.array(words[:1], dtype=np.uint64)
    return int(table.digits(first, Scripted(*words[1:], *[3] * 9))[0])
