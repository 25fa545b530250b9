"""Gaussian noise word by word: cells against exact integers, coins, rejection, tails, refusals."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from flint import arb

from crowdtally.errors import UsageError
from crowdtally.laws.balls import precision
from crowdtally.noise import gaussian
from crowdtally.noise import geometric as blocks
from crowdtally.noise.bernoulli import falling
from crowdtally.noise.draws import SystemDraws
from crowdtally.noise.gaussian import CellLaw, discrete_gaussian, gaussian_beyond
from crowdtally.noise.geometric import Table, table
from crowdtally.noise.source import system_words
from kit.draws import ONES, Scripted, Seeded
from kit.exact import ONE, PLACES, exp_neg
from kit.sampler_checks import ExactCells

CASES = [
    ("1/8", (0, 1), 0),
    ("2", (0, 1), 0),
    ("100/3", (0, 1), 0),
    ("800", (0, 1), 3),
    ("100/3", (17, 17), 0),
    ("100/3", (0,), 0),
    ("800", (100,), 2),
    ("1/1000", (0, 1), 0),
]


@cache
def reference(variance: str, starts: tuple[int, ...], shift: int) -> ExactCells:
    return ExactCells(Fraction(variance), starts, shift)


def signed(law: CellLaw, cell: int, offset: int = 0) -> int:
    """By the definition: sides take turns, the second one is negative."""
    distance = law.nearest(cell) + offset
    return -distance if cell % len(law.starts) else distance


# ---- cells -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("variance", "starts", "shift"), CASES)
def test_each_word_near_a_boundary_gets_its_exact_cell(variance, starts, shift):
    law = CellLaw(Fraction(variance), starts, shift)
    exact, ready = reference(variance, starts, shift), Table(law)
    for word in [w + step for w in exact.boundary_words(5) for step in (-1, 0, 1)]:
        for tail in ([0, 1], [2**63, 12345], [ONES, 99]):
            source = Scripted(*tail, 77, 88)
            cell = int(ready.digits(np.array([word], dtype=np.uint64), source)[0])
            assert cell == exact.cell([word, *tail, 77, 88]), f"word {word}, then {tail}"


@pytest.mark.parametrize(("variance", "starts", "shift"), CASES)
def test_a_word_that_touches_a_boundary_waits_for_the_next_one(variance, starts, shift):
    law = CellLaw(Fraction(variance), starts, shift)
    exact, ready = reference(variance, starts, shift), Table(law)
    for number, word in enumerate(exact.boundary_words(6)):
        if word == 0 or exact.cell([word]) is not None:
            continue
        low = Scripted(0, 0, 0, 0)
        high = Scripted(ONES, ONES, ONES, ONES)
        drawn = [int(ready.digits(np.array([word], dtype=np.uint64), s)[0]) for s in (low, high)]
        assert drawn == [number, number + 1], "another word took its place"
        assert min(low.used, high.used) >= 1


@pytest.mark.parametrize(("variance", "starts", "shift"), CASES)
def test_tables_are_sorted_open_and_of_certified_width(variance, starts, shift):
    ready = Table(CellLaw(Fraction(variance), starts, shift))
    assert ready.above.dtype == ready.below.dtype == np.uint64
    assert (np.sort(ready.above) == ready.above).all()
    assert ready.below.size == ready.above.size + 1
    assert (ready.above - ready.below[:-1] <= 2).all()
    assert ready.search(np.array([ONES], dtype=np.uint64))[1].size == 1, "the tail is closed"


@pytest.mark.parametrize("ones", [1, 2, 3, 5])
@pytest.mark.parametrize("starts", [(0, 1), (17, 17), (17,)])
def test_all_ones_reach_beyond_the_table(ones, starts):
    law = CellLaw(Fraction("100/3"), starts, 0)
    exact, ready = reference("100/3", starts, 0), Table(law)
    script = [ONES] * ones + [15 << 60, 3, 4]
    cell = int(ready.digits(np.array(script[:1], dtype=np.uint64), Scripted(*script[1:]))[0])
    assert cell == exact.cell(script)
    assert cell > ready.above.size


@pytest.mark.parametrize(("variance", "starts", "shift"), CASES)
@pytest.mark.parametrize("bits", [16, 64, 300])
def test_the_sum_of_all_weights_holds_what_is_not_listed(variance, starts, shift, bits):
    exact = reference(variance, starts, shift)
    with precision(2 * PLACES):  # so that no rounding hides what is left out
        listed, total = CellLaw(Fraction(variance), starts, shift).weights(bits)
        low, high = (arb((side, -PLACES)) for side in exact.total)
        assert total.lower() <= high
        assert total.upper() >= low
        assert sum((weight.upper() for weight in listed), arb(0)) < low, "more are listed"


def test_cells_follow_the_length_over_which_the_law_falls():
    """Narrow laws have one integer a cell; wide ones 1/128 to 1/64 of σ, or of σ²/κ."""
    assert [CellLaw.of(Fraction(v), (0, 1)).shift for v in ("1/8", 1, 100, 8000)] == [0] * 4
    for variance, start in [(10**12, 0), (10**12, 10**9), (10**40, 10**20), (7**30, 1)]:
        size = 1 << CellLaw.of(Fraction(variance), (start, start + 1)).shift
        length = variance / (variance**0.5 + start)
        assert length / 130 < size <= length / 64


def test_tables_are_built_once_for_each_exact_variance():
    first = table(CellLaw.of(Fraction(1, 10), (0, 1)))
    assert first is table(CellLaw.of(Fraction(10, 100), (0, 1)))
    assert first is not table(CellLaw.of(Fraction(0.1), (0, 1)))
    assert first is not table(CellLaw.of(Fraction(1, 10), (1, 1)))


# ---- integers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("variance", ["1/8", "2", "100/3"])
def test_scripted_words_become_the_exact_number(variance):
    law, exact = CellLaw.of(Fraction(variance), (0, 1)), reference(variance, (0, 1), 0)
    words = Seeded(7).words(60).tolist()
    drawn = discrete_gaussian(Fraction(variance), 60, Scripted(*words))
    assert drawn.tolist() == [signed(law, exact.cell([word])) for word in words]


def test_every_integer_has_one_cell():
    """0 is not there twice, and neither side has a gap."""
    for law in (CellLaw(Fraction(9), (0, 1), 0), CellLaw(Fraction(9), (0, 1), 2)):
        found = [signed(law, cell, d) for cell in range(40) for d in range(1 << law.shift)]
        reach = 20 << law.shift
        assert sorted(found) == list(range(-reach, reach))
    law = CellLaw(Fraction(9), (5, 5), 1)
    found = [signed(law, cell, d) for cell in range(40) for d in range(2)]
    assert sorted(found) == [*range(-44, -4), *range(5, 45)]
    law = CellLaw(Fraction(9), (5,), 1)
    assert [signed(law, cell, d) for cell in range(40) for d in range(2)] == list(range(5, 85))


def test_the_variance_is_not_the_deviation():
    """At σ² = 1/2 zero has the probability 1/θ₃(e^(−1)): U just below and above it."""
    exact = reference("1/2", (0, 1), 0)
    word = exact.boundary_words(1)[0]
    assert word / 2**64 == pytest.approx(1 / 1.7726372048266521, rel=1e-12)
    assert discrete_gaussian(Fraction(1, 2), 1, Scripted(word - 1)).tolist() == [0]
    assert discrete_gaussian(Fraction(1, 2), 1, Scripted(word + 1)).tolist() == [-1]


WIDE = Fraction(10**12)


def wide_law() -> CellLaw:
    return CellLaw.of(WIDE, (0, 1))


def test_a_rejected_proposal_is_drawn_anew_and_a_taken_one_is_not():
    """First all cells, then all offsets, then all coins; only what was rejected comes again."""
    law = wide_law()
    size = 1 << law.shift
    cells = [3 << 62, 1 << 62]
    first = [*cells, size - 1, size - 1, ONES, 0]  # the first is rejected, the second is not
    again = [7 << 61, size - 1, ONES, 2**63, (5 << 40) + 7, 1]  # rejected once more, then taken
    drawn = discrete_gaussian(WIDE, 2, Scripted(*first, *again))
    numbers = [int(table(law).search(np.array([w], dtype=np.uint64))[0][0]) for w in cells]
    other = int(table(law).search(np.array([2**63], dtype=np.uint64))[0][0])
    assert drawn.tolist() == [signed(law, other, 7), signed(law, numbers[1], size - 1)]


def acceptance(law: CellLaw, cell: int, offset: int) -> int:
    """⌊2^64·h(k)/h(p)⌋: the first word that is not surely accepted."""
    near, far = law.nearest(cell), law.nearest(cell) + offset
    low, _ = exp_neg((Fraction(far) ** 2 - Fraction(near) ** 2) / (2 * law.variance))
    return low >> (PLACES - 64)


@pytest.mark.parametrize(
    ("variance", "least"), [("1e12", None), ("1e12", 4 * 10**7), ("1e60", None), ("1e6", 2000)]
)
def test_floats_of_the_acceptance_are_near_the_exact_ones(variance, least, monkeypatch):
    """Within 2^−40, as the filter's proof needs; and the exact ones are (k² − p²)/(2σ²)."""
    asked = []

    def noting(near, exact, words, source):
        asked.extend((float(near[i]), exact(i)) for i in range(len(near)))
        return np.ones(len(near), dtype=bool)

    monkeypatch.setattr(gaussian, "falling", noting)
    v, size = Fraction(variance), 300
    if least is None:
        drawn = discrete_gaussian(v, size, Seeded(3))
    else:
        drawn = gaussian_beyond(v, least, "two", size, Seeded(3))
    law = CellLaw.of(v, (0, 1) if least is None else (least, least))
    for (near, exact), value in zip(asked, drawn.tolist(), strict=True):
        start = law.starts[int(value < 0)]
        offset = (abs(value) - start) % (1 << law.shift)
        assert exact == (Fraction(value) ** 2 - (abs(value) - offset) ** 2) / (2 * v)
        assert abs(Fraction(near) - exact) < Fraction(1, 1 << 40)
    assert max(near for near, _ in asked) > 0.01


