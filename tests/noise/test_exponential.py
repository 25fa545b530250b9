"""The exponential mechanism and interval noise: exact weights, exact laws."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import accumulate, product
from math import comb, prod
from typing import Any

import numpy as np
import pytest

from crowdtally.errors import UsageError
from crowdtally.laws.interval import MOST_CELLS, IntervalNoise
from crowdtally.noise.draws import Draws, SystemDraws
from crowdtally.noise.exponential import choose, choose_group, eulerian, interval
from crowdtally.noise.source import system_words
from kit.draws import ONES, Scripted, Seeded
from kit.exact import ONE, exp_neg
from kit.exact import law as enumerated
from kit.sampler_checks import goodness

# ---- The exponential mechanism: exact weights, negligible ones included --------------------------


RUNS = 20_000


def law(scores, rate) -> np.ndarray:
    weights = np.exp([float(rate * (s - max(scores))) for s in scores])
    return weights / weights.sum()


@pytest.mark.parametrize(
    ("scores", "rate"),
    [
        ([0, 1, 2, 3], Fraction(1, 2)),
        ([3, 0, 3, 1, 0, 3], Fraction(1, 3)),
        ([Fraction(1, 3), Fraction(-5, 7), 0], Fraction(2)),
        ([10**30, 10**30 - 1, 10**30 - 1], Fraction(1)),
        (np.array([5, -5, 5, 4], dtype=np.int32), Fraction(1, 4)),
    ],
)
def test_frequencies_follow_the_weights(scores, rate):
    source = system_words()
    counts = np.bincount([choose(scores, rate, source) for _ in range(RUNS)], minlength=len(scores))
    exact = [s if isinstance(s, Fraction) else int(s) for s in scores]
    verdict = goodness(counts, law(exact, rate))
    assert verdict.fits, verdict
    assert not goodness(counts, law(exact, 2 * rate)).fits, "twice the rate passes too"


def test_multiplicities_count_as_candidates():
    source = system_words()
    scores, copies = [0, 2, 1], [1000, 3, 0]
    drawn = [choose_group(scores, copies, Fraction(1), source) for _ in range(RUNS - 1)]
    drawn.append(choose_group(np.array(scores), np.array(copies), Fraction(1), source))
    assert {g for g, _ in drawn} == {0, 1}
    assert all(0 <= r < copies[g] for g, r in drawn)
    weights = np.array([1000.0, 3 * np.exp(2)])
    counts = np.bincount([g for g, _ in drawn], minlength=2)
    assert goodness(counts, weights / weights.sum()).fits
    members = np.bincount([r // 100 for g, r in drawn if g == 0], minlength=10)
    assert goodness(members, np.full(10, 1 / 10)).fits


def exact_place(words: list[int], exponents: list[Fraction], counts: list[int]) -> int | None:
    """Which weight U = 0.w₁w₂… falls into, from brackets of e^(−y) in plain integers."""
    brackets = [exp_neg(-e) for e in exponents]
    lows = list(accumulate(c * low for c, (low, _) in zip(counts, brackets, strict=True)))
    highs = list(accumulate(c * high for c, (_, high) in zip(counts, brackets, strict=True)))
    head = 0
    for word in words:
        head = head << 64 | word
    unit = 1 << 64 * len(words)
    for j in range(len(counts)):
        last = j == len(counts) - 1
        if last or (head + 1) * highs[-1] <= lows[j] * unit:
            above = j == 0 or head * lows[-1] >= highs[j - 1] * unit
            return j if above else None
    return None


def boundary(exponents: list[Fraction], j: int, words: int) -> list[int]:
    """The first words of (e₀+…+e_j)/(e₀+…)."""
    weights = [exp_neg(-e)[0] for e in exponents]
    scaled = sum(weights[: j + 1]) * (ONE >> 8) // sum(weights)
    head = scaled * (1 << 64 * words) // (ONE >> 8)
    return [(head >> 64 * (words - 1 - i)) & ONES for i in range(words)]


def test_words_next_to_boundaries():
    """Descending scores 0, −1, …: words at every boundary, undecided ones with words behind."""
    rate = Fraction(1, 2)
    scores = list(range(0, -12, -1))
    exponents = [rate * s for s in scores]
    for j in range(len(scores) - 1):
        first, second = boundary(exponents, j, 2)
        for words in (
            [first - 1],
            [first + 1],
            [first, second - 1],
            [first, second + 1],
            [first, second, 0],
            [first, second, ONES],
        ):
            source = Scripted(*words, 1, 2, 3)
            chosen = choose(scores, rate, source)
            assert chosen == exact_place([*words, 1, 2, 3], exponents, [1] * len(scores))
            assert chosen in (j, j + 1)
            assert source.used >= (2 if words[0] == first else 1), "an undecided word was decided"


def test_the_negligible_take_part():
    """e^(−100) of the weight is at the end: 145 ones lead there."""
    words = [ONES, ONES, ONES, 5]
    assert choose([0, -100], Fraction(1), Scripted(*words)) == 1
    assert exact_place(words, [Fraction(0), Fraction(-100)], [1, 1]) == 1
    words = [ONES, ONES, 5, 7]
    assert choose([0, -100], Fraction(1), Scripted(*words)) == 0
    assert exact_place(words, [Fraction(0), Fraction(-100)], [1, 1]) == 0
    assert choose([0, -700, -100], Fraction(1), Scripted(*[ONES] * 16, 3)) == 1


def test_scores_far_apart():
    source = system_words()
    for scores in ([0, 10**9], [0, 10**300], [-(10**9), 0, -(10**18)], [Fraction(1, 3), 10**9]):
        for _ in range(50):
            assert scores[choose(scores, Fraction(1), source)] == max(scores)


def test_equal_scores_are_uniform_whatever_they_are():
    source = system_words()
    drawn = [choose([-(10**12)] * 5, Fraction(1), source) for _ in range(RUNS)]
    assert goodness(np.bincount(drawn, minlength=5), np.full(5, 1 / 5)).fits


def test_many_candidates_with_few_scores():
    scores = np.tile(np.arange(100), 100_000)
    index = choose(scores, Fraction(1), system_words())
    assert 0 <= index < scores.size
    assert scores[index] > 50


def test_the_order_of_candidates_does_not_matter():
    for scores, best in (([5, 1, 5, 9], 3), ([9, 5, 5, 1], 0)):
        assert choose(scores, Fraction(1), Scripted(0)) == best
    assert choose([1, 5, 5], Fraction(1), Scripted(0, 1)) == 2  # the second of the equals


@pytest.mark.parametrize(
    "scores", [[], [1.0, 2], [True, 2], [None], np.array([1.0]), np.array([[1]]), ["1"]]
)
def test_inexact_scores_are_refused(scores):
    with pytest.raises(UsageError):
        choose(scores, Fraction(1), Scripted())


@pytest.mark.parametrize("rate", [Fraction(0), Fraction(-1), 0.5])
def test_a_rate_must_be_positive_and_exact(rate):
    with pytest.raises(UsageError):
        choose([1, 2], rate, Scripted())


@pytest.mark.parametrize("copies", [[1], [1, -1], [0, 0], [1.0, 2], []])
def test_multiplicities_must_be_numbers_of_candidates(copies):
    with pytest.raises(UsageError):
        choose_group([1, 2], copies, Fraction(1), Scripted())


# ---- Interval noise: its exact law, path by path, and what its numbers look like -----------------


RATE = Fraction(3, 7)
ORDERS = {1: 6, 2: 4, 3: 3, 4: 2}
"""For so many cells, the powers of q = e^(−rate) up to which every path is run."""


class Formal:
    """Primitives on which q is a letter: a path has a rational weight, times a power of q."""

    def __init__(self, steps: int, geometrics: tuple[int, ...], uniforms: tuple[int, ...]) -> None:
        self.script = steps, geometrics, uniforms
        self.weight, self.power = Fraction(1), 0

    def choose_among(self, scores: Any, multiplicities: Any, rate: Fraction) -> int:
        assert rate == RATE
        assert list(scores) == list(range(0, -len(multiplicities), -1))
        steps = self.script[0]
        self.weight *= multiplicities[steps]
        self.power -= scores[steps]
        return steps

    def geometric(self, rate: Fraction, size: int) -> np.ndarray:
        assert (rate, size) == (RATE, len(self.script[1]))
        self.power += sum(self.script[1])
        return np.array(self.script[1], dtype=np.int64)

    def uniforms_below(self, bounds: np.ndarray) -> np.ndarray:
        limits = bounds.tolist()
        assert len(limits) == len(self.script[2])
        assert all(0 <= u < n for u, n in zip(self.script[2], limits, strict=True))
        self.weight /= prod(limits)
        return np.array(self.script[2], dtype=np.uint64)

    def interval(self, size: int) -> tuple[int, ...]:
        drawn = interval(self.geometric, self.choose_among, self.uniforms_below, RATE, size)
        return tuple(int(z) for z in drawn)


def sums(parts: int, total: int) -> Iterator[tuple[int, ...]]:
    """Every way to write a total as a sum of so many numbers."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        yield from ((first, *rest) for rest in sums(parts - 1, total - first))


