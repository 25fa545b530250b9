"""Exact geometric numbers, Pr[G=k] = (1−e^(−x))·e^(−xk), and discrete Laplace noise.

``geometric.md`` and ``laplace.md`` have the proofs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import count
from typing import Any, Protocol

import numpy as np
from flint import arb
from numpy.typing import NDArray

from crowdtally.errors import UsageError
from crowdtally.laws.balls import Rate, as_rate, precision, rational
from crowdtally.noise.source import Uniform, Words, WordSource

# One base-256 digit of a geometric number is a monotone function of one uniform number U: it is k
# where b(k−1) ≤ U < b(k), b(k) being its distribution function. A table holds, for each boundary,
# the words that are surely below and surely at or above it; the few in between are *undecided*, and
# U is extended. The table serves every law with such boundaries (``gaussian.py`` has another).

# More than the 64 bits of a word, so that a boundary leaves one or two words undecided.
_TABLE_BITS = 192
_GUIDE_BITS = 14


class Stepped(Protocol):
    """A law on 0, 1, 2, … as a monotone function of one uniform number."""

    def boundaries(self, bits: int) -> Iterator[arb]:
        """Balls around b(0), b(1), …, at the precision in force, which is ``bits`` bits.

        They end where no boundary is left, or where balls cannot separate the next from 1.
        """

    def settle(self, uniform: Uniform, source: WordSource) -> int:
        """The number of U, extended as far as needed."""


@dataclass(frozen=True)
class DigitLaw:
    """Pr[D=k] ∝ e^(−yk) with y = x·256^level, on 0..255 or, for the highest digit, on all k ≥ 0."""

    rate: Rate
    """x, of the whole number."""
    level: int
    """The digit counts 256^level."""
    highest: bool
    """Whether the digit is unbounded. A closed table would make outputs impossible: ε infinite."""

    def parts(self, bits: int) -> tuple[arb, arb]:
        """Balls around y and T, with which b(k) = (1−e^(−y(k+1)))/T."""
        y = self.rate.enclose(bits) * 256**self.level
        return y, arb(1) if self.highest else -(-256 * y).expm1()

    def boundaries(self, bits: int) -> Iterator[arb]:
        """b(0), b(1), …; of a bounded digit there is none above 255."""
        y, total = self.parts(bits)
        for k in count(1) if self.highest else range(1, 256):
            yield -(-k * y).expm1() / total

    def digit(self, uniform: Uniform, bits: int) -> int | None:
        """The digit, if ``bits`` bits show that it is the same for every U of the interval.

        It is ⌊f(U)⌋ with f(u) = −log(1−uT)/y increasing, so f at both ends brackets it.
        """
        with precision(bits):
            y, total = self.parts(bits)
            low, high = (-(-end * total).log1p() / y for end in uniform.ends())
            least = low.lower().floor().unique_fmpz() if low.is_finite() else None
            most = high.upper().ceil().unique_fmpz() if high.is_finite() else None
        if not self.highest:  # U < 1, so the last digit needs no boundary above it
            most = 256 if most is None else min(most, 256)
        if least is None or most is None or max(least, 0) + 1 < most:
            return None
        return int(most) - 1

    def settle(self, uniform: Uniform, source: WordSource) -> int:
        """The digit of U, extended as far as needed."""
        while (digit := self.digit(uniform, 256 + 4 * uniform.bits)) is None:
            uniform.extend(source)
        return digit


def thresholds(law: Stepped, width: int = 64) -> tuple[list[int], list[int]]:
    """For words of ``width`` bits: (first word not surely below, first word surely above) of b(k).

    The first list has one entry more: of an unbounded law the first boundary that no word is surely
    above, of a bounded digit, which has no boundary above 255, the last word of all. The words from
    there on are undecided, not closed.
    """
    last = (1 << width) - 1
    below: list[int] = []
    above: list[int] = []
    with precision(_TABLE_BITS):
        for boundary in law.boundaries(_TABLE_BITS):
            scaled = boundary * (1 << width)
            below.append(int(scaled.lower().floor().unique_fmpz()))
            first_above = int(scaled.upper().ceil().unique_fmpz())
            if first_above > last:
                return below, above
            above.append(first_above)
    return [*below, last], above


class Table:
    """A law prepared for arrays of words; all that is compared with a word is uint64."""

    def __init__(self, law: Stepped, width: int = 64) -> None:
        self.law = law
        self.width = width
        below, above = thresholds(law, width)
        self.below: Words = np.array(below, dtype=np.uint64)
        self.above: Words = np.array(above, dtype=np.uint64)
        bits = min(_GUIDE_BITS, width)
        self._shift = np.uint64(width - bits)
        self.guide, self._look_closer = self._guide(bits)

    def _guide(self, bits: int) -> tuple[NDArray[np.unsignedinteger], int]:
        """For each value of a word's leading bits: the digit, if they decide it, else the most.

        The most is the largest number of its type, for short tables a byte, which the cache likes.
        """
        kind = np.uint8 if self.above.size <= 255 else np.uint16
        most = int(np.iinfo(kind).max)
        first = np.arange(1 << bits, dtype=np.uint64) << self._shift
        last = first + ((np.uint64(1) << self._shift) - np.uint64(1))
        digits = np.searchsorted(self.above, first, side="right")
        decided = (last < self.below[digits]) & (digits < most)
        return np.where(decided, digits, most).astype(kind), most

    def search(self, words: Words) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The digits of ``words``, and the positions of undecided ones."""
        digits = np.searchsorted(self.above, words, side="right").astype(np.int64, copy=False)
        return digits, np.flatnonzero(words >= self.below[digits])

    def digits(self, words: Words, source: WordSource) -> NDArray[np.int64]:
        """Returns one digit per word, each distributed as the law if the words are uniform.

        The guide answers for all but one word in fifty or so (five times faster than searching).
        """
        guided = self.guide.take((words >> self._shift).view(np.int64))
        digits = guided.astype(np.int64)
        rest = np.flatnonzero(guided == self._look_closer)
        digits[rest], undecided = self.search(words[rest])
        for position in rest[undecided].tolist():
            digits[position] = self.law.settle(Uniform(int(words[position]), self.width), source)
        return digits


