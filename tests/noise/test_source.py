"""The source: uniform words, fresh keys in every thread and every process."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numpy as np
import pytest

import crowdtally.noise
from crowdtally.errors import UsageError
from crowdtally.noise import source
from crowdtally.noise.source import SystemWords, system_words
from kit.chisquare import goodness


def distinct(*samples: np.ndarray) -> bool:
    """64-bit words repeat within a million with probability 3e-8: a repeat is a copied key."""
    together = np.concatenate(samples)
    return np.unique(together).size == together.size


def test_words_are_uint64_of_any_number():
    words = SystemWords()
    for n in (0, 1, 7, 1 << 16, (1 << 16) + 1, 200_000):
        drawn = words.words(n)
        assert drawn.dtype == np.uint64
        assert drawn.size == n


def test_a_negative_number_of_words_is_refused():
    with pytest.raises(UsageError):
        SystemWords().words(-1)


def test_bytes_are_uniform():
    drawn = system_words().words(1 << 18)
    for place in range(8):
        bytes_ = (drawn >> np.uint64(8 * place)) & np.uint64(255)
        counts = np.bincount(bytes_.astype(np.int64), minlength=256)
        verdict = goodness(counts, np.full(256, 1 / 256))
        assert verdict.fits, f"byte {place}: {verdict}"


def test_two_sources_differ_and_none_repeats():
    first, second = SystemWords(), SystemWords()
    assert distinct(first.words(1000), second.words(1000), first.words(1000), second.words(1000))


def test_the_process_has_one_default():
    assert system_words() is system_words()


def test_a_key_is_thrown_away_after_its_share(monkeypatch):
    monkeypatch.setattr(source, "_WORDS_PER_KEY", 100)
    words = SystemWords()
    first = words._stream()
    drawn = words.words(100)
    assert words._stream() is not first
    assert distinct(drawn, words.words(100))


def test_a_changed_process_id_changes_the_key(monkeypatch):
    words = SystemWords()
    before = words._stream()
    assert words._stream() is before
    monkeypatch.setattr(source.os, "getpid", lambda: -1)
    assert words._stream() is not before


FORK = """
    import os, sys
    import numpy as np
    from crowdtally.noise import source
    {mutant}
    words = source.system_words()
    words.words(5)
    read, write = os.pipe()
    for _ in range(3):
        if os.fork() == 0:
            os.write(write, words.words(4).tobytes())
            os._exit(0)
        os.wait()
    drawn = np.frombuffer(os.read(read, 96), dtype=np.uint64)
    together = np.concatenate([drawn, words.words(4)])
    print(together.size, np.unique(together).size)
"""


def forked(mutant: str = "") -> str:
    """In a process of its own: forking one that has threads is what tests should not do."""
    script = textwrap.dedent(FORK).format(mutant=mutant)
    return subprocess.check_output([sys.executable, "-c", script], text=True).strip()


def test_forked_children_draw_their_own_words():
    assert forked() == "16 16"


def test_a_forked_copy_of_the_key_would_be_seen():
    mutant = "source.SystemWords._stream = lambda self, s=source._Stream((0, 0)): s"
    assert forked(mutant) == "16 4"


def test_either_sign_of_a_fork_is_enough():
    assert forked("source._count_fork.__code__ = (lambda: None).__code__") == "16 16"
    assert forked("source.os.getpid = lambda: 1") == "16 16"


def test_threads_share_no_words():
    words, drawn = SystemWords(), []

    def work() -> None:
        for _ in range(50):
            drawn.append(words.words(200))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(drawn) == 400
    assert distinct(*drawn)


def test_no_module_of_the_package_knows_another_generator():
    for path in Path(crowdtally.noise.__file__).parent.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"(np|numpy)\.random|(import|from) random|default_rng", text), (
            path.name
        )
