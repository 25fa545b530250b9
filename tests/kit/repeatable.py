"""Chance in the tests: the same in each run of ``make test``, new in ``make test-all``.

Noise, sampling keys and Hypothesis's examples follow from a test's name, so a test that passed once
passes again. With ``CROWDTALLY_SEARCH`` set, as ``make test-all`` does, all are drawn anew. Nothing
here reaches a process that a test starts: whatever such a test asserts must hold for every draw.
"""

from __future__ import annotations

import fcntl
import os
import random
import secrets
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from itertools import count
from pathlib import Path
from random import Random

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import HealthCheck, settings

from crowdtally.noise import source

SEARCH = "CROWDTALLY_SEARCH"
"""Set: draw anew."""
_process = os.getpid()
_name, _keys, _bits = "", count(), Random("")


def is_searching() -> bool:
    """Whether this run looks for new examples."""
    return bool(os.environ.get(SEARCH))


def examples(most: int) -> int:
    """How many examples a slow test takes: a third where each run has the same ones."""
    return most if is_searching() else -(-most // 3)


def begin() -> None:
    """Let Hypothesis, the source of noise and the sampling keys behave as the run asks."""
    # How long an example takes, or is looked for, depends on who else uses the machine.
    anywhere = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.register_profile("search", anywhere)
    settings.register_profile("repeat", anywhere, derandomize=True, database=None)
    settings.load_profile("search" if is_searching() else "repeat")
    if not is_searching():
        source._Stream = _Stream  # type: ignore[misc]
        secrets.randbits = lambda bits: _bits.getrandbits(bits)
        of_test("")


def of_test(name: str) -> None:
    """Draw from here on what belongs to this test."""
    global _name, _keys, _bits
    if is_searching():
        return
    _name, _keys, _bits = name, count(), Random(name)
    random.seed(name)
    source.system_words()._local = threading.local()  # the keys of the test before are gone


@contextmanager
def _chance_of(name: str) -> Iterator[None]:
    """Draw inside what belongs to this name, and afterwards go on where the test was."""
    global _name, _keys, _bits
    words, test = source.system_words(), (_name, _keys, _bits)
    held, state = words._local, random.getstate()
    of_test(name)
    try:
        yield
    finally:
        _name, _keys, _bits = test
        words._local = held
        random.setstate(state)


class _Stream(source._Stream):
    """Words under a key that the test's name and the number of keys before it decide."""

    def __init__(self, process: tuple[int, int]) -> None:
        super().__init__(process)
        child = "" if os.getpid() == _process else f" {process}"  # never its parent's words
        key = sha256(f"{_name} {next(_keys)}{child}".encode()).digest()
        self._encryptor = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()


# Files in memory: a release flushes a dozen times, and a disk takes milliseconds for each.

_PLACE = "/dev/shm"


def memory(room: int = 0) -> str | None:
    """A folder in memory, where flushing costs nothing; None where there is none.

    Args:
        room: bytes that must be free; programs must be allowed to run there, too.
    """
    if not os.access(_PLACE, os.W_OK):
        return None
    found = os.statvfs(_PLACE)
    is_roomy = found.f_bavail * found.f_frsize >= room and not found.f_flag & os.ST_NOEXEC
    return _PLACE if is_roomy or not room else None


# What many tests read is made once for all workers of a run, by whichever needs it first.

_SHARED: list[str] = []
"""The folder that the run's workers share; a process by itself makes one of its own."""


def share(folder: str) -> None:
    """Keep there what is made once. Said by the run to its own workers alone: a process that a
    test starts may run other code, such as a mutant's."""
    _SHARED[:] = [folder]


@cache
def _own_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="crowdtally-shared-", dir=memory(1 << 30))


def new_shared_folder() -> str:
    """Which goes when this process ends."""
    return _own_folder().name


def made_once(name: str, make: Callable[[Path], Path]) -> Path:
    """What ``make`` makes in a folder of this name, and says where; others only read it.

    Its noise follows from the name, whichever test asks first.
    """
    folder = Path(_SHARED[0] if _SHARED else new_shared_folder()) / name
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        where = folder / "where"
        if not where.exists():
            with _chance_of(name):
                made = make(folder)
            where.write_text(str(made))
        return Path(where.read_text())
