"""Where random bits come from: uint64 words of AES-256-CTR, keyed by the operating system.

Everything in this package draws from a :class:`WordSource` that it is given. The only one shipped
is :class:`SystemWords`; it takes no seed. (Seeded and scripted sources exist in the tests alone.)
"""

from __future__ import annotations

import os
import threading
from functools import cache
from typing import Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

from crowdtally.errors import UsageError

Words = NDArray[np.uint64]

_ZEROS = memoryview(bytes(8 << 16))
# A fresh key every 8 GiB: far below the 2^64 blocks at which a cipher stops looking random, and
# what a key could reveal if it leaked ends with it.
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
        ...


class _Stream:
    """One key: its cipher, and when to throw it away."""

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
    drops the key it inherited: forks through Python are counted, forks from C change the process
    id. Returns words distributed as independent uniform ones, up to an advantage that would break
    AES-256.

    >>> SystemWords().words(3).dtype
    dtype('uint64')
    """

    def __init__(self) -> None:
        self._local = threading.local()

    def words(self, n: int, /) -> Words:
        """``n`` words, independent and uniform on 0..2^64−1; the array may be read-only."""
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
    """The one source of this process."""
    return SystemWords()