@pytest.mark.parametrize("word", [1 << 60, 1 << 62, 3 << 62, (1 << 64) - (1 << 50)])
@pytest.mark.parametrize("part", [Fraction(1, 3), Fraction(99, 100)])
def test_acceptance_is_exact_at_its_boundary(word, part):
    """One word below it is taken, one above is not, the word that holds it waits for another."""
    law = wide_law()
    cell = int(table(law).search(np.array([word], dtype=np.uint64))[0][0])
    offset = int(part * (1 << law.shift)) | 1
    edge = acceptance(law, cell, offset)
    taken = signed(law, cell, offset)
    other = [2**63, 0, 0]  # the proposal that follows a rejected one: taken, as its offset is 0
    for coin, accepted in [([edge - 1], True), ([edge + 1], False), ([edge, 0, 0], True),
                           ([edge, ONES, ONES], False)]:  # fmt: skip
        source = Scripted(word, offset, *coin, *other, 5, 5, 5)
        drawn = discrete_gaussian(WIDE, 1, source).tolist()
        assert (drawn == [taken]) == accepted, f"coin {coin}"
        assert source.used >= (3 if len(coin) == 1 else 4)


HUGE = Fraction(2**124)
"""σ = 2^62: a cell has 2^55 integers, so 2^8 cells of a side leave int64."""


