"""Amounts of ε, δ and ρ in words, for people."""

from __future__ import annotations

from crowdtally.budget.amounts import for_people
from crowdtally.budget.loss import Loss
from crowdtally.core.numbers import show


def amount(loss: Loss, *, in_rho: bool = False) -> str:
    """An amount for a person; δ and ρ only where there is any, ε unless there is ρ alone.

    ``in_rho`` is for what is compared with a ρ: nothing of it is then said as ρ, too.

    >>> from fractions import Fraction
    >>> amount(Loss()), amount(Loss(rho=Fraction(1, 10))), amount(Loss(Fraction(1), Fraction(1, 8)))
    ('ε = 0', 'ρ = 0.1', 'ε = 1, δ = 0.125')
    """
    said = []
    if loss.epsilon or not (loss.rho or in_rho):
        said.append(f"ε = {for_people(loss.epsilon)}")
    if loss.rho or in_rho:
        said.append(f"ρ = {for_people(loss.rho)}")
    if loss.delta:
        said.append(f"δ = {for_people(loss.delta)}")
    return ", ".join(said)


def stated(loss: Loss) -> list[str]:
    """What a charge states, name by name, as a command would take it.

    >>> from fractions import Fraction
    >>> stated(Loss(Fraction(1, 3), Fraction(1, 10**9)))
    ['epsilon 1/3', 'delta 1e-9']
    """
    named = (("epsilon", loss.epsilon), ("rho", loss.rho), ("delta", loss.delta))
    return [f"{name} {show(value)}" for name, value in named if value]


def made_of(spent: Loss) -> str:
    """The sums of a dataset that counts by zCDP."""
    said = [f"ρ = {for_people(spent.rho)}"]
    if spent.epsilon:
        said.append(f"pure ε = {for_people(spent.epsilon)}")
    if spent.delta:
        said.append(f"δ of single charges {for_people(spent.delta)}")
    return ", ".join(said)


def remaining_words(left: Loss, *, either: bool) -> str:
    """What may still be spent; ``either`` where that is so much ε or so much ρ, and not both."""
    if not either:
        return amount(left)
    said = [f"ρ = {for_people(left.rho)}"] if left.rho else []
    said += [f"pure ε = {for_people(left.epsilon)}"] if left.epsilon else []
    return ", or else ".join(said) or "nothing"
