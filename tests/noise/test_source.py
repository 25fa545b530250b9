"""Where random words come from, uniform numbers made of them, and the seam to draw by."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
import threading
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import crowdtally.noise
from crowdtally.errors import UsageError
from crowdtally.laws.balls import Rate
from crowdtally.noise import source
from crowdtally.noise.draws import Draws, SystemDraws
from crowdtally.noise.exponential import choose
from crowdtally.noise.geometric import discrete_laplace, geometric
from crowdtally.noise.skip import hits
from crowdtally.noise.source import (
    SystemWords,
    Uniform,
    system_words,
    uniform_below,
    uniforms_below,
)
from kit.draws import ONES, Scripted, Seeded
from kit.sampler_checks import goodness

# ---- The source: uniform words, fresh keys in every thread and every process ---------------------


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


# ---- The lazily extended uniform, and integers below n -------------------------------------------


def test_extending_keeps_the_number():
    uniform, source = Uniform(), Scripted(3, ONES, 0)
    before = uniform.interval()
    for _ in range(3):
        uniform.extend(source)
        low, high = uniform.interval()
        assert before[0] <= low < high <= before[1]
        before = (low, high)
    assert low == Fraction(3, 2**64) + Fraction(ONES, 2**128)
    assert high - low == Fraction(1, 2**192)


def test_the_ends_as_balls_are_the_ends():
    uniform = Uniform(2**300 + 1, 320)
    for end, exact in zip(uniform.ends(), uniform.interval(), strict=True):
        assert end.is_exact()
        assert Fraction(*map(int, (end.fmpq().p, end.fmpq().q))) == exact


def test_every_small_n_is_uniform_over_its_words():
    """All words of 3 bits: each kept value has exactly one, the others are rejected."""
    for n in range(1, 9):
        bits = (n - 1).bit_length()
        kept = Counter()
        for word in range(2**bits):
            source = Scripted(word, 0)
            value = uniform_below(n, source)
            if source.used <= 1:
                kept[value] += 1
        assert kept == Counter(range(n))


def test_n_of_one_needs_no_word():
    assert uniform_below(1, Scripted()) == 0


def test_big_n_uses_all_its_words():
    n = 2**100
    assert uniform_below(n, Scripted(ONES, ONES)) == n - 1
    assert uniform_below(n - 1, Scripted(ONES, ONES, 1, 5)) == 2**64 + 5  # n−1 itself is rejected
    assert 0 <= uniform_below(10**400, system_words()) < 10**400


@pytest.mark.parametrize("n", [0, -3])
def test_nothing_to_choose_from(n):
    with pytest.raises(UsageError):
        uniform_below(n, Scripted())
    with pytest.raises(UsageError):
        uniforms_below(np.array([2, n]), Scripted())


def test_arrays_follow_each_their_own_bound():
    bounds = np.tile(np.array([1, 2, 3, 5, 2**63 - 1]), 40_000)
    drawn = uniforms_below(bounds, system_words()).reshape(-1, 5)
    assert drawn.dtype == np.uint64
    for column, n in enumerate((1, 2, 3, 5)):
        counts = np.bincount(drawn[:, column].astype(np.int64), minlength=n)
        verdict = goodness(counts, np.full(n, 1 / n))
        assert verdict.fits, f"below {n}: {verdict}"
    eighths = (drawn[:, 4] >> np.uint64(60)).astype(np.int64)
    assert goodness(np.bincount(eighths, minlength=8), np.full(8, 1 / 8)).fits


def test_bounds_up_to_the_last_word():
    top = np.array([2**64 - 1, 2**63, 2**63 + 1], dtype=np.uint64)
    values = uniforms_below(top, Scripted(ONES, ONES, 2**63, 7))
    assert values.tolist() == [7, 2**63 - 1, 2**63]


def test_object_bounds_are_python_integers():
    values = uniforms_below(np.array([10**30, 1], dtype=object), system_words())
    assert all(type(value) is int for value in values)
    assert values[1] == 0
    with pytest.raises(UsageError):
        uniforms_below(np.array([2.0]), Scripted())


# ---- The seam: one object, replaceable primitives ------------------------------------------------


def test_each_method_is_the_sampler_over_its_source():
    x = Fraction(1, 10)
    for method, expected in [
        (lambda d: d.geometric(x, 5), geometric(x, 5, Seeded(4))),
        (lambda d: d.laplace(1 / x, 5), discrete_laplace(1 / x, 5, Seeded(4))),
        (lambda d: d.hits(x, 100), hits(x, 100, Seeded(4))),
        (lambda d: [d.choose([1, 2, 3], x)], np.array([choose([1, 2, 3], x, Seeded(4))])),
    ]:
        assert list(method(SystemDraws(Seeded(4)))) == expected.tolist()


def test_the_default_source_is_the_systems():
    draws: Draws = SystemDraws()
    assert draws.geometric(Rate.of_probability(Fraction(1, 2)), 4).size == 4
    assert draws.bernoulli(Fraction(1, 3), 9).dtype == np.bool_
    assert draws.bernoulli_each(np.array([1]), np.array([1])).all()
    assert draws.choose([1], Fraction(1)) == 0
    assert draws.uniforms_below(np.array([1, 1])).tolist() == [0, 0]


def test_replacing_geometric_replaces_laplace():
    class Counting(SystemDraws):
        asked: list[tuple[Fraction, int]]

        def geometric(self, rate, size):
            self.asked.append((rate, size))
            return np.full(size, 10 if len(self.asked) % 2 else 3)

    draws = Counting()
    draws.asked = []
    assert draws.laplace(Fraction(5, 2), 4).tolist() == [7, 7, 7, 7]
    assert draws.asked == [(Fraction(2, 5), 4)] * 2


def test_no_draw_takes_a_seed():
    with pytest.raises(TypeError):
        SystemDraws(seed=1)
