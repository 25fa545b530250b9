"""Step 4, the table: all items outside the crowd, rows scaled to θ; or all of a small domain.

Contract: every row without the crowd's items is divided by its own sum over the others, so one
user changes the table by at most g·θ units, and discrete Laplace noise of scale g·θ/ε is
ε-differentially private; the cells of the crowd hold noise only. Where steps are paid for in ρ, it
is divided by its own norm, and discrete Gaussian noise of variance g²θ²/(2ρ) is ρ-zCDP. On a small
domain (``small.py``) distinct users are counted without bounds instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from crowdtally.curator.steps.auto.course import SoFar
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.estimating import crowd_of
from crowdtally.curator.steps.auto.planned import Passed, Planned, course_of, decided_of
from crowdtally.curator.steps.auto.questions import AllItems
from crowdtally.curator.steps.auto.reserving import reserved
from crowdtally.curator.steps.auto.small import small_domain
from crowdtally.inference.rows import Norm


@dataclass(frozen=True, eq=False)
class Items:
    """The table that everything else serves."""

    design: Design
    """What is public."""

    @property
    def name(self) -> str:
        """The items' table, or that of attributes' cells."""
        return self.design.table.name

    def plan(self, released: SoFar) -> Planned | Passed:
        """What is left, or half of it where a zoom follows; θ once more, for what is left."""
        decided, rest = decided_of(released), unreserved(released)
        if decided.small:
            return small_domain(self.design, decided, rest)
        theta, crowd = decided.theta(course_of(released).worth(rest)), crowd_of(released)
        cost = rest / 2 if decided.zooms else rest
        return Planned(
            AllItems(self.design, self.name, theta, crowd, decided.norm),
            cost, _why(decided.zooms),
            {"theta": theta, **norm_fact(decided.norm), "items": self.design.items - len(crowd)},
            bound=theta,
        )  # fmt: skip


def norm_fact(norm: Norm) -> dict[str, str]:
    """What a step says about its rows beside θ: nothing where their sums are bounded."""
    return {} if norm == "l1" else {"norm": norm}


def unreserved(released: SoFar) -> Fraction:
    """What neither was spent nor is set aside for a later step: total − spent − reserved."""
    return course_of(released).left - reserved(released)


def _why(zooms: bool) -> str:
    if zooms:
        return "half of what no other step needs; the other half is for the items that hold most"
    return "all that no other step needs"