def norm(z: tuple[int, ...]) -> int:
    return max(*z, 0) + max(*(-value for value in z), 0)


Series = dict[tuple[int, ...], list[Fraction]]


@cache
def law_interval(cells: int) -> Series:
    """For each outcome, its coefficients of q^0, q^1, …, from every path of the sampler itself."""
    order = ORDERS[cells]
    found: Series = defaultdict(lambda: [Fraction(0)] * (order + 1))
    for width in range(order + 1):
        for steps in range(min(width, cells) + 1):
            for geometrics in sums(cells + 2, width - steps):
                for uniforms in product(range(width + 1), repeat=cells + 1):
                    path = Formal(steps, geometrics, uniforms)
                    z = path.interval(cells)
                    found[z][path.power] += path.weight
    return dict(found)


@pytest.mark.parametrize("cells", ORDERS)
def test_its_law_is_exact(cells: int) -> None:
    """Σ_s (s − ‖z‖ + 1)·q^s = q^‖z‖/(1−q)²: proportional to e^(−rate·‖z‖), coefficient by one."""
    order, found = ORDERS[cells], law_interval(cells)
    for z, series in found.items():
        assert series == [max(power - norm(z) + 1, 0) for power in range(order + 1)], z
    within = product(range(-order, order + 1), repeat=cells)
    assert set(found) == {z for z in within if norm(z) <= order}


