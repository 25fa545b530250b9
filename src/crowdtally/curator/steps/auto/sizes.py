"""Step 1, sizes: how long the users' rows are.

Contract: every user is in one of 13 bins by her row's sum R, bin ⌊log₂ R⌋ up to 12, a user without
a row in none; one user changes one bin by 1, so L1 = L2 = 1, and discrete Laplace noise of scale
1/ε is ε-differentially private, or discrete Gaussian noise of variance 1/(2ρ) is ρ-zCDP.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crowdtally.core.counts import Counts
from crowdtally.core.layout import SIZES as KIND
from crowdtally.core.layout import Numbered
from crowdtally.core.privacy import Price
from crowdtally.curator.counting.rows import Visits
from crowdtally.curator.request.method import AUTO_PART
from crowdtally.curator.steps.auto.course import Course, SoFar
from crowdtally.curator.steps.auto.deciding import SIZES, better_of, decide
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.planned import Plan, Planned, course_of, paid_and_drawn
from crowdtally.curator.table import Table
from crowdtally.inference.rows import read_sizes
from crowdtally.noise.draws import Draws

BINS = 13


@dataclass(frozen=True, eq=False)
class SizesStep:
    """How many users have rows of which length; then everything that follows from that."""

    design: Design
    """What is public."""
    name: str = KIND.name
    """The step's, which is its table's."""

    def plan(self, released: SoFar) -> Planned:
        """It always runs."""
        cost = Course(self.design.opening).share(SIZES)
        return Planned(self, cost, "how long users' rows are decides all else")

    def count(self, visits: Visits) -> Counts:
        """(user, item, amount) → how many users have which row sum, by bins."""
        users = np.asarray(visits.sizes(BINS), dtype=np.int64)
        return Counts(BINS, np.arange(BINS), users, 1)

    def table(self, price: Price) -> Table:
        """Every bin."""
        return Table(self.name, AUTO_PART, Numbered("bin", BINS), price, 1)

    def extra(self) -> Mapping[str, Any]:
        """Nothing more."""
        return {}

    def release(self, plan: Plan, exact: Any, released: SoFar, draws: Draws) -> SoFar:
        """The noisy bins; which steps run, and what they are paid for in, is fixed by them."""
        opened = replace(released, course=Course(self.design.opening))
        made = paid_and_drawn(self.plan(released), exact, opened, draws)
        course, noisy = course_of(made), made.tables[-1]
        sizes = read_sizes(noisy.values.astype(float), noisy.law.std())
        if self.design.may_turn:
            course = better_of(self.design, sizes, course)
        return replace(made, course=course, decided=decide(self.design, sizes, course.total))
