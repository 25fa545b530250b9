"""Lifts: drawn towards one as far as noise demands."""

from __future__ import annotations

from math import exp, log, sqrt

import numpy as np
import pytest

from crowdtally.inference import lifts
from crowdtally.inference.lifts import FoundLifts, Seen, found_lifts

# ---- Lifts from noisy counts: drawn towards 1 as far as noise demands, with chances that hold ----


SHARE = 0.15
SCALE = 20.0


def world(
    rng: np.random.Generator, scatter: float, items: int = 200, common: float = 0.05
) -> tuple[np.ndarray, Seen]:
    """True lifts of a popularity with a long tail, and what Laplace noise leaves of them."""
    expected = 4000 / np.arange(1, items + 1) ** 0.8 * SHARE
    true = np.minimum(np.exp(rng.normal(-(scatter**2) / 2, scatter, items)), 1 / SHARE)
    noisy = true * expected + rng.laplace(0, SCALE, items)
    off = exp(rng.normal(0, common)) if common else 1.0
    deviation = np.full(items, SCALE * sqrt(2))
    return true, Seen(noisy, deviation, expected * off, np.zeros(items), common, 1, 1 / SHARE)


def calibration(stated: np.ndarray, held: np.ndarray) -> list[tuple[float, float, int]]:
    """What was stated on average, how often it held, and of how many, from bin to bin."""
    found = []
    for low, high in ((0, 0.1), (0.1, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 1.01)):
        inside = (stated >= low) & (stated < high)
        if inside.sum():
            of = float(stated[inside].mean()), float(held[inside].mean()), int(inside.sum())
            found.append(of)
    return found


@pytest.mark.parametrize("scatter", [0.05, 0.2, 0.5, 1.0])
def test_stated_chances_and_intervals_hold(
    scatter: float, capsys: pytest.CaptureFixture[str]
) -> None:
    rng, stated, held, inside = np.random.default_rng(2), [], [], []
    for _ in range(20):
        true, seen = world(rng, scatter)
        found = found_lifts(seen)
        stated.append(found.above)
        held.append(true > 1)
        inside.append((found.low <= true) & (true <= found.high))
    bins = calibration(np.concatenate(stated), np.concatenate(held))
    covered = float(np.mean(inside))
    with capsys.disabled():
        told = ", ".join(f"{p:.0%} held {h:.0%} of {n}" for p, h, n in bins)
        print(f"\nlifts of scatter {scatter}: 95% intervals hold {covered:.1%}; special: {told}")
    assert covered >= 0.92
    for claimed, found_true, number in bins:
        assert abs(claimed - found_true) <= 0.06 + 3 * sqrt(0.25 / number)


def test_the_largest_of_many_noises_is_not_special() -> None:
    _, seen = world(np.random.default_rng(3), 1e-9, common=0)
    found = found_lifts(seen)
    luckiest = np.argmax(seen.values / seen.expected)
    assert seen.values[luckiest] / seen.expected[luckiest] > 2
    assert found.mean.max() < 1.15
    assert found.above[luckiest] < 0.9


def test_without_noise_a_lift_is_what_was_counted() -> None:
    true = np.array([0.2, 0.5, 0.9, 1.3, 2.0, 5.0])
    seen = Seen(true * 1e6, np.full(6, 1.0), np.full(6, 1e6), np.zeros(6))
    found = found_lifts(seen)
    assert found.mean == pytest.approx(true, rel=0.01)
    assert ((found.low <= true) & (true <= found.high)).all()
    assert (found.high - found.low <= 0.06 * true).all()
    assert found.above.round(3).tolist() == [0, 0, 0, 1, 1, 1]


def test_uncertain_expectations_widen() -> None:
    true = np.array([0.6, 1.0, 1.5])
    exact = found_lifts(Seen(true * 1e5, np.ones(3), np.full(3, 1e5), np.zeros(3)))
    own = found_lifts(Seen(true * 1e5, np.ones(3), np.full(3, 1e5), np.full(3, 0.2)))
    both = found_lifts(Seen(true * 1e5, np.ones(3), np.full(3, 1e5), np.zeros(3), 0.2))
    for wider in (own, both):
        assert (wider.high - wider.low > 3 * (exact.high - exact.low)).all()


def test_no_lift_is_larger_than_can_be() -> None:
    noisy = np.array([260.0, 100.0])
    found = found_lifts(
        Seen(noisy, np.full(2, 30.0), np.full(2, 100.0), np.zeros(2), 0.0, 1, most=2.0)
    )
    assert found.high[0] <= 2.02
    assert found.mean[0] > 1.3


def test_nothing_is_nothing() -> None:
    none = np.zeros(0)
    assert all(len(part) == 0 for part in _parts(found_lifts(Seen(none, none, none, none))))


def test_the_posterior_is_that_of_its_definition() -> None:
    """In plain Python, one lift, scatter and shift at a time."""
    seen = Seen(
        np.array([70.0, 30.0]), np.array([12.0, 9.0]), np.array([40.0, 35.0]),
        np.array([0.1, 0.05]), 0.1, 2, 6.0,
    )  # fmt: skip
    step, found = lifts._STEP, found_lifts(seen)
    grid = [(n + 0.5) * step for n in range(round(lifts._LEAST / step), round(log(6) / step))]
    shifts = [n * round(0.8 * 0.1 / step) * step for n in range(-3, 4)]
    for item in (0, 1):
        mass = [0.0] * len(grid)
        for scatter in lifts._SCATTERS.tolist():
            believed = scatter / (1 + (scatter / 0.3) ** 2)
            prior = [exp(-(((z + scatter**2 / 2) / scatter) ** 2) / 2) + 1e-12 for z in grid]
            for shift in shifts:
                weight = believed * exp(-((shift / 0.1) ** 2) / 2)
                tables = [
                    [p / sum(prior) * _likely(seen, n, z + shift)
                     for z, p in zip(grid, prior, strict=True)]
                    for n in (0, 1)
                ]  # fmt: skip
                other = sum(tables[1 - item])
                mass = [m + weight * other * own for m, own in zip(mass, tables[item], strict=True)]
        whole = sum(mass)
        assert found.mean[item] == pytest.approx(
            sum(m * exp(z) for m, z in zip(mass, grid, strict=True)) / whole, rel=1e-6
        )
        above = sum(m for m, z in zip(mass, grid, strict=True) if z > 0) / whole
        assert found.above[item] == pytest.approx(above, rel=1e-6)


def _likely(seen: Seen, item: int, z: float) -> float:
    """Student's law of 4 + 2·2 degrees of freedom, of the noise's variance."""
    lifted = exp(z) * seen.expected[item]
    own = seen.relative[item] ** 2 + (lifts._STEP / 2) ** 2
    variance = seen.deviation[item] ** 2 + own * lifted**2
    square = (seen.values[item] - lifted) ** 2 / (variance * 6)
    return float((1 + square) ** -4.5 / sqrt(variance))


def _parts(found: FoundLifts) -> tuple[np.ndarray, ...]:
    return found.mean, found.low, found.high, found.deviation, found.above
