"""What is summed for one line of a list, as far as its noise depends on it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from crowdtally.core.counts import Keeping


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
