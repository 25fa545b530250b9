"""Random bits: uint64 words of AES-256-CTR, keyed by the operating system; exact uniforms.

Everything in this package draws from a :class:`WordSource` that it is given. The only one shipped
is :class:`SystemWords`, which takes no seed. (Seeded and scripted sources exist in the tests
alone.)
"""

from __future__ import annotations

import os
import threading
from fractions import Fraction
from functools import cache
from typing import Any, Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from flint import arb
from numpy.typing import NDArray

from crowdtally.errors import UsageError

Words = NDArray[np.uint64]

_ZEROS = memoryview(bytes(8 << 16))
# A fresh key every 8 GiB: far below the 2^64 blocks at which a cipher stops looking random, and a
# leaked key could reveal no more than that.
_WORDS_PER_KEY = 1 << 30

_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_count_fork)


class WordSource(Protocol):
    """A source of independent uniform 64-bit words."""

    def words(self, n: int, /) -> Words:
        """``n`` words, independent and uniform on 0..2^64−1; the array may be read-only."""


class _Stream:
    """One key: its cipher, and how long it may be used."""

    def __init__(self, process: tuple[int, int]) -> None:
        self.process = process
        self.left = _WORDS_PER_KEY
        cipher = Cipher(algorithms.AES(os.urandom(32)), modes.CTR(bytes(16)))
        self._encryptor: CipherContext = cipher.encryptor()

    def draw(self, n: int) -> Words:
        """``n`` ≤ 2^16 words; little-endian on every machine, so that the bytes mean one thing."""
        self.left -= n
        stream = self._encryptor.update(_ZEROS[: 8 * n])
        return np.frombuffer(stream, dtype="<u8").astype(np.uint64, copy=False)


class SystemWords:
    """Words of AES-256-CTR under keys from ``os.urandom``.

    Each thread has a key of its own, so threads share no state and need no lock. A forked child
    drops its inherited key: forks through Python are counted, forks from C change the process id.
    An algorithm that distinguishes the words from independent uniform ones breaks AES-256.

    >>> SystemWords().words(3).dtype
    dtype('uint64')
    """

    def __init__(self) -> None:
        self._local = threading.local()

    def words(self, n: int, /) -> Words:
        if n < 0:
            raise UsageError("the number of words must not be negative.")
        most = len(_ZEROS) // 8
        if n <= most:
            return self._stream().draw(n)
        return np.concatenate([self._stream().draw(min(most, n - i)) for i in range(0, n, most)])

    def _stream(self) -> _Stream:
        process = (os.getpid(), _forks)
        stream: _Stream | None = getattr(self._local, "stream", None)
        if stream is None or stream.process != process or stream.left <= 0:
            stream = self._local.stream = _Stream(process)
        return stream


@cache
def system_words() -> SystemWords:
    return SystemWords()


class Uniform:
    """A number U uniform on [0, 1), whose words are drawn when they are needed.

    Extending appends words to the *same* number. A function of U that some words decide has the law
    of that function of the whole U, however many words it took: this makes every sampler here
    exact, and a redraw would not be.
    """

    __slots__ = ("bits", "head")

    def __init__(self, head: int = 0, bits: int = 0) -> None:
        self.head = head
        """The words so far, read as one integer."""
        self.bits = bits

    def extend(self, source: WordSource) -> None:
        """Append one word: the interval shrinks, U stays."""
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
    """Returns independent integers, the i-th distributed uniformly on 0..bounds[i]−1."""
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
