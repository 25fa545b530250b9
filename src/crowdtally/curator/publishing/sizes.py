"""Cuts and thresholds for a wanted size: from public numbers alone, never from the records.

All sizes are expected sizes. What is computed here will be published, so it may be rounded in any
way that is written down: κ is the smallest that suffices; τ is rounded down, to 16 significant
bits, so that no fewer cells are expected than wanted. See ``sizes.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import isqrt
from typing import Any

from flint import arb

from crowdtally.core.counts import Keeping, Sides
from crowdtally.core.numbers import exact, is_whole
from crowdtally.curator.publishing.empty import inclusion_probability
from crowdtally.errors import UsageError
from crowdtally.laws.balls import Real, as_ball, precision
from crowdtally.laws.base import CellNoise

LARGEST_SIZE = 1 << 40
_STEPS = 1 << 15  # a threshold is (1 + j/2^15)·2^i times the smallest one
_BITS = 128


def check_size(size: object) -> int:
    """A wanted number of cells, checked."""
    if not isinstance(size, int) or not is_whole(size) or not 1 <= size <= LARGEST_SIZE:
        raise UsageError(
            f"the size must be a whole number between 1 and {LARGEST_SIZE}: received {size!r}. "
            "It is how many cells to publish."
        )
    return size


def given_size(options: Mapping[str, Any]) -> int | None:
    """S, where it was given."""
    return None if options["size"] is None else check_size(options["size"])


def given_threshold(options: Mapping[str, Any]) -> Fraction | None:
    """τ as a count, where it was given."""
    given = options["threshold"]
    return None if given is None else Keeping(0, exact(given, "--threshold")).threshold


def cut_for(cut: int | None, size: int | None, cells: int, law: CellNoise, sides: Sides) -> int:
    """κ in units: as given, or from the public N, S and law."""
    if cut is not None:
        return int(cut / law.unit)
    return filter_cut(cells, size or 1, law, sides=sides)


def filter_cut(cells: int, size: int, law: CellNoise, *, sides: Sides = "two") -> int:
    """The smallest κ ≥ 1 at which no more than ``size`` of ``cells`` empty cells are expected.

    >>> from crowdtally.laws.laplace import DiscreteLaplace
    >>> filter_cut(10**6, 10**5, DiscreteLaplace(Fraction(10)))
    24
    """
    check_size(size)
    return law.cut(Fraction(size, (2 if sides == "two" else 1) * cells))


def sampling_threshold(
    cells: int,
    size: int,
    law: CellNoise,
    *,
    cut: int = 0,
    sides: Sides = "two",
    total: Fraction | int = 0,
) -> Fraction:
    """The largest τ (of 16 significant bits) at which ``size`` or more cells are expected.

    Expected are N·p(κ, τ) empty cells, and total/τ cells for a public guess of the total count.
    Where even τ = max(κ, 1), which keeps all that passes the cut, expects fewer, it is that.

    >>> from crowdtally.laws.laplace import DiscreteLaplace
    >>> sampling_threshold(10**6, 10**5, DiscreteLaplace(Fraction(10)), total=10**7)
    Fraction(51157, 256)
    """
    check_size(size)
    if isinstance(total, bool) or not isinstance(total, int | Fraction) or total < 0:
        raise UsageError(f"the guess of the total must be an exact number ≥ 0: received {total!r}.")
    return _largest_threshold(cells, Fraction(size), law, cut, sides, Fraction(total))


def priority_threshold(
    cells: int, size: int, law: CellNoise, *, cut: int = 0, sides: Sides = "two"
) -> Fraction:
    """A τ at which a threshold sample has more than S cells, but with a chance of about 10^-8.

    Of empty cells alone S + 1 + m are expected, and occupied cells are kept no less often; m is
    about 6·√S + 36. Where that many cannot be expected, nothing that passes the cut is sampled
    away.
    """
    check_size(size)
    wanted = size + 1 + 6 * isqrt(size + 1) + 42
    return _largest_threshold(cells, Fraction(wanted), law, cut, sides, Fraction(0))


def expected_size(cells: int, law: CellNoise, keeping: Keeping, total: Fraction | int = 0) -> float:
    """How many cells are expected if all were empty, and of a guessed total beside them."""
    with precision(_BITS):
        return float(_expected(cells, law, keeping, Fraction(total)))


def _largest_threshold(
    cells: int, wanted: Fraction, law: CellNoise, cut: int, sides: Sides, total: Fraction
) -> Fraction:
    def enough(threshold: Fraction) -> bool:
        keeping = Keeping(cut, threshold, sides)
        with precision(_BITS):
            return bool(_expected(cells, law, keeping, total) >= as_ball(wanted))

    base = Fraction(max(cut, 1))
    if not enough(base):
        return base
    while enough(2 * base):
        base *= 2
    low, high = 0, _STEPS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if enough(base + base * middle / _STEPS) else (low, middle)
    return base + base * low / _STEPS


def _expected(cells: int, law: CellNoise, keeping: Keeping, total: Fraction) -> arb:
    p = inclusion_probability(law, keeping)
    chance = p.enclose(_BITS) if isinstance(p, Real) else as_ball(p)
    guessed = as_ball(total / keeping.threshold) if keeping.threshold else as_ball(0)
    return cells * chance + guessed
