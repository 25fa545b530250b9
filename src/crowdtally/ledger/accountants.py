"""What charges cost: pure ε and δ by sequential composition, ρ by zCDP."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import ClassVar, Protocol

from crowdtally.core.privacy import Delta
from crowdtally.errors import UsageError, did_you_mean
from crowdtally.laws.conversion import (
    approximate,
    delta_of,
    epsilon_of,
    pure_rho,
    rho_of,
    rounded_down,
    rounded_up,
    selection_rho,
)
from crowdtally.ledger.amounts import Loss, for_people
from crowdtally.ledger.charge import Charge, Part
from crowdtally.ledger.errors import LedgerError

# What events cost by zero-concentrated differential privacy (zCDP): ρ adds, δ₂ adds.
#
# The charges of a dataset are made of pure mechanisms with ε_1, ε_2, … (each perhaps with a δ of
# its own), and of mechanisms that are δ₂-approximate ρ-zCDP, for one unit, in any order. Write E
# = Σ ε_i, R = Σ ρ, S = Σ ε_i²/2 and D = Σ δ₂ (with the δ of the pure ones); conv(ρ, ε) is the
# bound of ``laws/conversion.py``, Z the privacy loss of all outputs together: they are (ε,
# δ)-differentially private if E[(1 − e^(ε−Z))+] ≤ δ, for Z of either of two neighbours.
#
# **A limit holds for amounts that are chosen as one goes.** Whoever charges has seen the earlier
# outputs, and may let them decide what is charged next, and how much. A limit stops each such
# history:
#
# - *ρ, with a δ for unknown cells*: R + S ≤ ρ and D ≤ δ. Given any past, a step with ρ multiplies
#   the moment E[e^((a−1)Z)] by at most e^((a−1)aρ), and ε_i-DP is ε_i²/2-zCDP; so e^((a−1)(Z −
#   a(R+S))) is a supermartingale for each order a, and stopped while R + S ≤ ρ it gives
#   E[e^((a−1)Z)] ≤ e^((a−1)aρ) (Feldman and Zrnic 2021). An approximate step obeys this but for a
#   part of probability δ₂ of each of the two laws (for (ε, δ)-DP: Kairouz, Oh, Viswanath 2015);
#   along every history these add up to ≤ δ.
# - *(ε, δ)*: D = 0, and (A) conv(R + S, ε) ≤ δ, or (B) R = 0 and E ≤ ε. Proof: all sums grow
#   along a history, so one that ends in A was in A throughout. Cut every history where it would
#   leave A: by the first case the cut ones contribute at most δ to E[(1 − e^(ε−Z))+], so those
#   that end in A, which were not cut, contribute at most δ. One that ends outside A is in B:
#   Z ≤ E ≤ ε, and it contributes nothing. Both together: at most δ.
#
#   Why no more than this. The bound (C) D + conv(R, ε − E), pure ε taken off first, holds for
#   amounts that are fixed in advance. "A or C", or δ₂ beside A, may spend twice: after a rare,
#   telling output one history goes on to the edge of A, and all others use up δ in the other way.
#   So δ₂ needs a limit in which it has a part of its own: ρ with δ.
#
# **One charge** (``each``) fixes its amounts together, before any output: it is (ε, δ) with
# δ = D + the smaller of conv(R + S, ε) and conv(R, ε − E). For the second: the pure steps' share
# of Z is at most E whatever came out, and the share Z' of the others has
# E[e^((a−1)Z')] ≤ e^((a−1)aR) as above.

_NOTHING = Fraction(0)


class ZeroConcentrated:
    """ρ and δ₂ add up; pure ε counts as ε²/2 of ρ, and as itself where there is nothing else.

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
        return (stated + Loss(pure_rho=parts.pure_rho + pure_rho(rest))).short()

    def add(self, spent: Loss, cost: Loss) -> Loss:
        return (spent + cost).short()

    def take_back(self, spent: Loss, cost: Loss) -> Loss:
        return (spent - cost).short()

    def require_limit(self, dataset: str, limit: Loss, spent: Loss) -> None:
        """(ε, δ) with a δ above 0 and at most 1/10, where no δ₂ was spent; or ρ."""
        if not limit.rho:
            approximate(Delta(limit.delta))
            if spent.delta:
                raise UsageError(
                    f"single charges have spent δ = {for_people(spent.delta)} of dataset "
                    f"{dataset!r}, so its limit needs a delta for them alone: give --rho R "
                    "--delta D in place of --epsilon."
                )
        elif limit.epsilon or limit.pure_rho:
            raise UsageError(f"a limit of dataset {dataset!r} is epsilon with delta, or rho.")
        elif limit.delta:
            approximate(Delta(limit.delta))

    def fits(self, spent: Loss, cost: Loss, limit: Loss) -> bool:
        """Whether all of it together is within the limit, by certified arithmetic.

        With a limit of ρ, a charge without δ is judged by ρ alone, as pure ε is.
        """
        after = self.add(spent, cost)
        in_rho = after.rho + after.pure_rho
        if limit.rho:
            return in_rho <= limit.rho and (not cost.delta or after.delta <= limit.delta)
        if after.delta:
            return False
        if not after.rho and after.epsilon <= limit.epsilon:
            return True
        return delta_of(in_rho, limit.epsilon) <= limit.delta

    def fits_alone(self, cost: Loss, limit: Loss) -> bool:
        """By the better one of two bounds: all amounts are fixed before the first output."""
        if limit.rho:
            return self.fits(Loss(), cost, limit)
        return delta_at(cost, limit.epsilon) <= limit.delta

    def remaining(self, spent: Loss, limit: Loss) -> Loss:
        """As pure ε alone, as δ₂ alone, or as ρ alone: each would fit; the three do not add up.

        Rounded down where a conversion was needed, and certified by ``fits``.
        """
        if limit.rho:
            rho = max(limit.rho - spent.rho - spent.pure_rho, _NOTHING)
            delta = max(limit.delta - spent.delta, _NOTHING)
            return Loss(_root(2 * rho), delta, rho)
        if spent.delta:
            return Loss()
        granted = rho_of(limit.epsilon, limit.delta) - spent.rho - spent.pure_rho
        rho, epsilon = rounded_down(granted), _root(2 * granted)
        if not spent.rho:
            epsilon = max(epsilon, limit.epsilon - spent.epsilon)
        return Loss(epsilon, rho=rho)

    def reported(self, spent: Loss, limit: Loss | None) -> Loss:
        """(ε, δ) at the limit's δ, rounded up; ρ with all pure ε in it, where the limit is one.

        By the bound that the limit holds by, so that what is spent and what is left agree.
        """
        if limit is None:
            return spent
        if limit.rho:
            return Loss(delta=spent.delta, rho=spent.rho + spent.pure_rho)
        if spent.delta:  # the limit was set to this kind by another program: nothing is left
            return spent
        epsilon = rounded_up(epsilon_of(spent.rho + spent.pure_rho, limit.delta))
        return Loss(epsilon if spent.rho else min(epsilon, spent.epsilon), limit.delta)


