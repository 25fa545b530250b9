"""What events cost.

Events say what was done and never change meaning; an accountant says what they cost. Its kind is
recorded with each dataset, so that old entries are never read in a new light. A kind that this
version does not know is refused.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

from crowdtally.budget.amounts import for_people
from crowdtally.budget.errors import LedgerError
from crowdtally.budget.loss import Loss
from crowdtally.budget.record.charge import Charge
from crowdtally.budget.record.zcdp import ZeroConcentrated
from crowdtally.errors import UsageError, did_you_mean


class Accountant(Protocol):
    """How losses compose."""

    kind: ClassVar[str]
    """The name under which a dataset records it."""

    def cost(self, charge: Charge) -> Loss:
        """What a charge costs; refused where its parts exceed what it states."""
        ...

    def add(self, spent: Loss, cost: Loss) -> Loss:
        """The sum after one more charge, never less than exact."""
        ...

    def take_back(self, spent: Loss, cost: Loss) -> Loss:
        """The sum after a charge was voided."""
        ...

    def require_limit(self, dataset: str, limit: Loss, spent: Loss) -> None:
        """Refuse a limit that what was spent cannot be compared with."""
        ...

    def fits(self, spent: Loss, cost: Loss, limit: Loss) -> bool:
        """Whether a cost fits beside what was spent; exactly the limit does.

        The limit holds although each amount may be chosen after earlier outputs were seen.
        """
        ...

    def fits_alone(self, cost: Loss, limit: Loss) -> bool:
        """Whether one charge, whose amounts are fixed together, is within a limit."""
        ...

    def remaining(self, spent: Loss, limit: Loss) -> Loss:
        """What may still be spent, never negative: so much ε, or so much ρ, or so much δ."""
        ...

    def reported(self, spent: Loss, limit: Loss | None) -> Loss:
        """What was spent, in the terms of the limit."""
        ...


class SequentialComposition:
    """Sequential composition: ε and δ add up, exactly.

    Guarantee: if each mechanism M_i is (ε_i, δ_i)-differentially private for the same unit, their
    joint output is (Σ ε_i, Σ δ_i)-differentially private, also when each is chosen after the
    outputs of the earlier ones were seen.
    """

    kind: ClassVar[str] = "sequential"

    def cost(self, charge: Charge) -> Loss:
        """The stated total, which must cover the sum of the parts. A selection costs its ε."""
        if charge.rho is not None:
            raise UsageError(_no_rho("this charge has a rho"))
        stated = charge.loss
        summed = sum((part.loss for part in charge.parts), Loss())
        if not summed.within(stated):
            raise UsageError(
                f"the parts of the charge sum to ε = {for_people(summed.epsilon)}, "
                f"δ = {for_people(summed.delta)}, more than its stated total of "
                f"ε = {for_people(stated.epsilon)}, δ = {for_people(stated.delta)}. "
                "State at least their sum."
            )
        return stated.short()

    def add(self, spent: Loss, cost: Loss) -> Loss:
        """The sum."""
        return (spent + cost).short()

    def take_back(self, spent: Loss, cost: Loss) -> Loss:
        """The difference."""
        return (spent - cost).short()

    def require_limit(self, dataset: str, limit: Loss, spent: Loss) -> None:
        """ε and δ of any size; ρ is another currency."""
        if limit.has_rho:
            raise UsageError(_no_rho(f"a limit of rho was given for dataset {dataset!r}"))

    def fits(self, spent: Loss, cost: Loss, limit: Loss) -> bool:
        """By ε and δ, each by itself.

        A limit can be set below what was spent. A request without δ is then judged by ε alone, also
        where more δ was spent than the limit now allows.
        """
        after = self.add(spent, cost)
        return after.epsilon <= limit.epsilon and (not cost.delta or after.delta <= limit.delta)

    def fits_alone(self, cost: Loss, limit: Loss) -> bool:
        """By ε and δ, each by itself."""
        return cost.within(limit)

    def remaining(self, spent: Loss, limit: Loss) -> Loss:
        """The exact difference, nothing where it is negative."""
        return (limit - spent).at_least_zero()

    def reported(self, spent: Loss, limit: Loss | None) -> Loss:
        """The sum itself."""
        return spent


_KNOWN: dict[str, Accountant] = {
    SequentialComposition.kind: SequentialComposition(),
    ZeroConcentrated.kind: ZeroConcentrated(),
}


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


def chosen(typed: str | None, *limits: Loss | None) -> str:
    """The kind for a new dataset: what a person typed, else what their limits need."""
    needs_rho = any(limit is not None and limit.has_rho for limit in limits)
    if typed is None:
        return ZeroConcentrated.kind if needs_rho else SequentialComposition.kind
    if typed not in _KNOWN:
        raise UsageError(
            f"--accountant is {' or '.join(_KNOWN)}: received {typed[:40]!r}. "
            f"{did_you_mean(typed, _KNOWN)}"
        )
    return typed


def require_limits(dataset: str, typed: str | None, *limits: Loss | None) -> None:
    """Refuse, before there is a dataset, limits that its accountant could not hold."""
    rule = accountant(chosen(typed, *limits))
    for limit in limits:
        if limit is not None:
            rule.require_limit(dataset, limit, Loss())


def needed(charge: Charge) -> str:
    """The kind for a dataset that a charge makes."""
    return SequentialComposition.kind if charge.rho is None else ZeroConcentrated.kind


def _no_rho(what: str) -> str:
    return (
        f"{what}, and the dataset adds up pure epsilon and delta: rho does not add to them. "
        "Nothing was charged or changed. Charge what has a rho to a dataset that counts by zCDP, "
        "which `crowdtally ledger create NAME --epsilon E --delta D --accountant zcdp` (or --rho "
        "R) makes: under a new name, with a limit that leaves out what the same people's other "
        "datasets spent."
    )
