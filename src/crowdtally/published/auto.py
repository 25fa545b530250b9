"""What a release says about how ``auto`` spent ε: its steps, each with its cost and its reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from crowdtally.published.numbers import exact_number

_KNOWN = ("name", "epsilon", "why")


@dataclass(frozen=True)
class StepFacts:
    """One step, taken or passed over."""

    name: str
    """Its name, which is its table's."""
    epsilon: Fraction
    """What it cost; 0 where it was passed over."""
    why: str
    """Why it was taken with that share, or not, in plain words."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What was decided for it: bounds, numbers of items."""

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> StepFacts:
        """From an entry of ``auto.steps``."""
        rest = {name: value for name, value in facts.items() if name not in _KNOWN}
        epsilon = exact_number(facts["epsilon"], "the epsilon of a step")
        return cls(facts["name"], epsilon, facts["why"], rest)

    @property
    def is_taken(self) -> bool:
        """Whether it drew noise, and left a table."""
        return self.epsilon > 0


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
    """What was charged and not spent: nothing is given back."""

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> AutoFacts:
        """From ``auto``."""
        return cls(
            facts["for"],
            facts["repeats"],
            tuple(facts["context_per_user"]),
            tuple(map(StepFacts.from_json, facts["steps"])),
            exact_number(facts["unspent"], "what is unspent"),
        )

    @property
    def taken(self) -> tuple[StepFacts, ...]:
        """The steps that cost something, in their order."""
        return tuple(step for step in self.steps if step.is_taken)

    def step(self, name: str) -> StepFacts | None:
        """A step by its name, or None where there is no such step."""
        return next((step for step in self.steps if step.name == name), None)