@lru_cache(maxsize=512)
def table(law: Stepped) -> Table:
    """The table of a law, built once: keyed by the exact law."""
    return Table(law)


Integers = NDArray[Any]  # int64 where all values fit, else Python integers in an object array

# Draws at a time: small enough for the cache, and the memory beside the result stays constant.
BLOCK = 1 << 16
_BITS = 128


def geometric(rate: Rate | Fraction, size: int, source: WordSource) -> Integers:
    """Returns ``size`` independent integers distributed as Pr[G=k] ∝ e^(−rate·k), k ≥ 0.

    A rate is 1/scale, not a scale.

    >>> from crowdtally.noise.source import system_words
    >>> geometric(Fraction(10**6), 3, system_words())
    array([0, 0, 0])
    """
    tables = [table(law) for law in digit_laws(as_rate(rate))]

    def block(n: int) -> Integers:
        return _assemble([t.digits(source.words(n), source) for t in tables])

    return in_blocks(size, block)


@lru_cache(maxsize=128)
def digit_laws(rate: Rate) -> tuple[DigitLaw, ...]:
    """The laws of G's digits, lowest first; the last is unbounded.

    Any place may be the highest: G // 256^j is geometric of rate x·256^j. The first with a rate of
    0.7 or more has a short table.
    """
    level = 0
    with precision(_BITS):
        y = rate.enclose(_BITS)
        while not 10 * y * 256**level >= 7:
            level += 1
    lower = (DigitLaw(rate, j, highest=False) for j in range(level))
    return (*lower, DigitLaw(rate, level, highest=True))


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


def discrete_laplace(scale: Fraction, size: int, source: WordSource) -> Integers:
    """Returns ``size`` independent integers distributed as Pr[X=k] ∝ e^(−|k|/scale).

    The scale is L/ε for counts that one user changes by at most L in all.

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
