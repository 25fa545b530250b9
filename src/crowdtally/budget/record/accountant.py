"""What events cost.

Events say what was done and never change meaning; an accountant says what they cost. Its kind is
recorded with each dataset, so that another notion (zCDP, say) can be added without re-reading old
entries in a new light. A kind that this version does not know is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Protocol

from crowdtally.budget.amounts import for_people
from crowdtally.budget.errors import LedgerError
from crowdtally.budget.loss import Loss
from crowdtally.errors import UsageError
from crowdtally.values.epsilon import Delta, Epsilon


class Costed(Protocol):
    """Anything that states its own ε and δ: a charge, or one part of it."""

    @property
    def epsilon(self) -> Epsilon:
        """Its ε."""
        ...

    @property
    def delta(self) -> Delta:
        """Its δ."""
        ...


class Accountant(Protocol):
    """How losses compose."""

    kind: ClassVar[str]
    """The name under which a dataset records it."""

    def cost(self, total: Costed, parts: Iterable[Costed]) -> Loss:
        """What a charge costs; refused where its parts exceed what it states."""
        ...

    def add(self, spent: Loss, cost: Loss) -> Loss:
        """The sum after one more charge."""
        ...

    def take_back(self, spent: Loss, cost: Loss) -> Loss:
        """The sum after a charge was voided."""
        ...


class SequentialComposition:
    """Sequential composition: ε and δ add up, exactly.

    Guarantee: if each mechanism M_i is (ε_i, δ_i)-differentially private for the same unit, their
    joint output is (Σ ε_i, Σ δ_i)-differentially private, also when each is chosen after the
    outputs of the earlier ones were seen.
    """

    kind: ClassVar[str] = "sequential"

    def cost(self, total: Costed, parts: Iterable[Costed]) -> Loss:
        """The stated total, which must cover the sum of the parts."""
        stated = Loss.of(total.epsilon, total.delta)
        summed = sum((Loss.of(part.epsilon, part.delta) for part in parts), Loss())
        if not summed.within(stated):
            raise UsageError(
                f"the parts of the charge sum to ε = {for_people(summed.epsilon)}, "
                f"δ = {for_people(summed.delta)}, more than its stated total of "
                f"ε = {for_people(stated.epsilon)}, δ = {for_people(stated.delta)}. "
                "State at least their sum."
            )
        return stated

    def add(self, spent: Loss, cost: Loss) -> Loss:
        """The exact sum."""
        return spent + cost

    def take_back(self, spent: Loss, cost: Loss) -> Loss:
        """The exact difference."""
        return spent - cost


_KNOWN: dict[str, Accountant] = {SequentialComposition.kind: SequentialComposition()}


def accountant(kind: str) -> Accountant:
    """The accountant of that kind.

    >>> from fractions import Fraction
    >>> accountant("sequential").add(Loss(Fraction(1, 3)), Loss(Fraction(2, 3))).epsilon
    Fraction(1, 1)
    """
    if kind not in _KNOWN:
        raise LedgerError(
            f"an unknown kind of accountant, {kind!r}: this version of Crowdtally knows only "
            f"{', '.join(_KNOWN)}. Use a version at least as new as the one that wrote it."
        )
    return _KNOWN[kind]
