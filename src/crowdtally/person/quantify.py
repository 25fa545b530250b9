"""An ε from a public policy: S-PBQ, the paper's privacy quantification, **as reconstructed here**.

The paper's text breaks off before it says how. What it does say: noise scales are proportional to
1/ε, and ε is to be chosen so that more of it would hardly lower the loss. The expected loss at ε is
at most K/ε, with K = 2·Σ_j z_j(1)/c over c categories (the paper's Theorem 3). It falls by K/ε² for
each further unit of ε. The reconstruction takes the ε at which that falls to a public rate η:
ε* = √(K/η), rounded down, within a policy's range. It never looks at a history.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

from crowdtally.core.numbers import Number, exact, show
from crowdtally.core.privacy import Epsilon
from crowdtally.errors import UsageError
from crowdtally.person.catalogue import Catalogue
from crowdtally.person.levels import Levels, checked
from crowdtally.person.planning import Plan

LABEL = "S-PBQ as reconstructed by Crowdtally: the paper's text breaks off"
_STEPS = 10**4
"""ε* is rounded down to a multiple of 1/10,000."""


@dataclass(frozen=True)
class Policy:
    """What a person, or an adviser, decides beforehand; public."""

    eta: Fraction = Fraction(1)
    """η > 0: by how much one more unit of ε must lower the mean error of a count to be worth it."""
    least: Epsilon = Epsilon(Fraction(1, 10))  # noqa: RUF009 - immutable
    """No ε below this one."""
    most: Epsilon = Epsilon(Fraction(3))  # noqa: RUF009 - immutable
    """No ε above this one."""

    def __post_init__(self) -> None:
        if self.eta <= 0:
            raise UsageError(f"eta must be greater than 0: received {show(self.eta)}.")
        checked(self.least)
        checked(self.most)
        if self.least > self.most:
            raise UsageError(
                f"the policy's least epsilon, {self.least}, is above its most, {self.most}."
            )

    @classmethod
    def of(cls, eta: Number = 1, least: Number = "0.1", most: Number = 3) -> Policy:
        """From what a person typed."""
        return cls(exact(eta, "eta"), Epsilon.of(least), Epsilon.of(most))


def quantify(
    catalogue: Catalogue, policy: Policy | None = None, levels: Levels | None = None
) -> Epsilon:
    """ε* = √(K/η) within the policy's range, rounded down. A reconstruction.

    Categories that are not released, or released as they are, have no part in it.

    >>> five = {"1": "abc", "2": "acd", "3": "ae", "4": "ac", "5": "ab"}
    >>> str(quantify(Catalogue.of({item: list(names) for item, names in five.items()})))
    '2.2851'
    """
    wanted = policy or Policy()
    apart = Levels(
        {
            name: level
            for name, level in (levels or Levels()).of_category.items()
            if level.kind != "perturbed"
        }
    )
    scales = Plan.of(catalogue, 1, apart).scales
    loss = 2 * sum(scales, Fraction(0)) / len(scales)
    # ⌊√x·s⌋ = ⌊√⌊x·s²⌋⌋ for whole s: exact, and downwards.
    best = Fraction(isqrt(int(loss / wanted.eta * _STEPS**2)), _STEPS)
    return Epsilon(min(max(best, wanted.least.value), wanted.most.value))


def found_words(found: Epsilon, policy: Policy) -> str:
    """How an ε was found, in a sentence."""
    return (
        f"Epsilon {found} was found by a public policy (eta {show(policy.eta)}, between "
        f"{policy.least} and {policy.most}), without a look at the history: {LABEL}."
    )