def delta_at(spent: Loss, epsilon: Fraction) -> Fraction:
    """A δ for which one charge is (ε, δ)-differentially private, rounded up; at most 1."""
    together = delta_of(spent.rho + spent.pure_rho, epsilon)
    apart = delta_of(spent.rho, epsilon - spent.epsilon)
    return min(spent.delta + min(together, apart), Fraction(1))


def _part_cost(part: Part) -> Loss:
    stated = part.loss
    if part.selects and part.epsilon is not None:
        return Loss(rho=selection_rho(part.epsilon).value)
    return stated + Loss(pure_rho=pure_rho(stated.epsilon))


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


# What events cost.
#
# Events say what was done and never change meaning; an accountant says what they cost. Its kind
# is recorded with each dataset, so that old entries are never read in a new light. A kind that
# this version does not know is refused.


class Accountant(Protocol):
    """How losses compose."""

    kind: ClassVar[str]

    def cost(self, charge: Charge) -> Loss:
        """What a charge costs; refused where its parts exceed what it states."""

    def add(self, spent: Loss, cost: Loss) -> Loss:
        """The sum after one more charge, never less than exact."""

    def take_back(self, spent: Loss, cost: Loss) -> Loss:
        """The sum after a charge was voided."""

    def require_limit(self, dataset: str, limit: Loss, spent: Loss) -> None:
        """Refuse a limit that what was spent cannot be compared with."""

    def fits(self, spent: Loss, cost: Loss, limit: Loss) -> bool:
        """Whether a cost fits beside what was spent; exactly the limit does.

        The limit holds although each amount may be chosen after earlier outputs were seen.
        """

    def fits_alone(self, cost: Loss, limit: Loss) -> bool:
        """Whether one charge, whose amounts are fixed together, is within a limit."""

    def remaining(self, spent: Loss, limit: Loss) -> Loss:
        """What may still be spent, never negative: so much ε, or so much ρ, or so much δ."""

    def reported(self, spent: Loss, limit: Loss | None) -> Loss:
        """What was spent, in the terms of the limit."""


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
        return (spent + cost).short()

    def take_back(self, spent: Loss, cost: Loss) -> Loss:
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
        return cost.within(limit)

    def remaining(self, spent: Loss, limit: Loss) -> Loss:
        return (limit - spent).at_least_zero()

    def reported(self, spent: Loss, limit: Loss | None) -> Loss:
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
    """Refuse, before a dataset exists, limits with which its accountant cannot compare."""
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
