"""Step 8, contexts: how the records are spread over the contexts.

Contract: a user's row is what she has in each context (every record, or where repeats do not count
one survivor of each item, in its own context), scaled to a sum of at most C₂, which follows from
the released sizes. L1 = g·C₂ units; Laplace noise of that scale over ε is ε-differentially private.
The shares lean towards the contexts of users with short rows. The proof is in ``contexts.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from crowdtally.core.counts import Counts
from crowdtally.core.layout import CONTEXTS as KIND
from crowdtally.core.layout import grid
from crowdtally.core.privacy import Price
from crowdtally.curator.bounding.scaling import GRID, LARGEST_THETA
from crowdtally.curator.counting.rows import UNIT, Visits, context_totals
from crowdtally.curator.request.method import AUTO_PART
from crowdtally.curator.steps.auto.course import SoFar
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.planned import Passed, Planned, course_of, decided_of
from crowdtally.curator.table import Table
from crowdtally.inference.rows import Sizes

_UNKNOWN = 16
"""C₂ where the sizes say nothing."""


@dataclass(frozen=True, eq=False)
class Contexts:
    """Step 8."""

    design: Design
    """What is public."""
    name: str = KIND.name
    """The step's, which is its table's."""

    def plan(self, released: SoFar) -> Planned | Passed:
        """Always, where there are contexts."""
        if not self.design.has_contexts:
            return Passed("there are no contexts")
        decided = decided_of(released)
        bound = bound_of(decided.sizes)
        return Planned(
            ContextTotals(self.design, self.name, bound),
            course_of(released).share(decided.shares.contexts),
            "how records are spread over the contexts; contexts of users with few records weigh "
            "more, because long rows are scaled down",
            {"bound": bound},
        )


def bound_of(sizes: Sizes) -> int:
    """C₂: half of the mean row."""
    if not sizes.reliable:
        return _UNKNOWN
    return min(max(1, int(sizes.records // (2 * sizes.users))), LARGEST_THETA)


@dataclass(frozen=True, eq=False)
class ContextTotals:
    """Rows over contexts, scaled to C₂. L1 = C₂, in counts."""

    design: Design
    """What is public."""
    name: str
    """Of the table."""
    bound: int
    """C₂."""

    def count(self, visits: Visits) -> Counts:
        """The total of each context."""
        return context_totals(visits, self.design.contexts, self.bound)

    def table(self, price: Price) -> Table:
        """Every context."""
        layout = grid(self.design.context_axes)
        return Table(self.name, AUTO_PART, layout, price, GRID * self.bound, UNIT)

    def extra(self) -> Mapping[str, Any]:
        """Nothing more."""
        return {}
