"""What a release says about how ``auto`` spent ε or ρ: its steps, their costs and reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from crowdtally.core.privacy import Epsilon, Rho
from crowdtally.laws.base import NoiseLaw
from crowdtally.laws.gaussian import GaussianNoise
from crowdtally.laws.interval import IntervalNoise
from crowdtally.published.numbers import exact_number, maybe_number

_KNOWN = ("name", Epsilon.field, Rho.field, "why")


def bounds_nobody(law: NoiseLaw) -> bool:
    """Whether a table of items with this noise counts distinct users, each in all of her cells.

    Rows that are scaled are counted in small units.
    """
    return law.kind == IntervalNoise.kind or (law.kind == GaussianNoise.kind and law.unit == 1)


@dataclass(frozen=True)
class StepFacts:
    """One step, taken or passed over."""

    name: str
    """Its name, which is its table's."""
    cost: Fraction
    """What it cost; 0 where it was passed over."""
    why: str
    """Why it was taken with that share, or not, in plain words."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What was decided for it: bounds, numbers of items."""
    paid_in: str = Epsilon.field
    """What the cost is in: ``epsilon`` or ``rho``."""

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> StepFacts:
        """From an entry of ``auto.steps``."""
        rest = {name: value for name, value in facts.items() if name not in _KNOWN}
        paid_in = Rho.field if Rho.field in facts else Epsilon.field
        cost = exact_number(facts[paid_in], f"the {paid_in} of a step")
        return cls(facts["name"], cost, facts["why"], rest, paid_in)

    @property
    def is_taken(self) -> bool:
        """Whether it drew noise, and left a table."""
        return self.cost > 0


@dataclass(frozen=True)
class AutoFacts:
    """What ``auto`` was told, and what it did."""

    purpose: str
    """What the release is for: ``counts``, ``top`` or ``recommend``."""
    repeats: bool
    """Whether a user's several records at one item count as several."""
    context_per_user: tuple[str, ...]
    """The contexts that are a property of the user: all of them, or none."""
    steps: tuple[StepFacts, ...]
    """The steps in their order, also those that were passed over."""
    unspent: Fraction
    """What was charged and not spent: nothing is given back. In ρ, where there is one."""
    rho: Fraction | None = None
    """ρ that its steps are paid out of, all of them or all but the first; None: ε alone."""

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> AutoFacts:
        """From ``auto``."""
        return cls(
            facts["for"],
            facts["repeats"],
            tuple(facts["context_per_user"]),
            tuple(map(StepFacts.from_json, facts["steps"])),
            exact_number(facts["unspent"], "what is unspent"),
            maybe_number(facts.get("rho"), "the rho of auto"),
        )

    @property
    def taken(self) -> tuple[StepFacts, ...]:
        """The steps that cost something, in their order."""
        return tuple(step for step in self.steps if step.is_taken)

    def spent(self, paid_in: str) -> Fraction:
        """What the steps cost together, of those that are paid for in ``epsilon`` or in ``rho``."""
        return sum((one.cost for one in self.taken if one.paid_in == paid_in), Fraction(0))

    def share(self, step: StepFacts, epsilon: Fraction) -> Fraction:
        """What a step cost, as a share of what it is paid out of: ρ, or ε of the release."""
        whole = self.rho if step.paid_in == Rho.field else None
        return step.cost / (whole or epsilon)

    def step(self, name: str) -> StepFacts | None:
        """A step by its name, or None where there is no such step."""
        return next((step for step in self.steps if step.name == name), None)
