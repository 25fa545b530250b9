"""The two ε of the paper, and what numbers at each of them are called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crowdtally.values.epsilon import Epsilon


@dataclass(frozen=True)
class Budget:
    """An ε that is no rational: it is rounded down, so that no more is spent than was meant."""

    words: str
    """As the paper writes it."""
    name: str
    """In the name of a panel."""
    value: str
    """The rational that is spent."""

    @property
    def epsilon(self) -> Epsilon:
        """The same, exact."""
        return Epsilon.of(self.value)


SMALL = Budget("ln 1.5", "ln1.5", "0.4054")
LARGE = Budget("ln 3", "ln3", "1.0986")
BUDGETS: Sequence[Budget] = (SMALL, LARGE)
