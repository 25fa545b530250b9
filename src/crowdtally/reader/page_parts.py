"""What the site and the server share: questions to a release, and tables of lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from crowdtally.errors import UsageError
from crowdtally.format import Published
from crowdtally.reader.answers.answer import AnswerList
from crowdtally.reader.answers.columns import Labels
from crowdtally.reader.axes import Ints
from crowdtally.reader.estimates.estimator import ReleaseView
from crowdtally.reader.questions.chosen import chosen_contexts
from crowdtally.reader.questions.recommendations import Recommendations
from crowdtally.reader.questions.special import special
from crowdtally.reader.questions.sum import Sum, stated_by, sum_over
from crowdtally.reader.questions.top import top_in
from crowdtally.reader.questions.top_list import TopList
from crowdtally.reader.report.charts import Figure, Name, item_cells, top_figure
from crowdtally.reader.report.facts import Facts, facts_of
from crowdtally.web.pages import NO_NUMBER, Shown, chance, grouped, value

List = TypeVar("List", bound=AnswerList[Any])
Context = Mapping[str, object]
"""The value, or values, of each context that is named; the others are summed over."""
_NONE: Ints = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Source:
    """A release, and what a catalogue says of its items."""

    view: ReleaseView
    labels: Labels | None = None

    @property
    def published(self) -> Published:
        return self.view.published

    @property
    def has_items(self) -> bool:
        domain = self.published.domain
        return domain.has_items and all(one.length for one in domain.lists)

    def name(self, item: object) -> str:
        """How an item is shown: by its label, where it has one."""
        label = None if self.labels is None else self.labels.labels.get(item)
        return str(item) if label is None else f"{label} ({item})"

    def labelled(self, found: List) -> List:
        """A list with its labels, where there are any."""
        return found if self.labels is None else found.with_labels(self.labels)

    def facts(self) -> Facts:
        labels = None if self.labels is None else self.labels.labels
        return facts_of(self.view, labels)

    def popular(self, k: int, context: Context, *, chances: bool = False) -> TopList | None:
        """The k largest items there; None where the release has no such list.

        ``chances``: whether to compute how likely each is among the k largest.
        """
        if not self.has_items:
            return None
        box = chosen_contexts(self.view, context)
        try:
            return self.labelled(top_in(self.view, k, box, chances=chances))
        except UsageError:  # items held as a transform, or lists of other contexts alone
            return None

    def special(self, k: int, context: Context) -> Recommendations | None:
        """The k most special items there; None where the release cannot tell."""
        box = chosen_contexts(self.view, context)
        try:
            return self.labelled(special(self.view, k, box, _NONE))
        except UsageError:  # no estimates in contexts, or top items alone
            return None

    def whole(self, context: Context) -> Sum | None:
        """How many there are there; None where no table says it."""
        try:
            return sum_over(self.view, stated_by(self.view, None, context))
        except UsageError:
            return None


def top_picture(found: TopList, name: Name, where: str) -> Figure | None:
    figure = top_figure(found, name)
    if figure is None or not where:
        return figure
    return replace(figure, chart=replace(figure.chart, title=f"{figure.chart.title}, {where}"))


def further(found: TopList, first: int, name: Name, where: str) -> Shown | None:
    """The items after the ``first`` ones; None where there are none."""
    noisy = any(row.count is not None for row in found.rows)
    rows = [
        (
            *item_cells(row, name),
            *[grouped(row.count)] * noisy,
            "above" if row.above_floor else "not above",
        )
        for row in found.rows[first:]
    ]
    if not rows:
        return None
    heads = (
        "Item", "Rank", f"Estimate ({found.counted})", "95% interval", *["Noisy count"] * noisy,
        "Noise floor",
    )  # fmt: skip
    places = f"Places {grouped(first + 1)} to {grouped(first + len(rows))}"
    return Shown(f"{places}{f', {where}' if where else ''}", heads, rows)


def special_numbers(found: Recommendations, name: Name, where: str) -> Shown | None:
    """Items with a lift above 1, and how certain that is; None where there are none."""
    special = [row for row in found.rows if row.lift is not None and row.lift > 1]
    noisy = any(row.count is not None for row in special)
    rows = [
        (
            value(name(row.item)),
            str(row.rank),
            times(row.lift),
            interval(row.lift_low, row.lift_high),
            chance(row.chance_special),
            grouped(row.estimate),
            *[grouped(row.count)] * noisy,
        )
        for row in special
    ]
    if not rows:
        return None
    heads = (
        "Item", "Rank", "Lift", "95% interval of the lift", "Chance to be special",
        f"Estimate there ({found.counted})", *["Noisy count there"] * noisy,
    )  # fmt: skip
    return Shown(f"What is special, {where}", heads, rows)


def times(lift: float | None) -> str:
    """A lift to a hundredth.

    >>> times(1.234), times(None)
    ('1.23', '–')
    """
    return NO_NUMBER if lift is None else f"{lift:.2f}"


def interval(low: float | None, high: float | None) -> str:
    return NO_NUMBER if low is None or high is None else f"{times(low)} to {times(high)}"
