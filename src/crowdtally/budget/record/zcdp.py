"""What events cost by zero-concentrated differential privacy (zCDP): ρ adds, δ₂ adds.

Guarantee. Let the charges of a dataset be made of pure mechanisms with ε_1, ε_2, … (each perhaps
with a δ of its own), and of mechanisms that are δ₂-approximate ρ-zCDP, for one unit, in any order,
each chosen after the outputs of the earlier ones were seen. Write E = Σ ε_i, R = Σ ρ, S = Σ ε_i²/2
and D = Σ δ₂ (with the δ of the pure ones). All their outputs together are (ε, δ)-differentially
private for every ε ≥ 0 with δ = D + the smaller of

    (1) conv(R + S, ε)         everything counted as ρ, and
    (2) conv(R, ε − E)         pure ε taken off first, where E ≤ ε,

where conv(ρ, ε) is the bound of ``laws/zcdp.py``.

Proof. First let D = 0. The privacy loss of the whole is the sum of those of the steps, each given
the steps before it. (1) ε_i-DP is ε_i²/2-zCDP, and zCDP adds along adaptive compositions: given any
past, a step with ρ multiplies the moment E[e^((a−1)Z)] by at most e^((a−1)aρ). (2) The pure steps'
share of the loss is at most E whatever came out. The share Z' of the others has E[e^((a−1)Z')] ≤
e^((a−1)aR), by the same induction: a pure step in between changes which past is given, and no
bound, which holds for every past. So E[(1 − e^(ε−Z))+] ≤ E[(1 − e^((ε−E)−Z'))+] ≤ conv(R, ε − E).
Neither needs the steps in order. With δ₂: an approximate step is, but for a part of probability δ₂
of each of the two laws, one that obeys the bound without it (for (ε, δ)-DP: Kairouz, Oh, Viswanath
2015); over all steps these parts weigh at most D, and δ grows by no more.

The two bounds are about amounts (ε_i, ρ, δ₂ of each charge) that do not depend on what earlier
outputs said; what is counted, and how, may. A limit of ρ alone holds for amounts so chosen, too:
the moment of each order is a supermartingale that is stopped before Σρ exceeds the limit (Feldman
and Zrnic 2021).
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import ClassVar

from crowdtally.budget.amounts import for_people
from crowdtally.budget.loss import Loss
from crowdtally.budget.record.charge import Charge, Part
from crowdtally.errors import UsageError
from crowdtally.laws.zcdp import (
    approximate,
    delta_of,
    epsilon_of,
    pure_rho,
    rho_of,
    rounded_down,
    rounded_up,
    selection_rho,
)
from crowdtally.values.epsilon import Delta

_NOTHING = Fraction(0)
_STEP = 1 - Fraction(1, 10**11)


class ZeroConcentrated:
    """ρ and δ₂ add up, exactly; pure ε is counted the better one of two ways.

    A limit is (ε, δ), which what was spent is converted to, or ρ, with the δ that unknown cells may
    spend. Contract and proof: the module's own text.
    """

    kind: ClassVar[str] = "zcdp"

    def cost(self, charge: Charge) -> Loss:
        """The stated total, which must cover the sum of the parts.

        A charge that states no ρ is one of pure ε, of which its selections are a part, too. What is
        stated beyond the parts counts as one more part. Selections cost ε²/8 as ρ, and no ε.
        """
        stated, parts = charge.loss, sum(map(_part_cost, charge.parts), Loss())
        selected = sum((part.loss.epsilon for part in charge.parts if part.selects), _NOTHING)
        if charge.rho is None:
            stated = Loss(stated.epsilon - selected, stated.delta, parts.rho)
        if not parts.within(stated):
            raise UsageError(
                f"the parts of the charge sum to {_words(parts)}, more than the total of "
                f"{_words(stated)} that it states for them. State at least their sum."
            )
        rest = stated.epsilon - parts.epsilon
        return stated + Loss(pure_rho=parts.pure_rho + pure_rho(rest))

    def add(self, spent: Loss, cost: Loss) -> Loss:
        """The exact sums."""
        return spent + cost

    def take_back(self, spent: Loss, cost: Loss) -> Loss:
        """The exact differences."""
        return spent - cost

    def require_limit(self, dataset: str, limit: Loss) -> None:
        """(ε, δ) with a δ above 0 and at most 1/10, or ρ."""
        if not limit.rho:
            approximate(Delta(limit.delta))
        elif limit.epsilon or limit.pure_rho:
            raise UsageError(f"a limit of dataset {dataset!r} is epsilon with delta, or rho.")
        elif limit.delta:
            approximate(Delta(limit.delta))

    def fits(self, spent: Loss, cost: Loss, limit: Loss) -> bool:
        """Whether all of it together is within the limit, by certified arithmetic.

        With a limit of ρ, a charge without δ is judged by ρ alone, as pure ε is.
        """
        after = spent + cost
        if limit.rho:
            in_rho = after.rho + after.pure_rho <= limit.rho
            return in_rho and (not cost.delta or after.delta <= limit.delta)
        return delta_at(after, limit.epsilon) <= limit.delta

    def remaining(self, spent: Loss, limit: Loss) -> Loss:
        """As pure ε alone, as δ₂ alone, or as ρ alone: each would fit; the three do not add up.

        Rounded down where a conversion was needed, and certified by ``fits``.
        """
        if limit.rho:
            rho = max(limit.rho - spent.rho - spent.pure_rho, _NOTHING)
            delta = max(limit.delta - spent.delta, _NOTHING)
            return Loss(_root(2 * rho), delta, rho)
        delta = rounded_down(limit.delta - delta_at(spent, limit.epsilon))
        rho = rounded_down(_rho_left(spent, limit))
        return Loss(self._pure_left(spent, limit), delta, rho)

    def reported(self, spent: Loss, limit: Loss | None) -> Loss:
        """(ε, δ) at the limit's δ, rounded up; ρ with all pure ε in it, where the limit is one."""
        if limit is None:
            return spent
        if limit.rho:
            return Loss(delta=spent.delta, rho=spent.rho + spent.pure_rho)
        found = epsilon_at(spent, limit.delta)
        # More δ was spent than there is: no ε says it any more.
        return spent if found is None else Loss(rounded_up(found), limit.delta)

    def _pure_left(self, spent: Loss, limit: Loss) -> Fraction:
        """The most pure ε that fits, by either of the two bounds."""
        room = limit.delta - spent.delta
        first = _root(2 * (rho_of(limit.epsilon, room) - spent.rho - spent.pure_rho))
        second = limit.epsilon - spent.epsilon
        if spent.rho and room > 0:
            second = rounded_down(second - epsilon_of(spent.rho, room))
        for amount in sorted({first, second, rounded_down(second * _STEP)}, reverse=True):
            cost = Loss(amount, pure_rho=pure_rho(amount))
            if amount > 0 and self.fits(spent, cost, limit):
                return amount
        return _NOTHING


