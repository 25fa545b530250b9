"""One uniform number whose words are drawn when asked for, and exact uniform integers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from crowdtally.errors import UsageError
from crowdtally.noise.source import Words, WordSource


class Uniform:
    """A number U uniform on [0, 1), of which only the leading words are known yet.

    Extending appends words to the *same* number. A function of U that is decided by some of its
    words has the law of that function of a whole U, however many words it took: this is what makes
    every sampler here exact, and a redraw in its place would not be.
    """

    __slots__ = ("bits", "head")

    def __init__(self, head: int = 0, bits: int = 0) -> None:
        self.head = head
        """The words so far, read as one integer."""
        self.bits = bits
        """How many bits they have."""

    def extend(self, source: WordSource) -> None:
        """Append one word: both ends of the interval move, U does not."""
        self.head = self.head << 64 | int(source.words(1)[0])
        self.bits += 64

    def interval(self) -> tuple[Fraction, Fraction]:
        """The ends of [head/2^bits, (head+1)/2^bits), in which U is uniform given its words.

        >>> Uniform(3, 2).interval()
        (Fraction(3, 4), Fraction(1, 1))
        """
        return Fraction(self.head, 1 << self.bits), Fraction(self.head + 1, 1 << self.bits)

    def ends(self) -> tuple[arb, arb]:
        """The same two ends as exact balls."""
        return arb((self.head, -self.bits)), arb((self.head + 1, -self.bits))


def uniform_below(n: int, source: WordSource) -> int:
    """Returns an integer distributed uniformly on 0..n−1, for any n ≥ 1, by rejection.

    >>> from crowdtally.noise.source import system_words
    >>> 0 <= uniform_below(10**40, system_words()) < 10**40
    True
    """
    if n < 1:
        raise UsageError("a uniform integer needs at least one value to choose from.")
    bits = (n - 1).bit_length()
    words = -(-bits // 64)
    while True:
        value = 0
        for word in source.words(words).tolist():
            value = value << 64 | word
        value &= (1 << bits) - 1
        if value < n:
            return value


def uniforms_below(bounds: NDArray[Any], source: WordSource) -> NDArray[Any]:
    """Returns integers, the i-th distributed uniformly on 0..bounds[i]−1, independent.

    Vectorised for integer arrays; object arrays (Python integers of any size) are drawn one by one.
    """
    if bounds.dtype == object:
        return np.array([uniform_below(int(n), source) for n in bounds], dtype=object)
    if not np.issubdtype(bounds.dtype, np.integer) or (bounds < 1).any():
        raise UsageError("a uniform integer needs at least one value to choose from.")
    limits = bounds.astype(np.uint64)
    masks = _masks(limits)
    values = source.words(limits.size) & masks
    rejected = np.flatnonzero(values >= limits)
    while rejected.size:
        values[rejected] = source.words(rejected.size) & masks[rejected]
        rejected = rejected[values[rejected] >= limits[rejected]]
    return values


def _masks(limits: Words) -> Words:
    """The smallest 2^k − 1 that is at least limit − 1, so that a word is kept half the time."""
    masks = limits - np.uint64(1)
    for shift in (1, 2, 4, 8, 16, 32):
        masks |= masks >> np.uint64(shift)
    return masks
