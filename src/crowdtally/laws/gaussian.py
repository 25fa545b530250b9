"""The discrete Gaussian law: Pr[Z=k] ∝ e^(−k²/(2σ²)) over all integers k.

The variance σ² is an exact rational. Certified ball arithmetic carries it through, whatever its
size, so that an integer such as an interval's half width is right, not nearly right. The proofs are
in ``gaussian.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from statistics import NormalDist
from typing import Any, ClassVar, Literal, Self

import numpy as np
from flint import arb
from numpy.typing import ArrayLike, NDArray

from crowdtally.core.counts import Keeping
from crowdtally.core.numbers import recorded, show
from crowdtally.core.privacy import Price, Rho
from crowdtally.errors import UsageError
from crowdtally.laws import floors
from crowdtally.laws.balls import as_ball, precision
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
from crowdtally.laws.gaussian_tails import (
    WIDE,
    bell_floor,
    bell_sum,
    bell_total,
    beyond,
    first_within,
    moment,
)
from crowdtally.laws.laplace import bell_half_width

_BITS = 128


@dataclass(frozen=True)
class GaussianNoise:
    """Independent noise of one variance on every cell.

    >>> law = GaussianNoise(Fraction(100))
    >>> round(law.std(), 4), law.half_width(Fraction(19, 20))
    (10.0, 20)
    """

    kind: ClassVar[str] = "discrete-gaussian"
    per_cell: ClassVar[bool] = False
    bounded_by: ClassVar[Literal["l1", "l2", "cell"]] = "l2"
    drawn_together: ClassVar[bool] = False
    blocks: ClassVar[int] = 1
    words: ClassVar[str] = (
        "discrete Gaussian: Pr[k] proportional to exp(-k^2/(2*variance)), in units"
    )

    variance: Fraction
    """σ², in units squared: ρ = Δ²/(2σ²) for counts whose L2 distance between neighbours is Δ."""
    unit: Fraction = Fraction(1)
    """What one unit means as a count."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", above_zero(self.variance, "a noise variance"))

    def std(self, of: Combination = ONE_CELL) -> float:
        """√E[Z²] for one cell, which is below σ where σ is small; squares add up."""
        with precision(_BITS):
            squares = 2 * bell_sum(self.variance, 1, 2) / bell_total(self.variance)
        return sqrt(max(float(squares), 0.0)) * sqrt(of.squares) * float(self.unit)

    def half_width(self, level: Fraction, cells: int = 1) -> int:
        """The least integer w ≥ 0 with Pr[|Z| ≤ w] ≥ level, Z the noise of ``cells`` cells.

        The sum of n wide noises is, but for less than 10^-16, discrete Gaussian of variance nσ².
        """
        if not isinstance(level, Fraction | int) or not 0 <= level < 1:
            raise UsageError("the level of a noise interval is an exact Fraction in [0, 1).")
        if cells > 1 and self.variance < WIDE:
            return bell_half_width(self.variance, cells, Fraction(level))
        outside = (1 - Fraction(level)) / 2
        return first_within(cells * self.variance, lambda: as_ball(outside), 1) - 1

    def reach(self, level: Fraction, of: Combination) -> float:
        """About the least w with Pr[|Σ a·Z| ≤ w] ≥ level, which Σ a² decides.

        For so many whole cells the half width; else as many deviations as a normal law needs, or
        as one cell does.
        """
        squares = of.squares
        if squares == int(squares):
            return self.half_width(level, int(squares)) if squares else 0
        normal = NormalDist().inv_cdf((1 + float(level)) / 2) * self.std(of) / float(self.unit)
        return max(normal, self.half_width(level) * sqrt(squares))

    def floor(
        self,
        lines: int,
        of: Terms = ONE_LINE,
        share: Fraction = FLOOR_SHARE,
        *,
        independent: bool = True,
    ) -> float:
        """The least t that the largest of so many lines of pure noise exceeds with ≤ ``share``.

        Or a little more: where cells are weighed or left out it is Chernoff's bound.

        >>> law = GaussianNoise(Fraction(100))
        >>> law.floor(1), law.floor(1000), law.floor(1000, Terms.of_cells(7))
        (16, 39, 103)
        """
        if not isinstance(share, Fraction) or not 0 < share < 1 or lines < 1:
            raise UsageError("a floor has a share within 0 … 1, and is that of one line or more.")
        return bell_floor(self.variance, int(lines), of, share, independent=independent)

    def log_probabilities(self, values: ArrayLike) -> NDArray[np.float64]:
        """The floats log Pr[Z=k] = −k²/(2σ²) − log Σ_j e^(−j²/(2σ²)) for each integer k.

        >>> GaussianNoise(Fraction(2)).log_probabilities([0, -1, 1]).round(4)
        array([-1.2655, -1.5155, -1.5155])
        """
        with precision(_BITS):
            peak = -float(bell_total(self.variance).log())
            steps = float(1 / as_ball(self.variance).sqrt())
        distance = np.abs(np.asarray(values)).astype(np.float64)
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(peak - (distance * steps) ** 2 / 2, dtype=np.float64)

    def probabilities(self, values: ArrayLike) -> NDArray[np.float64]:
        """Pr[Z=k] for each integer k of ``values``, as floats.

        >>> float(GaussianNoise(Fraction(3)).probabilities(range(-99, 100)).sum().round(9))
        1.0
        """
        with np.errstate(under="ignore"):
            return np.asarray(np.exp(self.log_probabilities(values)), dtype=np.float64)

    def beyond(self, least: int) -> arb:
        """Pr[Z ≥ least], as a ball at the precision in force."""
        return beyond(self.variance, least)

    def tail(self, width: int) -> float:
        """Pr[|Z| > width].

        >>> round(GaussianNoise(Fraction(1)).tail(1), 6)
        0.117116
        """
        if width < 0:
            return 1.0
        with precision(_BITS):
            return float(2 * self.beyond(width + 1))

    def cut(self, share: Fraction) -> int:
        """The least κ ≥ 1 with Pr[Z ≥ κ] ≤ share, as far as balls can tell, else one more.

        >>> GaussianNoise(Fraction(100)).cut(Fraction(1, 20))
        17
        """
        return first_within(self.variance, lambda: as_ball(share), 1)

    def inclusion(self, keeping: Keeping) -> arb:
        """The probability that an empty cell is kept; see :func:`~crowdtally.laws.floors`."""
        return floors.kept(self._side(), keeping)

    def empty_cell(self, keeping: Keeping) -> EmptyCell:
        """The moments of what is seen of an empty cell."""
        return floors.seen_of(self._side(), keeping)

    def _side(self) -> Callable[[int, int, int | None], arb]:
        return lambda power, low, high: moment(self.variance, power, low, high)

    def draw(self, source: Source, size: int) -> NDArray[Any]:
        return source.gaussian(self.variance, size)

    def disagreement(self, price: Price, sensitivity: int, squared: int, cells: int) -> str | None:
        """The variance is the square of what one user can change in L2, divided by 2ρ."""
        if not isinstance(price, Rho):
            return "has Gaussian noise, which no epsilon without a delta pays for"
        if self.variance != squared / (2 * price.value):
            return "has a noise variance that is not sensitivity_squared divided by twice its rho"
        return None

    def to_json(self) -> dict[str, Any]:
        return {"law": self.words, "unit": show(self.unit), "variance": show(self.variance)}

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Self:
        return cls(recorded(str(facts["variance"])), recorded(str(facts["unit"])))
