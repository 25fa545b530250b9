"""Interval noise as a law: its deviations, intervals and probabilities against other ways."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from functools import cache
from itertools import product
from math import exp, sqrt
from typing import Any

import numpy as np
import pytest

from crowdtally.core.counts import Keeping
from crowdtally.core.privacy import Epsilon, Rho
from crowdtally.errors import UsageError
from crowdtally.laws.base import Combination, Terms
from crowdtally.laws.interval import IntervalNoise, mean_square, phantoms_for
from crowdtally.laws.registry import fault_of, law_of
from crowdtally.noise.draws import SystemDraws
from kit.draws import Seeded

LEVEL = Fraction(19, 20)


@cache
def joint(rate: Fraction, cells: int, phantoms: int, most: int) -> dict[tuple[int, ...], float]:
    """Pr of every vector of published noises, by definition, over all z within ±``most``."""
    found: dict[tuple[int, ...], float] = defaultdict(float)
    for z in product(range(-most, most + 1), repeat=cells + phantoms):
        norm = max(*z, 0) + max(*(-value for value in z), 0)
        shift = sum(z[cells:])
        key = tuple((phantoms + 1) * value - shift for value in z[:cells])
        found[key] += exp(-rate * norm)
    total = sum(found.values())
    return {key: weight / total for key, weight in found.items()}


SMALL = [(Fraction(2), 1, 0), (Fraction(3), 2, 0), (Fraction(3), 2, 1), (Fraction(3), 1, 2)]
"""Laws that are almost all within a few steps, so that they can be listed."""


@pytest.mark.parametrize(("rate", "cells", "phantoms"), SMALL)
def test_it_is_the_law_by_definition(rate: Fraction, cells: int, phantoms: int) -> None:
    found = joint(rate, cells, phantoms, 24 if cells + phantoms < 3 else 14)
    law = IntervalNoise(rate, cells, phantoms)
    square = sum(p * key[0] ** 2 for key, p in found.items())
    assert law.std() / float(law.unit) == pytest.approx(sqrt(square), rel=1e-9)
    if cells > 1:
        both = sum(p * key[0] * key[1] for key, p in found.items())
        assert both / square == pytest.approx(float(law.correlation), rel=1e-9)
        sums = sum(p * (key[0] + key[1]) ** 2 for key, p in found.items())
        of_two = law.std(Combination.of_cells(2)) / float(law.unit)
        assert of_two == pytest.approx(sqrt(sums), rel=1e-9)
        apart = sum(p * (key[0] - key[1]) ** 2 for key, p in found.items())
        assert law.std(Combination(2.0, 0.0)) / float(law.unit) == pytest.approx(sqrt(apart))
    for value in range(6):
        exact = sum(p for key, p in found.items() if key[0] == value)
        assert np.exp(law.log_probabilities([value, -value])) == pytest.approx([exact, exact])
        beyond = sum(p for key, p in found.items() if abs(key[0]) > value)
        assert law.tail(value) == pytest.approx(beyond, rel=1e-8, abs=1e-15)
    for level in (Fraction(1, 2), LEVEL, Fraction(999, 1000)):
        for summed in range(1, cells + 1):
            width = law.half_width(level, summed)
            inside = [
                sum(p for key, p in found.items() if abs(sum(key[:summed])) <= reach)
                for reach in (width - 1, width)
            ]
            assert inside[0] < level <= inside[1] + 1e-9


def test_its_deviation_is_what_the_methods_say() -> None:
    """3.9/ε for seven weekdays; 21% less variance by phantoms at twenty cells."""
    assert IntervalNoise(Fraction(1), 7).std() == pytest.approx(sqrt(9 * 10 / 6), rel=0.01)
    fine = Fraction(1, 1000)
    for cells in (7, 20, 400):
        near = sqrt((cells + 2) * (cells + 3) / 6) * 1000
        assert IntervalNoise(fine, cells).std() == pytest.approx(near, rel=1e-5)
    with_phantoms, without = (IntervalNoise(fine, 20, d).std() for d in (phantoms_for(20), 0))
    assert (with_phantoms / without) ** 2 == pytest.approx(0.79, abs=0.005)
    law = IntervalNoise(fine, 20)
    ratio = law.std(Combination.of_cells(20)) / law.std()
    assert ratio == pytest.approx(sqrt(20 * 21 / 2))


def test_phantoms_are_about_as_many_as_make_the_variance_least() -> None:
    assert [phantoms_for(k) for k in (1, 2, 7, 8, 20, 30, 4000)] == [0, 0, 1, 1, 2, 3, 44]
    for cells in (7, 20, 60):
        stds = [IntervalNoise(Fraction(1, 10), cells, d).std() for d in range(12)]
        assert stds[phantoms_for(cells)] < 1.01 * min(stds)


@pytest.mark.parametrize("power", [2, 8, 300])
def test_the_mean_square_of_widths_is_the_same_both_ways(power: int) -> None:
    """On both sides of where the sum becomes an integral."""
    for rate in (Fraction(1, 99), Fraction(1, 101)):
        widths = np.arange(1, 200_000, dtype=np.float64)
        logs = power * np.log(widths) - float(rate) * widths
        weights = np.exp(logs - logs.max())
        exact = float((widths**2 * weights).sum() / weights.sum())
        assert mean_square(rate, power) == pytest.approx(exact, rel=1e-9)


SIMULATED = [(Fraction(1), 7, 1), (Fraction(1, 10), 20, 2), (Fraction(1, 2000), 6, 1)]


@pytest.mark.parametrize(("rate", "cells", "phantoms"), SIMULATED)
def test_deviations_and_intervals_hold_in_simulation(
    rate: Fraction, cells: int, phantoms: int
) -> None:
    law, draws, times = IntervalNoise(rate, cells, phantoms), SystemDraws(Seeded(5)), 1500
    drawn = np.stack([law.draw(draws, cells) for _ in range(times)]).astype(np.float64)
    for summed in (1, 3, cells):
        sums = drawn[:, :summed].sum(axis=1)
        std = law.std(Combination.of_cells(summed)) / float(law.unit)
        assert sums.std() == pytest.approx(std, rel=6 / sqrt(2 * times))
        inside = np.mean(np.abs(sums) <= law.half_width(LEVEL, summed))
        assert abs(inside - 0.95) < 0.034
        assert np.mean(np.abs(sums) <= 0.85 * law.half_width(LEVEL, summed)) < 0.94
    floor = law.floor(cells)
    assert np.mean(drawn.max(axis=1) > floor) <= 0.05
    assert np.mean(drawn.max(axis=1) > 0.6 * floor) > 0.05


def test_wide_noise_is_a_scaled_picture_of_narrower_noise() -> None:
    """Where it is made coarser: half the rate, twice the width, no jump where a step doubles."""
    laws = {n: IntervalNoise(Fraction(1, n), 20, 2) for n in (16, 29, 64, 4096)}
    widths = [law.half_width(LEVEL) / n for n, law in laws.items()]
    assert max(widths) / min(widths) < 1.002
    law = IntervalNoise(Fraction(1, 4096), 20, 2)
    values = np.arange(-40, 41) * 20_000
    chances = np.exp(law.log_probabilities(values)) * 20_000
    assert chances.sum() == pytest.approx(1, abs=1e-4)
    assert (chances * values**2.0).sum() == pytest.approx((law.std() * 3) ** 2, rel=1e-3)


def test_far_values_have_ever_smaller_probabilities() -> None:
    law = IntervalNoise(Fraction(1, 3), 5, 1)
    logs = law.log_probabilities(np.arange(0, 5000, 50))
    assert np.isfinite(logs).all()
    assert (np.diff(logs) < 0).all()
    # By definition: Σ_s Pr[s]·(s+1−k)/(s+1)², up to fifteen deviations and then nearly so.
    law, widths = IntervalNoise(Fraction(1, 3), 5), np.arange(4000.0)
    weights = np.exp(6 * np.log1p(widths) - widths / 3 - 50)
    for value, error in ((0, 1e-6), (5, 1e-6), (40, 1e-6), (100, 1e-6), (500, 0.1)):
        own = (weights * np.maximum(widths + 1 - value, 0) / (widths + 1) ** 2).sum()
        exact = float(np.log(own / weights.sum()))
        assert law.log_probabilities([value])[0] == pytest.approx(exact, rel=error)


class Given:
    """A source that hands out what it was given, and remembers what it was asked for."""

    def __init__(self, *vectors: list[int]) -> None:
        self.vectors, self.asked = list(vectors), list[tuple[Fraction, int]]()

    def laplace(self, scale: Fraction, size: int) -> Any:
        raise AssertionError("this is interval noise")

    def gaussian(self, variance: Fraction, size: int) -> Any:
        raise AssertionError("this is interval noise")

    def interval(self, rate: Fraction, size: int) -> Any:
        self.asked.append((rate, size))
        return np.array(self.vectors.pop(0))


def test_the_phantoms_mean_is_subtracted_in_units() -> None:
    law, source = IntervalNoise(Fraction(1, 2), 3, 2), Given([5, -1, 4, 2, 1])
    assert law.draw(source, 3).tolist() == [3 * 5 - 3, -3 - 3, 12 - 3]
    assert source.asked == [(Fraction(1, 2), 5)]
    assert law.unit == Fraction(1, 3)


def test_every_block_has_a_draw_of_its_own() -> None:
    law = IntervalNoise(Fraction(1), 2, 1, blocks=3)
    source = Given([1, 2, 0], [10, 20, 1], [100, 200, -1])
    # item by item, context by context
    assert law.draw(source, 6).tolist() == [2, 19, 201, 4, 39, 401]
    assert source.asked == [(Fraction(1), 3)] * 3
    assert law.size == 6


def test_blocks_are_independent_of_each_other() -> None:
    one, law = IntervalNoise(Fraction(1), 4), IntervalNoise(Fraction(1), 4, blocks=3)
    of_one_item = Combination(3.0, 3.0, within=3.0)
    assert law.std(of_one_item) == pytest.approx(sqrt(3) * one.std())
    assert law.std(Combination(2.0, 2.0, within=4.0)) == one.std(Combination.of_cells(2))
    assert law.std(Combination.of_cells(3)) == one.std(Combination.of_cells(3))  # not known: most
    assert law.reach(LEVEL, of_one_item) < law.half_width(LEVEL, 3)
    assert law.reach(LEVEL, Combination(2.0, 2.0, within=4.0)) == law.half_width(LEVEL, 2)
    draws = SystemDraws(Seeded(8))
    drawn = np.stack([law.draw(draws, 12) for _ in range(1000)]).reshape(-1, 4, 3)
    found = np.corrcoef(drawn.reshape(-1, 12).T).reshape(4, 3, 4, 3)
    assert abs(found[0, 0, 1, 0] - 0.5) < 0.15
    assert abs(found[0, 0, 0, 1]) < 0.19
    sums = drawn[:, 0, :].sum(axis=1)
    assert abs(np.mean(np.abs(sums) <= law.reach(LEVEL, of_one_item)) - 0.95) < 0.042


@pytest.mark.parametrize(
    "law",
    [
        IntervalNoise(Fraction(1, 3), 7),
        IntervalNoise(Fraction(2), 20, 2),
        IntervalNoise(Fraction(1, 2**20), 5, 1, Fraction(1, 2**20), 4),
    ],
)
def test_release_json_tells_all_of_it(law: IntervalNoise) -> None:
    assert law_of(law.to_json()) == law
    assert fault_of(law.to_json()) is None


def test_numbers_that_are_not_its_own_are_faults() -> None:
    told = IntervalNoise(Fraction(1, 3), 7).to_json()
    for name in ("rate", "cells", "phantoms", "blocks"):
        lacking = {key: value for key, value in told.items() if key != name}
        assert fault_of(lacking) == "has noise whose numbers are not those of its law"
    assert fault_of(told | {"phantoms": 5000}) is not None
    assert fault_of(told | {"law": "unheard of"}) == "has noise of a law that is unknown here"


def test_it_says_whether_it_goes_with_a_table() -> None:
    law = IntervalNoise(Fraction(1, 3), 7, 1, blocks=2)
    assert law.disagreement(Epsilon(Fraction(1, 3)), 1, 1, 14) is None
    assert "rate that is not its epsilon" in str(
        law.disagreement(Epsilon(Fraction(1, 2)), 1, 1, 14)
    )
    assert "rate that is not its epsilon" in str(
        law.disagreement(Epsilon(Fraction(1, 3)), 2, 4, 14)
    )
    assert "14 cells on 7 cells" in str(law.disagreement(Epsilon(Fraction(1, 3)), 1, 1, 7))
    assert "paid for in rho" in str(law.disagreement(Rho(Fraction(1, 3)), 1, 1, 14))
    on_a_grid = IntervalNoise(Fraction(1, 3) / 8, 7, counted=Fraction(1, 8))
    assert on_a_grid.disagreement(Epsilon(Fraction(1, 3)), 8, 64, 7) is None
    assert on_a_grid.std() == pytest.approx(IntervalNoise(Fraction(1, 3), 7).std(), rel=0.01)


def test_no_cell_can_be_left_out() -> None:
    law = IntervalNoise(Fraction(1), 7)
    assert law.inclusion(Keeping()) == 1
    empty = law.empty_cell(Keeping())
    assert (empty.probability, empty.mean, empty.sampling_variance) == (1, 0, 0)
    assert sqrt(empty.variance) == pytest.approx(law.std())
    for ask in (law.inclusion, law.empty_cell):
        with pytest.raises(UsageError, match="none of them can be left out"):
            ask(Keeping(3))


def test_the_floor_of_sums() -> None:
    law = IntervalNoise(Fraction(1), 7)
    assert law.floor(1) < law.floor(7)
    assert law.floor(7) < law.floor(7, Terms.of_cells(3))
    weighted = law.floor(7, Terms(((0.5, 1),)))
    assert weighted == pytest.approx(law.floor(7) / 2)
    with pytest.raises(UsageError, match="one line or more"):
        law.floor(0)


@pytest.mark.parametrize(
    "made",
    [
        lambda: IntervalNoise(0.5, 7),
        lambda: IntervalNoise(Fraction(0), 7),
        lambda: IntervalNoise(Fraction(1), 0),
        lambda: IntervalNoise(Fraction(1), 7, -1),
        lambda: IntervalNoise(Fraction(1), 7, blocks=0),
        lambda: IntervalNoise(Fraction(1), 4097),
        lambda: IntervalNoise(Fraction(1), 100, 65),
        lambda: IntervalNoise(Fraction(1), 7).half_width(Fraction(1)),
        lambda: IntervalNoise(Fraction(1), 7).half_width(LEVEL, 8),
        lambda: IntervalNoise(Fraction(1), 7).draw(Given([1]), 3),
    ],
)
def test_what_makes_no_sense_is_refused(made: Any) -> None:
    with pytest.raises(UsageError):
        made()


def test_the_smallest_rates_have_numbers_too() -> None:
    law = IntervalNoise(Fraction(1, 10**12), 7, 1)
    assert law.half_width(LEVEL) / law.std() == pytest.approx(2 * 1.94, rel=0.05)
    assert IntervalNoise(Fraction(1, 10**40), 7).half_width(LEVEL) == 2**62


def test_a_rate_beyond_floats_has_no_noise_to_speak_of() -> None:
    """A sum over two draws, and a weighted line: neither has a deviation to divide by."""
    law = IntervalNoise(Fraction(95, 2), 8, 1, blocks=2)
    two = Combination(2.0, 2.0, 2.0)
    assert law.std() == law.std(two) == law.reach(Fraction(19, 20), two) == 0.0
    assert law.floor(3, Terms(((2, 1),))) == 0.0
