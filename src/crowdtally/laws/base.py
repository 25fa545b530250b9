"""The questions that every noise law answers, and their terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
from flint import arb
from numpy.typing import ArrayLike, NDArray

from crowdtally.core.counts import Keeping
from crowdtally.core.privacy import Price
from crowdtally.errors import UsageError


@dataclass(frozen=True)
class Terms:
    """The weighted cells that are summed for one line of a list."""

    weights: tuple[tuple[float, int], ...] = ((1.0, 1),)
    """Each weight, and how many cells have it."""
    keeping: Keeping = Keeping()  # noqa: RUF009 - frozen
    """Which noisy cells are seen; the others count 0."""
    by_itself: bool = True
    """Whether its own noise alone decides whether a cell is kept."""

    @classmethod
    def of_cells(cls, cells: int) -> Terms:
        """Cells of weight 1, all of them seen."""
        return cls(((1.0, cells),))

    @property
    def is_one_cell(self) -> bool:
        return self.weights == ((1.0, 1),)

    @property
    def step(self) -> Fraction:
        """A number of which the sum is a whole multiple: floats are multiples of a power of 2.

        >>> Terms(((0.25, 2), (0.5, 1))).step
        Fraction(1, 4)
        """
        return Fraction(1, max(Fraction(weight).denominator for weight, _ in self.weights))


ONE_LINE = Terms()  # a line that is one cell
FLOOR_SHARE = Fraction(1, 20)  # how often pure noise passes a floor


@dataclass(frozen=True)
class Combination:
    """The weights of a sum Σ a_i·X_i over different cells, as far as its noise depends on them.

    Where the cells' noises are independent Σ a_i² is enough. Where every pair has the same
    correlation Σ a_i is needed too.
    """

    squares: float
    """Σ a_i²."""
    total: float
    """Σ a_i."""
    within: float | None = None
    """Where cells come in blocks of independent noise, one for each context: the sum over the
    blocks of (Σ a_i)²; None where all cells may be of one block."""

    @classmethod
    def of_cells(cls, cells: int) -> Combination:
        return cls(float(cells), float(cells))


ONE_CELL = Combination(1.0, 1.0)


@dataclass(frozen=True)
class EmptyCell:
    """The moments of a cell without users as a reader sees it, in units."""

    probability: float
    """Of its being kept."""
    mean: float
    """Of the reader's value sign·max(w, τ), where a dropped cell counts 0."""
    variance: float
    sampling_variance: float
    """The part of the variance that comes from keeping by chance."""


class Source(Protocol):
    """Draws the noise of laws: ``noise.draws.Draws`` in a release."""

    def laplace(self, scale: Fraction, size: int) -> NDArray[Any]:
        """Integers distributed as Pr[X=k] ∝ e^(−|k|/scale)."""

    def gaussian(self, variance: Fraction, size: int) -> NDArray[Any]:
        """Integers distributed as Pr[Z=k] ∝ e^(−k²/(2·variance))."""

    def interval(self, rate: Fraction, size: int) -> NDArray[Any]:
        """Integers z distributed together as Pr[z] ∝ e^(−rate·(max z⁺ + max z⁻))."""