@pytest.mark.parametrize("ones", [0, 1, 3])
def test_numbers_beyond_int64_are_python_integers(ones):
    law, words = CellLaw.of(HUGE, (0, 1)), [*[ONES] * ones, 1 << 63]
    rest = Scripted(*words[1:], 7)
    cell = int(table(law).digits(np.array(words[:1], dtype=np.uint64), rest)[0])
    drawn = discrete_gaussian(HUGE, 1, Scripted(*words[: 1 + rest.used], 9, 0))
    assert drawn[0] == signed(law, cell, 9)
    assert drawn.dtype == (object if ones else np.int64)
    assert (abs(drawn[0]) > 2**63) == bool(ones)


def test_one_big_number_among_blocks_makes_them_all_python_integers(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK", 1)
    small, big = [1 << 60, 9, 0], [ONES, 1 << 63, 9, 0]
    drawn = discrete_gaussian(HUGE, 3, Scripted(*small, *big, *small))
    assert drawn.dtype == object
    assert all(type(value) is int for value in drawn)
    assert drawn[0] == drawn[2]
    assert abs(drawn[0]) < 2**63 < abs(drawn[1])


@pytest.mark.parametrize("variance", [Fraction(10) ** 60, Fraction(10) ** 300])
def test_huge_variances(variance):
    drawn = discrete_gaussian(variance, 300, system_words())
    assert drawn.dtype == object
    assert min(drawn) < 0 < max(drawn)
    mean = sum(value**2 for value in drawn) / (300 * variance)
    assert 0.6 < mean < 1.6
    assert len({value % 256 for value in drawn}) > 100


def test_a_tiny_variance_still_has_a_tail():
    """e^(−800) is 2^−1154: after 19 words of ones a 1 is possible, and is returned."""
    variance = Fraction(1, 1600)
    assert not discrete_gaussian(variance, 10_000, system_words()).any()
    assert abs(discrete_gaussian(variance, 1, Scripted(*[ONES] * 19, 3, 4))[0]) == 1
    assert discrete_gaussian(Fraction(1, 10**300), 1, Scripted(ONES, ONES, 5)).tolist() == [0]


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_537])
@pytest.mark.parametrize("variance", [Fraction(100), WIDE])
def test_sizes(size, variance):
    assert discrete_gaussian(variance, size, system_words()).size == size
    assert gaussian_beyond(variance, 40, "two", size, system_words()).size == size


# ---- beyond a cut ------------------------------------------------------------------------------


