"""An exact amount of what privacy can be lost: ε, δ and ρ."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from crowdtally.core.numbers import short
from crowdtally.core.privacy import Delta, Epsilon, Rho

_NOTHING = Fraction(0)


@dataclass(frozen=True)
class Loss:
    """An exact amount of ε, of δ and of ρ: a cost, a sum, a limit or what remains of it.

    Each is a sum of its own: ε and ρ are never added to each other. Which of them say something is
    the accountant's word; a limit is either ε with its δ, or ρ with the δ of unknown cells.
    """

    epsilon: Fraction = _NOTHING
    """Pure ε."""
    delta: Fraction = _NOTHING
    """δ; the sum over many charges may exceed 1, where it promises nothing."""
    rho: Fraction = _NOTHING
    """ρ of zCDP: that of Gaussian noise and of selections, not that of ``epsilon``."""
    pure_rho: Fraction = _NOTHING
    """Σ ε²/2 over the pure ε: what they cost as ρ; kept for a dataset that counts by zCDP."""

    @classmethod
    def of(cls, epsilon: Epsilon | None, delta: Delta, rho: Rho | None = None) -> Loss:
        """From validated values; None is nothing of it."""
        return cls(_value(epsilon), delta.value, _value(rho))

    def __add__(self, other: Loss) -> Loss:
        return Loss(
            self.epsilon + other.epsilon, self.delta + other.delta, self.rho + other.rho,
            self.pure_rho + other.pure_rho,
        )  # fmt: skip

    def __sub__(self, other: Loss) -> Loss:
        return Loss(
            self.epsilon - other.epsilon, self.delta - other.delta, self.rho - other.rho,
            self.pure_rho - other.pure_rho,
        )  # fmt: skip

    def within(self, other: Loss) -> bool:
        """Whether neither ε nor δ nor ρ exceeds the other's.

        >>> Loss(Fraction(1)).within(Loss(Fraction(1)))
        True
        """
        return self.epsilon <= other.epsilon and self.delta <= other.delta and self.rho <= other.rho

    def at_least_zero(self) -> Loss:
        """The same with negative amounts raised to zero."""
        return Loss(
            max(self.epsilon, _NOTHING), max(self.delta, _NOTHING), max(self.rho, _NOTHING),
            max(self.pure_rho, _NOTHING),
        )  # fmt: skip

    def short(self) -> Loss:
        """The same, or a little more of few digits: see ``short`` of ``core/numbers.py``."""
        return Loss(short(self.epsilon), short(self.delta), short(self.rho), short(self.pure_rho))

    @property
    def has_rho(self) -> bool:
        """Whether it says something of zCDP."""
        return bool(self.rho or self.pure_rho)


def _value(amount: Epsilon | Rho | None) -> Fraction:
    return _NOTHING if amount is None else amount.value
