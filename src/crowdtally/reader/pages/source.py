"""The questions that a site asks a release; None where it does not know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from crowdtally.errors import UsageError
from crowdtally.format import Published
from crowdtally.reader.answers.labels import Labels
from crowdtally.reader.asking.chosen import chosen_contexts
from crowdtally.reader.asking.recommended import Recommendations
from crowdtally.reader.asking.special import special
from crowdtally.reader.asking.sum import Sum, stated_by, sum_over
from crowdtally.reader.asking.top import top_in
from crowdtally.reader.asking.top_list import TopList
from crowdtally.reader.axes import Axes
from crowdtally.reader.estimating.believed import Ints
from crowdtally.reader.estimating.estimator import Estimator
from crowdtally.reader.report.facts import Facts, facts_of

Context = Mapping[str, object]
"""The value, or values, of each context that is named; the others are summed over."""
_NONE: Ints = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Source:
    """A release, and what a catalogue says of its items."""

    axes: Axes
    """The release and its lists."""
    estimator: Estimator
    """What is believed."""
    labels: Labels | None = None
    """Labels and categories of items."""

    @property
    def published(self) -> Published:
        """The release."""
        return self.axes.published

    @property
    def has_items(self) -> bool:
        """Whether it has items, and at least one."""
        domain = self.published.domain
        return domain.has_items and all(one.length for one in domain.lists)

    def name(self, item: object) -> str:
        """How an item is shown: by its label, where it has one."""
        label = None if self.labels is None else self.labels.labels.get(item)
        return str(item) if label is None else f"{label} ({item})"

    def facts(self) -> Facts:
        """The facts of its report."""
        labels = None if self.labels is None else self.labels.labels
        return facts_of(self.axes, self.estimator, labels)

    def popular(self, k: int, context: Context, *, chances: bool = False) -> TopList | None:
        """The k largest items there; None where the release has no such list.

        Args:
            k: how many.
            context: where.
            chances: whether it is told how likely each is among the k largest.
        """
        if not self.has_items:
            return None
        box = chosen_contexts(self.axes, context)
        try:
            found = top_in(self.axes, self.estimator, k, box, chances=chances)
        except UsageError:  # items held as a transform, or lists of other contexts alone
            return None
        return found if self.labels is None else found.with_labels(self.labels)

    def special(self, k: int, context: Context) -> Recommendations | None:
        """The k most special items there; None where the release cannot tell."""
        box = chosen_contexts(self.axes, context)
        try:
            found = special(self.axes, self.estimator, k, box, _NONE)
        except UsageError:  # no estimates in contexts, or top items alone
            return None
        return found if self.labels is None else found.with_labels(self.labels)

    def whole(self, context: Context) -> Sum | None:
        """How many there are there; None where no table says it."""
        try:
            return sum_over(self.axes, self.estimator, stated_by(self.axes, None, context))
        except UsageError:
            return None
