"""NoiseLaw protocol, Combination."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, Protocol, Self

from flint import arb
from numpy.typing import ArrayLike, NDArray

from crowdtally.core.counts import Keeping
from crowdtally.core.privacy import Price
from crowdtally.errors import UsageError


@dataclass(frozen=True)
class Terms:
    """What is summed for one line of a list: so many cells of each weight."""

    weights: tuple[tuple[float, int], ...] = ((1.0, 1),)
    """Each weight, and how many cells have it."""
    keeping: Keeping = Keeping()  # noqa: RUF009 - frozen
    """Which noisy cells are seen at all; the others count 0."""
    by_itself: bool = True
    """Whether each cell is kept by its own noise alone, and not by what other cells have."""

    @classmethod
    def of_cells(cls, cells: int) -> Terms:
        """So many cells of weight 1, all of them seen."""
        return cls(((1.0, cells),))

    @property
    def is_one_cell(self) -> bool:
        """Whether it is one cell of weight 1."""
        return self.weights == ((1.0, 1),)

    @property
    def step(self) -> Fraction:
        """What the sum is a whole multiple of: floats are whole multiples of a power of 2.

        >>> Terms(((0.25, 2), (0.5, 1))).step
        Fraction(1, 4)
        """
        return Fraction(1, max(Fraction(weight).denominator for weight, _ in self.weights))


ONE_LINE = Terms()
"""A line that is one cell."""
FLOOR_SHARE = Fraction(1, 20)
"""How often pure noise passes a floor."""

# What every noise law answers, whoever asks: a plan, a table, a reader, an estimate.


@dataclass(frozen=True)
class Combination:
    """A weighted sum Σ a_i·X_i over different cells, as far as its noise depends on the weights.

    Where the cells' noises are independent Σ a_i² is enough. Where each pair has one and the same
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
        """So many cells, each with weight 1."""
        return cls(float(cells), float(cells))


ONE_CELL = Combination(1.0, 1.0)


@dataclass(frozen=True)
class EmptyCell:
    """What a reader sees of a cell that holds nobody, in units."""

    probability: float
    """Of its being kept."""
    mean: float
    """Of the reader's value sign·max(w, τ), where a dropped cell counts 0."""
    variance: float
    """Of the same value."""
    sampling_variance: float
    """The part of it that keeping by chance adds to that of the noise."""


class Source(Protocol):
    """Where a law asks for its noise: ``noise.draws.Draws`` in a release."""

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
    """Whether a table's sensitivity is what one user changes each cell by, instead of all cells
    together."""
    bounded_by: ClassVar[Literal["l1", "l2", "cell"]]
    """Which change of one user it hides: L1 or L2 over all cells, or that of each cell."""
    drawn_together: ClassVar[bool]
    """Whether cells of one draw are correlated."""
    words: ClassVar[str]
    """The law in words, which ``release.json`` knows it by."""

    @property
    def unit(self) -> Fraction:
        """What one unit means as a count."""

    @property
    def blocks(self) -> int:
        """Into how many draws its cells fall: 1, or one for each context."""

    def std(self, of: Combination = ONE_CELL) -> float:
        """The standard deviation of the noise in a weighted sum of cells, as a count."""

    def half_width(self, level: Fraction, cells: int = 1) -> int:
        """The least w with Pr[|noise of the sum of so many cells| ≤ w] ≥ level, in units."""

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
        """The noise floor of a list of so many lines, in units: see ``floors.md``."""

    def log_probabilities(self, values: ArrayLike) -> NDArray[Any]:
        """Log Pr[X = k] for one cell and each integer k of ``values``, as floats."""

    def tail(self, width: int) -> float:
        """Pr[|X| > width] for one cell."""

    def inclusion(self, keeping: Keeping) -> arb:
        """The probability that an empty cell is kept, as a ball at the precision in force."""

    def empty_cell(self, keeping: Keeping) -> EmptyCell:
        """What a reader sees of an empty cell."""

    def draw(self, source: Source, size: int) -> NDArray[Any]:
        """The noise of so many cells, asked of ``source``: the law itself is not random."""

    def disagreement(self, price: Price, sensitivity: int, squared: int, cells: int) -> str | None:
        """Why it cannot be the law of a table that one user changes so much in, at this price.

        In words that go on from the table's name; None where it can.

        Args:
            price: what the table costs.
            sensitivity: what one user changes in L1, in units.
            squared: the square of the same in L2.
            cells: how many cells it has.
        """

    def to_json(self) -> dict[str, Any]:
        """What ``release.json`` must say for :meth:`from_json` to make it again."""

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Self:
        """The law that a table's ``noise`` describes."""


class CellNoise(NoiseLaw, Protocol):
    """Noise that is independent on every cell, so that cells can be cut and drawn one by one."""

    def cut(self, share: Fraction) -> int:
        """The least κ ≥ 1 with Pr[X ≥ κ] ≤ share for one cell, certified."""


def above_zero(value: object, what: str) -> Fraction:
    """The exact number above 0 that a law rests on; anything else is refused."""
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
