"""Discrete Laplace; sums of cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import asin, ceil, exp, expm1, inf, log, pi, sqrt
from typing import Any, ClassVar, Literal, Self

import numpy as np
from flint import arb
from numpy.typing import ArrayLike, NDArray

from crowdtally.core.counts import Keeping
from crowdtally.core.numbers import recorded, show
from crowdtally.core.privacy import Epsilon, Price
from crowdtally.errors import UsageError
from crowdtally.laws import floors
from crowdtally.laws.balls import as_ball, certified_ceiling, precision
from crowdtally.laws.base import (
    FLOOR_SHARE,
    ONE_CELL,
    ONE_LINE,
    Combination,
    EmptyCell,
    Source,
    Terms,
    above_zero,
)
from crowdtally.laws.floors import noise_floor

# The noise of a sum of several cells with independent noise: discrete Laplace, or Gaussian.
#
# Display only: floats are fine here, because nothing private depends on them.

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_NEGLIGIBLE = 1e-14  # of a characteristic function
_DOUBT = 1e-11  # on the wide side of rounding
_REACH = 40  # a narrow bell has nothing beyond it


@lru_cache(maxsize=256)  # up to half a second each, and sums of equally many cells are common
def sum_half_width(scale: Fraction, terms: int, level: Fraction) -> int:
    """The least w such that the sum of ``terms`` noises lies within ±w with probability ≥ level.

    By Fourier inversion of the law of the sum.
    """
    peak = _peak(scale)
    std = peak * sqrt(terms / 2)
    if std == inf:
        return 2**62
    return _least(_Coverage.of_laplace(peak, terms, std), std, level)


@lru_cache(maxsize=256)
def bell_half_width(variance: Fraction, terms: int, level: Fraction) -> int:
    """The same for discrete Gaussian noise; for narrow ones: the sum of wide ones is one again."""
    values = np.arange(-_REACH, _REACH + 1)
    chances = np.exp(-(values**2) / (2 * max(float(variance), 1e-300)))
    chances /= chances.sum()
    std = sqrt(float(chances @ values**2) * terms)
    return _least(_Coverage.of_values(values, chances, terms, std), std, level)


def _least(covered: _Coverage, std: float, level: Fraction) -> int:
    wanted = float(level) + _DOUBT
    least, most = -1, ceil(std) + 1
    while covered(most) < wanted:
        least, most = most, 2 * most
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (least, middle) if covered(middle) >= wanted else (middle, most)
    return most


def _peak(scale: Fraction) -> float:
    """C = 2√α/(1−α), which is √2 times the standard deviation of one noise."""
    try:
        rate = 1 / float(scale)
    except (OverflowError, ZeroDivisionError):
        return inf if scale > 1 else 0.0
    return 2 * exp(-rate / 2) / -expm1(-rate) if rate else inf


class _Coverage:
    """w ↦ Pr[|S| ≤ w] for a sum S of equal noises, to about twelve digits.

    S has the characteristic function φ(ω)^terms. Its law modulo a period beyond all that is likely
    is the sum over the frequencies ω = 2πj/period of φ(ω)^terms times the Dirichlet kernel of w.
    Frequencies where φ^terms is negligible are left out, so that their number does not grow with
    the scale.
    """

    def __init__(self, period: int, halves: Floats, weights: Floats) -> None:
        self._period, self._halves, self._weights = period, halves, weights
        self._sines = np.sin(halves)

    @classmethod
    def of_laplace(cls, c: float, terms: int, std: float) -> _Coverage:
        """φ = 1/(1 + (c·sin(ω/2))²) with c = 2√α/(1−α)."""
        period = 2 * ceil(20 * std) + 101
        half = (period - 1) // 2
        sine = sqrt(expm1(log(1 / _NEGLIGIBLE) / terms)) / c if c else inf
        last = half if sine >= 1 else min(half, ceil(asin(sine) * period / pi))
        halves = pi * np.arange(1, last + 1) / period
        return cls(period, halves, 2 * np.exp(-terms * np.log1p((c * np.sin(halves)) ** 2)))

    @classmethod
    def of_values(cls, values: Ints, chances: Floats, terms: int, std: float) -> _Coverage:
        """φ from all values and their chances: a bell's is positive and falls up to ω = π."""
        period = 2 * ceil(20 * std) + 101

        def waves(numbers: Ints) -> Floats:
            angles = 2 * pi * numbers[:, None] / period
            return np.asarray((np.cos(angles * values) @ chances) ** terms, dtype=np.float64)

        low, last = 0, (period - 1) // 2
        while last - low > 1:
            middle = (low + last) // 2
            negligible = waves(np.array([middle]))[0] < _NEGLIGIBLE
            low, last = (low, middle) if negligible else (middle, last)
        numbers = np.arange(1, last + 1)
        return cls(period, pi * numbers / period, 2 * waves(numbers))

    def __call__(self, width: int) -> float:
        if width < 0:
            return 0.0
        if 2 * width + 1 >= self._period:
            return 1.0
        kernel = np.sin((2 * width + 1) * self._halves) / self._sines
        return float((2 * width + 1 + self._weights @ kernel) / self._period)


