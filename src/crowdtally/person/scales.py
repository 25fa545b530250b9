"""Phase 1: how much noise each category gets. The proof is in scales.md.

min Σ_j 1/v_j subject to (C·v)_i ≤ ε_i for every item i, v > 0. One item more or less changes each
of its categories' counts by 1; noise of rate v_j on them then has a loss of at most Σ v_j ≤ ε_i.
The optimum is found in floats, rounded down to rationals, and verified exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import frexp, lcm

import numpy as np

from crowdtally.errors import CrowdtallyError
from crowdtally.person.solver import Incidence, least_noise

_BITS = 40
"""Leading bits of a rate that are kept: the rest is rounded away, downwards."""

Sets = Sequence[tuple[int, ...]]


@dataclass(frozen=True)
class Rates:
    values: tuple[Fraction, ...]
    """v_j for each category: noise of scale 1/v_j."""
    gap: float
    """At most this share of the mean noise lies above the least possible."""


def best_rates(sets: Sets, budgets: Sequence[Fraction], categories: int) -> Rates:
    """The rates of least mean noise under which no set's rates sum to more than its budget.

    Args:
        sets: the distinct sets of categories, by numbers below ``categories``; each number is in
            one of them.
        budgets: ε_i > 0 for each set, exact.
        categories: how many categories there are.

    >>> rates = best_rates([(0,), (0, 1)], [Fraction(1), Fraction(1)], 2).values
    >>> sum(rates) <= 1, [round(float(rate), 6) for rate in rates]
    (True, [0.5, 0.5])
    """
    largest = max(budgets)
    binding = binding_sets(sets, budgets)
    shares = np.array([float(budgets[number] / largest) for number in binding])
    found = least_noise(Incidence([sets[number] for number in binding], categories), shares)
    rates = [rounded_down(share) * largest for share in found.rates.tolist()]
    values = _repaired(rates, sets, budgets)
    verify(values, sets, budgets)
    return Rates(values, _gap(found.gap, found.rates.tolist(), values, largest))


def binding_sets(sets: Sets, budgets: Sequence[Fraction]) -> list[int]:
    """The numbers of the sets whose constraints follow from no other one.

    A set inside another one has a smaller sum: its constraint follows unless its own budget is
    smaller than the other's.
    """
    order = {budget: place for place, budget in enumerate(sorted(set(budgets)))}
    rank = [order[budget] for budget in budgets]
    having: dict[int, set[int]] = {}
    for number, one in enumerate(sets):
        for category in one:
            having.setdefault(category, set()).add(number)
    return [
        number
        for number, one in enumerate(sets)
        if not any(
            other != number and rank[other] <= rank[number]
            for other in set.intersection(*sorted((having[c] for c in one), key=len))
        )
    ]


def verify(rates: Sequence[Fraction], sets: Sets, budgets: Sequence[Fraction]) -> None:
    """Refuse rates whose sum over any set is above its budget: C·v ≤ ε, exactly."""
    if most_used(rates, sets, budgets) > 1 or min(rates) <= 0:
        raise CrowdtallyError(
            "the noise that was planned would not keep epsilon: this is a fault of the program. "
            "Please report it. Nothing was drawn, charged or released."
        )


def most_used(rates: Sequence[Fraction], sets: Sets, budgets: Sequence[Fraction]) -> Fraction:
    """The largest share of its budget that any set's rates use together, exact."""
    common = lcm(*(rate.denominator for rate in rates))
    whole = [rate.numerator * (common // rate.denominator) for rate in rates]
    largest: dict[Fraction, int] = {}
    for one, budget in zip(sets, budgets, strict=True):
        total = sum(whole[category] for category in one)
        largest[budget] = max(total, largest.get(budget, 0))
    return max(Fraction(total) / (budget * common) for budget, total in largest.items())


def rounded_down(number: float) -> Fraction:
    """The leading bits of a positive float, as a rational that is not above it.

    >>> rounded_down(0.75), rounded_down(0.1) < 0.1
    (Fraction(3, 4), True)
    """
    mantissa, exponent = frexp(number)
    whole = int(mantissa * (1 << _BITS))
    return Fraction(whole, 1 << _BITS) * Fraction(2) ** exponent


def _repaired(
    rates: list[Fraction], sets: Sets, budgets: Sequence[Fraction]
) -> tuple[Fraction, ...]:
    """The rates, all made smaller by one factor where floats went beyond a budget."""
    most = max(most_used(rates, sets, budgets), Fraction(1))
    return tuple(rate / most for rate in rates)


def _gap(
    before: float, proposed: Sequence[float], rates: Sequence[Fraction], largest: Fraction
) -> float:
    """The gap of the proposal, and what rounding added to it."""
    found = sum(1 / rate for rate in proposed)
    kept = sum(1 / float(rate / largest) for rate in rates)
    return max(before, 0.0) + max(kept / found - 1, 0.0)
