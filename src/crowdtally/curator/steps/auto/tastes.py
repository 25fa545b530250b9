"""F, tastes: what the users of each context like more than all do, by public features of items.

Contract: contexts are a property of the user. Her row is her mean profile minus the public one,
weighted, and β, scaled to a sum of absolute values of at most 1, in the cells of her one context:
L1 = g units, so Laplace noise of scale g/ε is ε-differentially private. Features are the request's;
their means and weights come from released counts, and are published. Where a look is
taken first, the same cells are released later with half of its noise. The proof is in
``contexts.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from crowdtally.core.counts import Counts
from crowdtally.core.layout import TASTES, TASTES_AGAIN, Crossed, Numbered, grid
from crowdtally.core.privacy import Price
from crowdtally.core.profile import Profile
from crowdtally.curator.bounding.scaling import GRID
from crowdtally.curator.counting.rows import UNIT, Visits
from crowdtally.curator.counting.tastes import count_tastes
from crowdtally.curator.request.method import AUTO_PART
from crowdtally.curator.steps.auto.course import SoFar
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.finer import refine
from crowdtally.curator.steps.auto.planned import Passed, Planned, course_of, decided_of
from crowdtally.curator.steps.auto.profiles import profile_of
from crowdtally.curator.steps.auto.ranking import estimated_counts
from crowdtally.curator.steps.auto.reasons import why_not
from crowdtally.curator.steps.auto.reserving import stopped
from crowdtally.curator.steps.auto.stop import HALF, looks
from crowdtally.curator.table import Table

_WHY = "which features the users of each context like more than all users do"
_ALIKE = "no public feature tells enough items from the others"


@dataclass(frozen=True, eq=False)
class Tastes:
    """F at once, or its first half."""

    design: Design
    """What is public."""
    name: str = TASTES.name
    """The step's, which is its table's."""

    def plan(self, released: SoFar) -> Planned | Passed:
        """Where features are given and there are enough users in a context."""
        decided, features = decided_of(released), self.design.features
        if not decided.shares.tastes or features is None:
            never = "no features of items are given" if features is None else None
            return Passed(why_not(self.design, released, never))
        profile = profile_of(features, estimated_counts(self.design, released))
        if profile is None:
            return Passed(_ALIKE)
        share = decided.shares.tastes * (HALF if looks(self.design, decided) else 1)
        asked = FeaturesByContext(self.design, self.name, profile)
        cost = course_of(released).share(share)
        return Planned(asked, cost, _WHY, {"features": profile.size})


@dataclass(frozen=True, eq=False)
class TastesAgain:
    """The second half of F, after a look that found differences: the same with less noise."""

    design: Design
    """What is public."""
    name: str = TASTES_AGAIN.name
    """The step's, which is its table's."""

    def plan(self, released: SoFar) -> Planned | Passed:
        """By the features and weights of the first half."""
        decided, before = decided_of(released), released.table(TASTES.name)
        if before is None or not looks(self.design, decided) or stopped(released):
            return Passed(why_not(self.design, released))
        profile = Profile.from_dict(before.facts)
        asked = FeaturesByContext(self.design, self.name, profile)
        return refine(asked, before, released, {"features": profile.size})


@dataclass(frozen=True, eq=False)
class FeaturesByContext:
    """Users' centred profiles, scaled to 1, by context. L1 = 1, in counts."""

    design: Design
    """What is public; its contexts are a property of the user."""
    name: str
    """Of the table."""
    profile: Profile
    """The features, and what they are centred and weighed by."""

    def count(self, visits: Visits) -> Counts:
        """The sum of each feature, and of β, over the users of each context."""
        return count_tastes(visits, self.profile, self.design.contexts)

    def table(self, price: Price) -> Table:
        """Every feature in every context; the last row is β's."""
        features = Numbered(str(TASTES.own), self.profile.size + 1)
        layout = Crossed(features, grid(self.design.context_axes))
        return Table(self.name, AUTO_PART, layout, price, GRID, UNIT)

    def extra(self) -> Mapping[str, Any]:
        """The features, how they were merged, their means and weights, and what items are of."""
        return self.profile.as_dict()