@pytest.mark.parametrize("cells", [1, 2, 3, 4])
def test_one_user_costs_epsilon_in_whichever_cells(cells: int) -> None:
    """The loss between two outcomes is the rate times the difference of their first powers."""
    found = {
        z: next(p for p, c in enumerate(series) if c) for z, series in law_interval(cells).items()
    }
    most = {"one way": 0, "both ways": 0}
    for z, power in found.items():
        for change in product((-1, 0, 1), repeat=cells):
            moved = tuple(a + b for a, b in zip(z, change, strict=True))
            if moved in found:
                kind = "both ways" if {-1, 1} <= set(change) else "one way"
                most[kind] = max(most[kind], abs(found[moved] - power))
    assert most["one way"] == 1
    assert most["both ways"] == (2 if cells > 1 else 0)  # counts that may change so are kept out


@pytest.mark.parametrize("cells", [1, 2, 3, 7, 20])
def test_widths_have_their_law_by_worpitzkys_identity(cells: int) -> None:
    """(s+1)^(K+1) = Σ_j ⟨K+1, j⟩·C(s−j+K+1, K+1), as integers."""
    row = eulerian(cells + 1)
    assert len(row) == cells + 1
    for width in range(3 * cells + 40):
        mixed = sum(
            times * comb(width - steps + cells + 1, cells + 1)
            for steps, times in enumerate(row)
            if steps <= width
        )
        assert mixed == (width + 1) ** (cells + 1)


def test_rows_of_eulerian_numbers() -> None:
    row = [1]
    for n in range(2, 60):
        row = [
            (k + 1) * (row[k] if k < n - 1 else 0) + (n - k) * (row[k - 1] if k else 0)
            for k in range(n)
        ]
        assert list(eulerian(n)) == row


@pytest.mark.parametrize("phantoms", [0, 1])
def test_a_table_of_it_has_the_law_that_it_states(phantoms: int) -> None:
    """Every run of a whole draw, with probabilities as floats: one cell, with and without one."""
    told = IntervalNoise(Fraction(4), 1, phantoms)
    found = enumerated(lambda draws: int(told.draw(draws, 1)[0]), reach=4, floor=1e-9)
    exact = {k: float(np.exp(told.log_probabilities([k]))[0]) for k in range(-20, 21)}
    assert found.misfit(exact.__getitem__) < 1e-9
    assert found.left_out < 1e-4


def seeded(cells: int, rate: Fraction, times: int) -> np.ndarray:
    draws = SystemDraws(Seeded(11))
    return np.stack([draws.interval(rate, cells) for _ in range(times)])


CELLS, SOME = 3, Fraction(1, 2)


@pytest.fixture(scope="module")
def drawn() -> np.ndarray:
    return seeded(CELLS, SOME, 6_000)


