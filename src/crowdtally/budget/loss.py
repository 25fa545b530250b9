"""An exact amount of ε and δ."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from crowdtally.values.epsilon import Delta, Epsilon


@dataclass(frozen=True)
class Loss:
    """An exact amount of ε and of δ: a cost, a sum, a limit or what remains of it."""

    epsilon: Fraction = Fraction(0)
    """ε."""
    delta: Fraction = Fraction(0)
    """δ; the sum over many charges may exceed 1, where it promises nothing."""

    @classmethod
    def of(cls, epsilon: Epsilon, delta: Delta) -> Loss:
        """From validated values."""
        return cls(epsilon.value, delta.value)

    def __add__(self, other: Loss) -> Loss:
        return Loss(self.epsilon + other.epsilon, self.delta + other.delta)

    def __sub__(self, other: Loss) -> Loss:
        return Loss(self.epsilon - other.epsilon, self.delta - other.delta)

    def within(self, other: Loss) -> bool:
        """Whether neither ε nor δ exceeds the other's.

        >>> Loss(Fraction(1)).within(Loss(Fraction(1)))
        True
        """
        return self.epsilon <= other.epsilon and self.delta <= other.delta

    def at_least_zero(self) -> Loss:
        """The same with negative amounts raised to zero."""
        return Loss(max(self.epsilon, Fraction(0)), max(self.delta, Fraction(0)))
