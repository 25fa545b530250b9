"""The noise that a price asks for, and what ``release.json`` says of both.

Contract. A price of ε buys discrete Laplace noise of scale L/ε for counts that one user changes by
at most L in L1: ε-differential privacy. A price of ρ buys discrete Gaussian noise of variance
Δ²/(2ρ) for counts that one user changes by at most Δ in L2: ρ-zCDP (Canonne, Kamath, Steinke 2020).
Both are exact rationals: nothing is rounded.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Protocol

from crowdtally.core.numbers import show
from crowdtally.core.privacy import Epsilon, Price, Rho
from crowdtally.errors import CrowdtallyError
from crowdtally.laws.base import CellNoise
from crowdtally.laws.gaussian import GaussianNoise
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.ledger import Part


class Bounded(Protocol):
    """Counts, or a table of them: what one user can change, in units."""

    @property
    def l1_bound(self) -> int:
        """In L1."""

    @property
    def l2_squared(self) -> int:
        """The square of it in L2."""

    @property
    def unit(self) -> Fraction:
        """What one unit means as a count."""


def noise_of(counts: Bounded, price: Price) -> CellNoise:
    if isinstance(price, Epsilon):
        return DiscreteLaplace(counts.l1_bound / price.value, counts.unit)
    return GaussianNoise(counts.l2_squared / (2 * price.value), counts.unit)


def noise_part(name: str, counts: Bounded, price: Price, *, settled: bool = True) -> Part:
    """What the ledger is told of a table's noise; unless settled, its bound is the largest."""
    law, at_most = noise_of(counts, price), "" if settled else "_at_most"
    unit = {"unit": show(counts.unit)}
    if isinstance(price, Epsilon):
        return Part(name, price, law.kind, {f"l1_bound{at_most}": counts.l1_bound} | unit)
    squared = Fraction(counts.l2_squared)
    facts = {"sigma2": squared / (2 * price.value), "l2_squared": squared}
    said = {f"{fact}{at_most}": show(value) for fact, value in facts.items()}
    return Part(name, None, law.kind, said | unit, rho=price)


def pure(price: Price) -> Epsilon:
    """The ε of what is paid for in ε."""
    if not isinstance(price, Epsilon):
        raise CrowdtallyError(
            "what is paid for in rho was taken for pure epsilon: this is a fault of the program, "
            "and nothing is released."
        )
    return price


def zcdp(price: Price) -> Rho:
    """The ρ of what is paid for in ρ."""
    if not isinstance(price, Rho):
        raise CrowdtallyError(
            "what is paid for in pure epsilon was taken for rho: this is a fault of the program, "
            "and nothing is released."
        )
    return price


def cost_facts(counts: Bounded, price: Price) -> dict[str, Any]:
    if isinstance(price, Epsilon):
        return {"epsilon": show(price.value), "sensitivity": counts.l1_bound}
    return {
        "rho": show(price.value),
        "sensitivity": counts.l1_bound,
        "sensitivity_squared": counts.l2_squared,
    }