class NoiseLaw(Protocol):
    """The law of the noise on the cells of one table. Its mean is 0 on every cell.

    The noise is an integer, in units of ``unit``; cells may be independent or correlated.
    """

    kind: ClassVar[str]
    """The mechanism's name in the ledger."""
    per_cell: ClassVar[bool]
    """Whether sensitivity is the most that one user changes a cell by, instead of all cells."""
    bounded_by: ClassVar[Literal["l1", "l2", "cell"]]
    """Which change of one user it hides: L1 or L2 over all cells, or that of each cell."""
    drawn_together: ClassVar[bool]
    """Whether cells of one draw are correlated."""
    words: ClassVar[str]
    """The law's name in ``release.json``."""

    @property
    def unit(self) -> Fraction:
        """One unit as a count."""

    @property
    def blocks(self) -> int:
        """Into how many draws its cells fall: 1, or one for each context."""

    def std(self, of: Combination = ONE_CELL) -> float:
        """The standard deviation of the noise in a weighted sum of cells, as a count."""

    def half_width(self, level: Fraction, cells: int = 1) -> int:
        """The least w with Pr[|noise of a sum of ``cells`` cells| ≤ w] ≥ level, in units."""

    def reach(self, level: Fraction, of: Combination) -> float:
        """About the least w with Pr[|Σ a·X| ≤ w] ≥ level, in units."""

    def floor(
        self,
        lines: int,
        of: Terms = ONE_LINE,
        share: Fraction = FLOOR_SHARE,
        *,
        independent: bool = True,
    ) -> float:
        """The noise floor of a list of ``lines`` lines, in units: see ``floors.md``.

        The least t, or a little more, that the largest of them exceeds with probability ``share``
        or less if all of them are pure noise.
        """
        if not isinstance(share, Fraction) or not 0 < share < 1 or lines < 1:
            raise UsageError("a floor has a share within 0 … 1, and is that of one line or more.")
        return self._floor(int(lines), of, share, independent=independent)

    def _floor(self, lines: int, of: Terms, share: Fraction, *, independent: bool) -> float:
        """The same, of checked arguments."""

    def log_probabilities(self, values: ArrayLike) -> NDArray[Any]:
        """Log Pr[X = k] for one cell and each integer k of ``values``, as floats."""

    def tail(self, width: int) -> float:
        """Pr[|X| > width] for one cell."""

    def inclusion(self, keeping: Keeping) -> arb:
        """The probability that an empty cell is kept, as a ball at the precision in force."""

    def empty_cell(self, keeping: Keeping) -> EmptyCell:
        """What a reader sees of an empty cell."""

    def draw(self, source: Source, size: int) -> NDArray[Any]:
        """The noise of ``size`` cells from ``source``."""

    def disagreement(self, price: Price, sensitivity: int, squared: int, cells: int) -> str | None:
        """Why it cannot be the law of a table at this price; None where it can.

        In words that follow the table's name. One user changes the table by ``sensitivity`` units
        in L1, and by the root of ``squared`` in L2.
        """

    def to_json(self) -> dict[str, Any]:
        """The table's ``noise`` in ``release.json``."""

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Self:
        """The law of such a ``noise``."""


class CellNoise(NoiseLaw, Protocol):
    """Noise that is independent on every cell, so that cells can be cut and drawn separately."""

    def cut(self, share: Fraction) -> int:
        """The least κ ≥ 1 with Pr[X ≥ κ] ≤ share for one cell, certified."""

    def probabilities(self, values: ArrayLike) -> NDArray[np.float64]:
        """Pr[X = k] for one cell and each integer k of ``values``, as floats."""
        with np.errstate(under="ignore"):
            return np.asarray(np.exp(self.log_probabilities(values)), dtype=np.float64)


def first_passing(
    passes: Callable[[int], bool], failed: int, passed: int, most: float = inf
) -> int:
    """The least whole number above ``failed`` that passes, if all larger ones pass too.

    Found by doubling ``passed``, which is at least 1; past ``most`` the search gives up.
    """
    while not passes(passed):
        if passed >= most:
            return passed
        failed, passed = passed, 2 * passed
    while passed - failed > 1:
        middle = (failed + passed) // 2
        failed, passed = (failed, middle) if passes(middle) else (middle, passed)
    return passed


def check_level(level: Fraction) -> None:
    """Refuse a level of intervals that is not exact and within [0, 1)."""
    if not isinstance(level, Fraction | int) or not 0 <= level < 1:
        raise UsageError("the level of a noise interval is an exact Fraction in [0, 1).")


def above_zero(value: object, what: str) -> Fraction:
    """The exact number above 0 that a law needs; anything else is refused."""
    if not isinstance(value, Fraction | int) or isinstance(value, bool):
        raise UsageError(f"{what} must be an exact Fraction: received {type(value)}.")
    if value <= 0:
        raise UsageError(f"{what} must be greater than 0.")
    return Fraction(value)


def as_counts(units: Any, unit: Fraction) -> Any:
    """Units as counts: integers where a unit is one, else the nearest floats.

    >>> as_counts(3, Fraction(1)), as_counts(3, Fraction(1, 2))
    (3, 1.5)
    """
    return units if unit == 1 else units * float(unit)
