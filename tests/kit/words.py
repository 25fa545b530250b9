"""Word sources for tests: scripted to the bit, or seeded. They exist nowhere else."""

from __future__ import annotations

import numpy as np

ONES = 2**64 - 1


class Scripted:
    """Gives out the words it was given, in order, and fails the test that asks for more."""

    def __init__(self, *words: int) -> None:
        self._words = list(words)
        self.used = 0

    def words(self, n: int, /) -> np.ndarray:
        assert self.used + n <= len(self._words), "the script ran out of words"
        self.used += n
        return np.array(self._words[self.used - n : self.used], dtype=np.uint64)


class Seeded:
    """Repeatable words for tests that compare two runs."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def words(self, n: int, /) -> np.ndarray:
        return self._generator.integers(0, 2**64, size=n, dtype=np.uint64)
