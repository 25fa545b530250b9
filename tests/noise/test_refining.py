"""Less noise beneath noise: the sampler's law path by path, and what both values tell together."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from functools import cache
from itertools import product
from math import exp
from typing import Any

import numpy as np
import pytest

from crowdtally.errors import UsageError
from crowdtally.noise.draws import SystemDraws
from crowdtally.noise.refining import refined
from kit.draws import Seeded
from kit.sampler_checks import goodness

P, Q = Fraction(1, 16), Fraction(1, 256)
"""e^(−1/b) as a letter: the sampler never sees it, only the rates 1 and 2 (b = 1)."""
LONGEST = {1: 4, 2: 2}
"""By rate, up to where geometric numbers are enumerated; 16^−5 of their mass is left out."""
LEFT_OUT = Fraction(1, 10**5)
REACH = range(-4, 5)


class AnotherRoundError(Exception):
    """The first try was not taken."""


def laplace(p: Fraction, k: int) -> Fraction:
    return (1 - p) / (1 + p) * p ** abs(k)


def scripted(numbers: tuple[int, ...]) -> Any:
    """Geometric numbers of a path: a difference of two, whether it is taken, two coins."""
    left = list(zip((1, 1, 2, 1, 2), numbers, strict=True))

    def geometric(rate: Fraction, size: int) -> np.ndarray:
        assert size == 1
        expected, number = left.pop(0)
        if rate != expected:
            raise AnotherRoundError
        return np.array([number], dtype=np.int64)

    return geometric


@cache
def paths() -> list[tuple[tuple[int, ...], Fraction]]:
    found = []
    for numbers in product(*(range(LONGEST[rate] + 1) for rate in (1, 1, 2, 1, 2))):
        bases = zip(numbers, (P, P, Q, P, Q), strict=True)
        weight = Fraction(1)
        for number, base in bases:
            weight *= (1 - base) * base**number
        found.append((numbers, weight))
    return found


@cache
def given(z: int) -> dict[int, Fraction]:
    """The law of what is drawn beneath noise z: each path of a first round that is taken."""
    found: dict[int, Fraction] = defaultdict(Fraction)
    for numbers, weight in paths():
        try:
            (value,) = refined(scripted(numbers), np.array([z]), Fraction(1))
        except AnotherRoundError:
            continue
        found[int(value)] += weight
    total = sum(found.values())
    return {k: weight / total for k, weight in found.items()}


@pytest.mark.parametrize("z", [0, 1, 3, -2])
def test_the_law_beneath_some_noise(z: int) -> None:
    """Pr[F=k, X=z−k]/Pr[Z=z], where X is 0 with probability p/(1+p)², else distributed as Z."""
    bare = P / (1 + P) ** 2
    for k in REACH:
        added = (1 - bare) * laplace(P, z - k) + (bare if k == z else 0)
        expected = laplace(Q, k) * added / laplace(P, z)
        assert abs(given(z).get(k, 0) - expected) < LEFT_OUT


def test_both_values_tell_what_the_finer_one_tells() -> None:
    """Counts 0 and 1: no pair is likelier under one of them by more than e^(2/b)."""
    pairs = [(y, finer) for y in range(-2, 4) for finer in range(-2, 4)]
    found = [
        {(y, f): laplace(P, y - c) * given(y - c).get(f - c, Fraction(0)) for y, f in pairs}
        for c in (0, 1)
    ]
    ratios = [
        max(found[0][pair], found[1][pair]) / min(found[0][pair], found[1][pair])
        for pair in pairs
        if min(one[pair] for one in found) > LEFT_OUT / 10
    ]
    assert len(ratios) > 6
    assert max(ratios) <= (1 + LEFT_OUT * 100) / Q
    assert max(ratios) > (1 - LEFT_OUT * 100) / Q  # and as much as that alone


def test_what_is_left_is_laplace_noise_of_half_the_scale() -> None:
    draws, scale = SystemDraws(Seeded(5)), Fraction(3)
    first = draws.laplace(scale, 40_000)
    finer = draws.refine(first, scale)
    reach = range(-6, 7)
    q = exp(-2 / 3)
    for values, base in ((finer, q), (first, exp(-1 / 3))):
        expected = [(1 - base) / (1 + base) * base ** abs(k) for k in reach]
        seen = [int((values == k).sum()) for k in reach]
        observed, rest = np.array([*seen, len(values) - sum(seen)]), 1 - sum(expected)
        assert goodness(observed, np.array([*expected, rest])).fits
    assert abs(np.corrcoef(finer, first - finer)[0, 1]) < 0.025  # 5 standard deviations


def test_noise_of_any_size_is_refined() -> None:
    drawn = SystemDraws(Seeded(1)).refine(np.array([10**30, -(10**30), 0], object), Fraction(4))
    assert len(drawn) == 3
    assert all(abs(int(value)) < 1000 for value in drawn)
    assert SystemDraws().refine(np.array([], dtype=np.int64), Fraction(4)).tolist() == []


def test_a_scale_must_be_exact_and_positive() -> None:
    for wrong in (Fraction(0), Fraction(-1), 0.5):
        with pytest.raises(UsageError):
            SystemDraws().refine(np.array([1]), wrong)  # type: ignore[arg-type]