def test_beyond_a_cut_sides_and_least_values():
    two = gaussian_beyond(Fraction(50), 9, "two", 20_000, system_words())
    assert two.min() < -9
    assert set(np.abs(two).tolist()) >= {9, 10, 11}
    assert np.abs(two).min() == 9
    one = gaussian_beyond(Fraction(50), 9, "one", 20_000, system_words())
    assert one.min() == 9
    assert gaussian_beyond(Fraction(50), 0, "one", 20_000, system_words()).min() == 0


@pytest.mark.parametrize(("starts", "sides"), [((17, 17), "two"), ((17,), "one")])
def test_scripted_words_beyond_a_cut(starts, sides):
    law, exact = CellLaw(Fraction("100/3"), starts, 0), reference("100/3", starts, 0)
    words = Seeded(11).words(60).tolist()
    drawn = gaussian_beyond(Fraction("100/3"), 17, sides, 60, Scripted(*words))
    assert drawn.tolist() == [signed(law, exact.cell([word])) for word in words]


def test_far_beyond_a_cut_nothing_is_rejected_for_long():
    """κ = 10^6·σ: the law falls over σ²/κ, and cells follow that."""
    drawn = gaussian_beyond(Fraction(10**30), 10**21, "one", 1000, system_words())
    assert drawn.dtype == object or drawn.dtype == np.int64
    assert 0.7 < float(np.mean([float(v - 10**21) for v in drawn.tolist()])) / 10**9 < 1.4


# ---- coins -------------------------------------------------------------------------------------


@pytest.mark.parametrize("x", ["1/1000", "1/10", "1/4", "3/10", "7", "1/10000000"])
def test_a_coin_is_exact_at_its_boundary(x):
    exponent = Fraction(x)
    edge = exp_neg(exponent)[0] >> (PLACES - 64)
    near = np.array([float(exponent)])

    def coin(word: int, *more: int) -> tuple[bool, int]:
        source = Scripted(*more)
        words = np.array([word], dtype=np.uint64)
        return bool(falling(near, lambda _: exponent, words, source)[0]), source.used

    for step in (1, 2, 1 << 20, 1 << 43, 1 << 44, 1 << 45):
        if edge - step >= 0:
            assert coin(edge - step) == (True, 0)
        if edge + step <= ONES:
            assert coin(edge + step) == (False, 0)
    assert coin(edge, 0, 0, 0)[0] is True
    assert coin(edge, ONES, ONES, ONES)[0] is False
    assert coin(edge, 0, 0, 0)[1] >= 1


def test_a_coin_of_probability_one_is_always_true():
    words = np.array([0, 2**63, ONES - 1, ONES], dtype=np.uint64)
    assert falling(np.zeros(4), lambda _: Fraction(0), words, Scripted()).all()


def test_the_filter_is_nearer_than_its_doubt():
    """The polynomial in floats against brackets, all over 0 … 1/4."""
    for step in range(0, 251, 5):
        x = Fraction(step, 1000)
        near = float(x)
        inner = 1 - near / 3 * (1 - near / 4 * (1 - near / 5))
        found = 1 - near * (1 - near / 2 * inner)
        low, high = exp_neg(x)
        assert abs(Fraction(found) - Fraction(low + high, 2 * ONE)) < Fraction(1, 1 << 21)


# ---- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize("variance", [Fraction(0), Fraction(-1), 10.0, "10", True])
def test_wrong_variances_are_refused(variance):
    with pytest.raises(UsageError, match="variance"):
        discrete_gaussian(variance, 1, Scripted())
    with pytest.raises(UsageError, match="variance"):
        gaussian_beyond(variance, 1, "two", 1, Scripted())


@pytest.mark.parametrize("size", [-1, 1.0, True, None])
def test_wrong_sizes_are_refused(size):
    with pytest.raises(UsageError):
        discrete_gaussian(Fraction(1), size, Scripted())


@pytest.mark.parametrize(("least", "sides"), [(0, "two"), (-1, "one"), (1.5, "two")])
def test_wrong_cuts_are_refused(least, sides):
    """Both sides from 0 on would have 0 twice."""
    with pytest.raises(UsageError, match="cut"):
        gaussian_beyond(Fraction(1), least, sides, 1, Scripted())


def test_draws_have_it():
    first = SystemDraws(Seeded(4)).gaussian(Fraction(7), 9)
    assert first.tolist() == discrete_gaussian(Fraction(7), 9, Seeded(4)).tolist()
    second = SystemDraws(Seeded(4)).gaussian_beyond(Fraction(7), 3, "one", 9)
    assert second.tolist() == gaussian_beyond(Fraction(7), 3, "one", 9, Seeded(4)).tolist()