def of_largest(cells: int, rate: Fraction, reach: int) -> np.ndarray:
    """Pr[max z = k] for k = −reach … reach, over all s and A: max z = A − min U."""
    found = np.zeros(2 * reach + 1)
    widths = np.arange(reach)
    weights = (widths + 1.0) ** (cells + 1) * np.exp(-float(rate) * widths)
    for width, weight in zip(widths.tolist(), (weights / weights.sum()).tolist(), strict=True):
        above = (np.arange(width + 1, -1, -1) / (width + 1)) ** cells  # Pr[min U ≥ m]
        least = above[:-1] - above[1:]
        for shift in range(width + 1):
            found[reach + shift - width : reach + shift + 1] += weight / (width + 1) * least[::-1]
    return found


def histogram(values: np.ndarray, reach: int) -> np.ndarray:
    return np.bincount(values + reach, minlength=2 * reach + 1)


@pytest.mark.parametrize(
    ("of", "sign"),
    [(lambda z: z.max(axis=1), 1), (lambda z: -z.min(axis=1), 1)],
    ids=["largest", "smallest"],
)
def test_the_largest_and_the_smallest_have_their_law(
    drawn: np.ndarray, of: Callable[[np.ndarray], np.ndarray], sign: int
) -> None:
    reach = 120
    assert goodness(histogram(of(drawn), reach), of_largest(CELLS, SOME, reach)).fits
    wrong = of_largest(CELLS + 1, SOME, reach)
    assert not goodness(histogram(of(drawn), reach), wrong).fits


def test_every_cell_has_its_margin(drawn: np.ndarray) -> None:
    reach = 120
    values = np.arange(-reach, reach + 1)
    exact = np.exp(IntervalNoise(SOME, CELLS).log_probabilities(values))
    for cell in range(CELLS):
        assert goodness(histogram(drawn[:, cell], reach), exact / exact.sum()).fits
    wrong = np.exp(IntervalNoise(SOME, CELLS - 1).log_probabilities(values))
    assert not goodness(histogram(drawn[:, 0], reach), wrong / wrong.sum()).fits


def test_any_two_cells_have_correlation_one_half(drawn: np.ndarray) -> None:
    found = np.corrcoef(drawn.T)[np.triu_indices(CELLS, 1)]
    assert np.abs(found - 0.5).max() < 6 / np.sqrt(len(drawn))


def test_it_is_built_on_three_primitives() -> None:
    class Noting(SystemDraws):
        asked: list[str]

        def choose_among(self, scores: Any, multiplicities: Any, rate: Any) -> int:
            self.asked.append(f"among {len(scores)}")
            return super().choose_among(scores, multiplicities, rate)

        def geometric(self, rate: Any, size: int) -> Any:
            self.asked.append(f"geometric {size}")
            return super().geometric(rate, size)

        def uniforms_below(self, bounds: Any) -> Any:
            self.asked.append(f"uniforms {len(bounds)}")
            return super().uniforms_below(bounds)

    draws: Draws = Noting()
    draws.asked = []  # type: ignore[attr-defined]
    assert draws.interval(Fraction(1), 5).shape == (5,)
    assert draws.asked == ["among 6", "geometric 7", "uniforms 6"]  # type: ignore[attr-defined]


def test_numbers_beyond_64_bits_are_python_integers() -> None:
    drawn = SystemDraws(Seeded(3)).interval(Fraction(1, 10**30), 4)
    assert drawn.dtype == object
    assert max(abs(z) for z in drawn) > 2**64
    script = Formal(0, (2**62 - 1, 0, 0), (5, 2**62 - 1))
    assert script.interval(1) == (5 - (2**62 - 1),)


def test_negative_numbers_do_not_wrap_round() -> None:
    assert Formal(0, (3, 0, 0), (0, 3)).interval(1) == (-3,)


@pytest.mark.parametrize(
    ("rate", "size", "words"),
    [
        (Fraction(1), 0, "1 to 4096 cells"),
        (Fraction(1), MOST_CELLS + 1, "1 to 4096 cells"),
        (Fraction(1), True, "1 to 4096 cells"),
        (Fraction(0), 2, "greater than 0"),
        (Fraction(-1), 2, "greater than 0"),
        (0.5, 2, "exact Fraction"),
    ],
)
def test_wrong_sizes_and_rates_are_refused(rate: Any, size: int, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        SystemDraws().interval(rate, size)


@pytest.mark.parametrize("cells", [600, pytest.param(MOST_CELLS, marks=pytest.mark.long)])
def test_many_cells_can_be_drawn(cells: int) -> None:
    assert SystemDraws().interval(Fraction(1, 10), cells).shape == (cells,)