def delta_at(spent: Loss, epsilon: Fraction) -> Fraction:
    """A δ for which what was spent is (ε, δ)-differentially private, rounded up; at most 1."""
    together = delta_of(spent.rho + spent.pure_rho, epsilon)
    apart = delta_of(spent.rho, epsilon - spent.epsilon)
    return min(spent.delta + min(together, apart), Fraction(1))


def epsilon_at(spent: Loss, delta: Fraction) -> Fraction | None:
    """An ε for which what was spent is (ε, δ)-differentially private, rounded up; None for none."""
    room = delta - spent.delta
    if room < 0 or (room == 0 and spent.rho):
        return None
    if room == 0:
        return spent.epsilon
    together = epsilon_of(spent.rho + spent.pure_rho, room)
    return min(together, spent.epsilon + epsilon_of(spent.rho, room))


def _part_cost(part: Part) -> Loss:
    """What one part costs by itself."""
    stated = part.loss
    if part.selects and part.epsilon is not None:
        return Loss(rho=selection_rho(part.epsilon).value)
    return stated + Loss(pure_rho=pure_rho(stated.epsilon))


def _rho_left(spent: Loss, limit: Loss) -> Fraction:
    """The most ρ that fits, by either of the two bounds."""
    room = limit.delta - spent.delta
    together = rho_of(limit.epsilon, room) - spent.rho - spent.pure_rho
    apart = rho_of(limit.epsilon - spent.epsilon, room) - spent.rho
    return max(together, apart)


def _root(square: Fraction) -> Fraction:
    """A square root, rounded down; 0 of what is below 0."""
    if square <= 0:
        return _NOTHING
    scale = 10**40 * square.denominator  # √(n/d) = √(n·d·s²)/(d·s), and n·d ≥ 1
    root = isqrt(square.numerator * square.denominator * scale**2)
    return rounded_down(Fraction(root, square.denominator * scale))


def _words(loss: Loss) -> str:
    return (
        f"ε = {for_people(loss.epsilon)}, δ = {for_people(loss.delta)}, ρ = {for_people(loss.rho)}"
    )