# The discrete Laplace law: Pr[X=k] = (1−α)/(1+α)·α^|k| over all integers k, α = e^(−1/scale).
#
# The scale is an exact rational. Certified ball arithmetic carries it through, so that 1e-300 and
# 1e300 are scales like any other, and an integer such as an interval's half width is right, not
# nearly right.


@dataclass(frozen=True)
class DiscreteLaplace:
    """Independent noise of one scale on every cell.

    >>> law = DiscreteLaplace(Fraction(10))
    >>> round(law.std(), 4), law.half_width(Fraction(19, 20))
    (14.1362, 30)
    """

    kind: ClassVar[str] = "discrete-laplace"
    per_cell: ClassVar[bool] = False
    bounded_by: ClassVar[Literal["l1", "l2", "cell"]] = "l1"
    drawn_together: ClassVar[bool] = False
    blocks: ClassVar[int] = 1
    words: ClassVar[str] = "discrete Laplace: Pr[k] proportional to exp(-|k|/scale), in units"

    scale: Fraction
    """b, in units: the noise of ε-differential privacy for counts of L1 bound L has L/ε."""
    unit: Fraction = Fraction(1)
    """What one unit means as a count."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", above_zero(self.scale, "a noise scale"))

    def std(self, of: Combination = ONE_CELL) -> float:
        """√(2α)/(1−α) for one cell; cells are independent, so squares add up."""
        with precision(128):
            rate = 1 / as_ball(self.scale)
            one = float(arb(2).sqrt() * (-rate / 2).exp() / -(-rate).expm1())
        return one * sqrt(of.squares) * float(self.unit)

    def half_width(self, level: Fraction, cells: int = 1) -> int:
        """The least integer w ≥ 0 with Pr[|X| ≤ w] ≥ level, X the noise of ``cells`` cells.

        For one cell: with t = b·log(2/((1−level)(1+α))) the condition is w+1 ≥ t. For rational b
        and level, t is never an integer: 2α^(w+1) = (1−level)(1+α) would make α algebraic, and
        e^(−1/b) is not (Lindemann).
        """
        if not isinstance(level, Fraction | int) or not 0 <= level < 1:
            raise UsageError("the level of a noise interval is an exact Fraction in [0, 1).")
        if cells > 1:
            return sum_half_width(self.scale, cells, level)

        def steps() -> arb:
            b = as_ball(self.scale)
            return b * (2 / (as_ball(1 - Fraction(level)) * (1 + (-1 / b).exp()))).log()

        return max(certified_ceiling(steps) - 1, 0)

    def reach(self, level: Fraction, of: Combination) -> float:
        """About the least w with Pr[|Σ a·X| ≤ w] ≥ level, which Σ a² decides.

        For so many whole cells the half width. Else that of one noise of the same variance: at
        levels that are asked for, the more noises share a variance the narrower is their interval.
        """
        squares = of.squares
        if squares == int(squares):
            return self.half_width(level, int(squares))
        with precision(128):
            b = as_ball(self.scale)
            one = float(b * (2 / (as_ball(1 - Fraction(level)) * (1 + (-1 / b).exp()))).log())
        return max(one, 0.0) * sqrt(squares)

    def floor(
        self,
        lines: int,
        of: Terms = ONE_LINE,
        share: Fraction = FLOOR_SHARE,
        *,
        independent: bool = True,
    ) -> float:
        """The least t that the largest of so many lines of pure noise exceeds with ≤ ``share``.

        >>> law = DiscreteLaplace(Fraction(10))
        >>> law.floor(1), law.floor(1000), law.floor(1000, Terms.of_cells(7))
        (23, 92, 169)
        """
        if not isinstance(share, Fraction) or not 0 < share < 1 or lines < 1:
            raise UsageError("a floor has a share within 0 … 1, and is that of one line or more.")
        found = noise_floor(self.scale, int(lines), of, share, independent=independent)
        return found.numerator if found.denominator == 1 else float(found)

    def log_probabilities(self, values: ArrayLike) -> NDArray[np.float64]:
        """The floats log Pr[X=k] = log tanh(1/(2b)) − |k|/b for each integer k of ``values``.

        >>> DiscreteLaplace(Fraction(2)).log_probabilities([0, -1, 1]).round(4)
        array([-1.4068, -1.9068, -1.9068])
        """
        with precision(128):
            rate = 1 / as_ball(self.scale)
            alpha = (-rate).exp()
            # log(1−α), without cancellation where α is close to 1, and 0 where it is negligible
            rise = (-(-rate).expm1()).log() if self.scale > 1 else (-alpha).log1p()
            peak, slope = float(rise - alpha.log1p()), float(rate)
        distance = np.abs(np.asarray(values)).astype(np.float64)
        fall = np.zeros_like(distance)
        with np.errstate(over="ignore"):
            np.multiply(distance, slope, out=fall, where=distance > 0)  # inf·0 would not be 0
        return np.asarray(peak - fall, dtype=np.float64)

    def probabilities(self, values: ArrayLike) -> NDArray[np.float64]:
        """Pr[X=k] for each integer k of ``values``, as floats.

        >>> float(DiscreteLaplace(Fraction(3)).probabilities(range(-200, 201)).sum().round(9))
        1.0
        """
        with np.errstate(under="ignore"):
            return np.asarray(np.exp(self.log_probabilities(values)), dtype=np.float64)

    def tail(self, width: int) -> float:
        """Pr[|X| > width] = 2α^(width+1)/(1+α).

        >>> round(DiscreteLaplace(Fraction(1)).tail(2), 6)
        0.072795
        """
        if width < 0:
            return 1.0
        with precision(128):
            rate = 1 / as_ball(self.scale)
            return float(2 * (-rate * (width + 1)).exp() / (1 + (-rate).exp()))

    def cut(self, share: Fraction) -> int:
        """The least κ ≥ 1 with Pr[X ≥ κ] ≤ share: ⌈log(share·(1+α))/log α⌉.

        The logarithms' ratio is never an integer, as α is not algebraic, so some precision tells on
        which side of one it lies.

        >>> DiscreteLaplace(Fraction(10)).cut(Fraction(1, 20))
        24
        """

        def steps() -> arb:
            rate = as_ball(1 / self.scale)
            return -(as_ball(share) * (1 + (-rate).exp())).log() / rate

        return max(certified_ceiling(steps), 1)

    def inclusion(self, keeping: Keeping) -> arb:
        """The probability that an empty cell is kept; see :func:`~crowdtally.laws.floors`."""
        return floors.inclusion(1 / as_ball(self.scale), keeping)

    def empty_cell(self, keeping: Keeping) -> EmptyCell:
        """The moments of what is seen of an empty cell."""
        return floors.empty_cell(self.scale, keeping)

    def draw(self, source: Source, size: int) -> NDArray[Any]:
        return source.laplace(self.scale, size)

    def disagreement(self, price: Price, sensitivity: int, squared: int, cells: int) -> str | None:
        """The scale is what one user can change, divided by ε."""
        if not isinstance(price, Epsilon):
            return "has Laplace noise, and is paid for in rho"
        if self.scale != sensitivity / price.value:
            return "has a noise scale that is not its sensitivity divided by its epsilon"
        return None

    def to_json(self) -> dict[str, Any]:
        return {"law": self.words, "unit": show(self.unit), "scale": show(self.scale)}

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Self:
        return cls(recorded(str(facts["scale"])), recorded(str(facts["unit"])))


def of_variance(variance: float, unit: Fraction) -> DiscreteLaplace:
    """A law of about this variance, as a count: 2q/(1−q)² with q = e^(−1/b), about 2b² − 1/6."""
    units = variance / float(unit) ** 2
    scale = Fraction(max(sqrt((units + 1 / 6) / 2), 0.05)).limit_denominator(1 << 20)
    return DiscreteLaplace(scale, unit)
