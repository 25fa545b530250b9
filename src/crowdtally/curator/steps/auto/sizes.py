"""Step 1, sizes: how long the users' rows are.

Contract: every user is in one of 13 bins by her row's sum R, bin ⌊log₂ R⌋ up to 12, a user without
a row in none; one user changes one bin by 1, so L1 = L2 = 1, and discrete Laplace noise of scale
1/ε is ε-differentially private, or discrete Gaussian noise of variance 1/(2ρ) is ρ-zCDP.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crowdtally.core.counts import Counts
from crowdtally.core.layout import SIZES as KIND
from crowdtally.core.layout import Numbered
from crowdtally.core.privacy import Delta, Rho
from crowdtally.curator.converse import Course, Reading, Released
from crowdtally.curator.counting.bounded import Read
from crowdtally.curator.request.method import AUTO_PART
from crowdtally.curator.steps.auto.deciding import SIZES, better_of, decide
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.visiting import visits_of
from crowdtally.curator.table import Table
from crowdtally.inference.rows import read_sizes
from crowdtally.ledger import Part
from crowdtally.noise.draws import Draws

BINS = 13


@dataclass(frozen=True, eq=False)
class SizesStep:
    """How many users have rows of which length; then everything that follows from that."""

    design: Design
    """What is public."""
    name: str = KIND.name
    """The step's, which is its table's."""

    def parts(self) -> Sequence[Part]:
        """The whole of the price: the first step is charged for all.

        Where later steps may be paid for in ρ, all of it is one pair of ε and δ.
        """
        total, aim = self.design.opening, {"aim": self.design.aim}
        if isinstance(total, Rho):
            return [Part(AUTO_PART, None, "adaptive", aim, rho=total)]
        delta = self.design.delta if self.design.may_turn else Delta()
        return [Part(AUTO_PART, total, "adaptive", aim, delta)]

    def count(self, reading: Reading, released: Released) -> Read[Any]:
        """(user, item, amount) → how many users have which row sum, by bins."""
        visits = visits_of(reading, self.design)
        return Read(visits.sizes(BINS), visits.dropped)

    def release(self, counted: Read[Any], released: Released, draws: Draws) -> Released:
        """The noisy bins; which steps run, and what they are paid for in, is fixed by them."""
        course = Course(self.design.opening)
        course, price = course.spend(
            self.name, course.share(SIZES), "how long users' rows are decides all else"
        )
        table = Table(self.name, AUTO_PART, Numbered("bin", BINS), price, 1)
        users = np.asarray(counted.found, dtype=np.int64)
        noisy = table.publish(Counts(BINS, np.arange(BINS), users, 1), draws)
        sizes = read_sizes(noisy.values.astype(float), noisy.law.std())
        if self.design.may_turn:
            course = better_of(self.design, sizes, course)
        decided = decide(self.design, sizes, course.total)
        return replace(released.with_tables([noisy]), course=course, decided=decided)
