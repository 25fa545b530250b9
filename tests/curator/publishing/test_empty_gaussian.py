"""Empty cells under Gaussian noise: the short cut has the law of the whole noisy table."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from crowdtally.core.counts import Counts, Keeping
from crowdtally.curator.summaries.sparse import (
    draw_sample,
    empty_cells,
    empty_values,
    inclusion_probability,
)
from crowdtally.laws.balls import Real
from crowdtally.laws.gaussian import GaussianNoise
from crowdtally.noise.draws import SystemDraws
from kit.chisquare import goodness
from kit.enumerated import gaussian, law

RULES = [Keeping(1), Keeping(2), *(Keeping(cut, None, "one") for cut in (0, 1, 3))]
VARIANCE = Fraction(7, 5)
LAW = GaussianNoise(VARIANCE)


def counts(size: int, listed: list[int]) -> Counts:
    cells = np.array(listed, dtype=np.int64)
    return Counts(size, cells, np.full(len(cells), 5, dtype=np.int64), 5 * max(len(cells), 1))


def short_cut(keeping: Keeping, draws: Any) -> tuple[tuple[int, int], ...]:
    """Kept cells of two empty ones among three, with their values."""
    cells = empty_cells(counts(3, [1]), LAW, keeping, draws)
    values = empty_values(len(cells), LAW, keeping, draws)
    return tuple(zip(cells.tolist(), values.tolist(), strict=True))


@pytest.mark.parametrize("keeping", RULES, ids=str)
def test_the_short_cut_has_the_law_of_the_whole_table(keeping: Keeping) -> None:
    """Every outcome: the product over both empty cells of the noise's own probabilities."""

    def kept(value: int) -> bool:
        return (abs(value) if keeping.sides == "two" else value) >= keeping.cut

    dropped = sum(gaussian(VARIANCE, k) for k in range(-40, 41) if not kept(k))

    def laborious(outcome: tuple[tuple[int, int], ...]) -> float:
        found, chance = dict(outcome), 1.0
        assert set(found) <= {0, 2}, "a listed cell is no empty one"
        for cell in (0, 2):
            chance *= gaussian(VARIANCE, found[cell]) if cell in found else dropped
            assert cell not in found or kept(found[cell])
        return chance

    found = law(lambda draws: short_cut(keeping, draws), reach=6, floor=1e-6)
    assert found.left_out < 1e-3
    assert found.misfit(laborious) < 1e-5


@pytest.mark.parametrize("variance", ["1/3", "100", "1e12"])
@pytest.mark.parametrize("sides", ["one", "two"])
def test_the_probability_is_known_by_ever_smaller_balls(variance: str, sides: Any) -> None:
    v = Fraction(variance)
    keeping = Keeping(1 + int(2 * v**0.5), None, sides)
    p = inclusion_probability(GaussianNoise(v), keeping)
    assert isinstance(p, Real)
    balls = [p.enclose(bits) for bits in (64, 200, 1000)]
    assert all(
        ball.rel_accuracy_bits() >= bits for ball, bits in zip(balls, (64, 200, 1000), strict=True)
    )
    assert balls[0].overlaps(balls[1])
    assert balls[1].overlaps(balls[2])
    assert (
        p.key != inclusion_probability(GaussianNoise(v), Keeping(keeping.cut + 1, None, sides)).key
    )  # type: ignore[union-attr]
    assert p == inclusion_probability(GaussianNoise(v * 2 / 2), keeping)


def test_over_many_cells_numbers_and_values_fit() -> None:
    """10^18 cells, of which about 3000 are expected to pass."""
    wide, keeping, draws = GaussianNoise(Fraction(10**6)), Keeping(7925), SystemDraws()
    p = inclusion_probability(wide, keeping)
    assert isinstance(p, Real)
    expected = float(p.enclose(64)) * 10**18
    assert 1000 < expected < 5000
    cells = empty_cells(counts(10**18, [7]), wide, keeping, draws)
    assert abs(len(cells) - expected) < 6 * expected**0.5
    assert (np.diff(cells) > 0).all()
    values = empty_values(100_000, wide, keeping, draws)
    steps = np.arange(7925, 9000)
    weights = np.exp(-(steps.astype(float) ** 2 - 7925.0**2) / 2e6)
    seen = np.bincount(np.minimum(np.abs(values) - 7925, len(steps) - 1), minlength=len(steps))
    assert goodness(seen, weights / weights.sum()).fits


def test_all_cells_are_kept_without_a_cut() -> None:
    assert inclusion_probability(LAW, Keeping()) == 1
    values = empty_values(1000, LAW, Keeping(), SystemDraws())
    assert {-1, 0, 1} <= set(values.tolist())


@pytest.mark.parametrize("sides", ["one", "two"])
def test_a_sample_is_that_of_what_passes_the_cut(sides: Any) -> None:
    """Every outcome of a listed and an empty cell: noise, the cut, a coin of min(w/τ, 1)."""
    keeping = Keeping(2, Fraction(7, 2), sides)

    def sampled(draws: Any) -> tuple[tuple[int, int], ...]:
        cells, values = draw_sample(counts(2, [1]), LAW, keeping, draws)
        return tuple(zip(cells.tolist(), values.tolist(), strict=True))

    def chance(value: int) -> float:
        weight = abs(value) if sides == "two" else value
        return 0.0 if weight < keeping.cut else min(weight / 3.5, 1.0)

    def seen(held: int, found: int | None) -> float:
        if found is not None:
            return gaussian(VARIANCE, found - held) * chance(found)
        return sum(gaussian(VARIANCE, k) * (1 - chance(held + k)) for k in range(-40, 41))

    def laborious(outcome: tuple[tuple[int, int], ...]) -> float:
        found = dict(outcome)
        return seen(0, found.get(0)) * seen(5, found.get(1))

    found = law(sampled, reach=6, floor=1e-6)
    assert found.left_out < 1e-3
    assert found.misfit(laborious) < 1e-5
