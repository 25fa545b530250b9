"""All facts of a report as one structure, which is also its JSON (docs/report.md)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from math import prod
from typing import Any

from crowdtally.core import display
from crowdtally.core.numbers import show
from crowdtally.format import Published
from crowdtally.reader.asking.sum import Sum
from crowdtally.reader.asking.top_list import TopList
from crowdtally.reader.axes import Axes
from crowdtally.reader.describing.promise import beliefs
from crowdtally.reader.describing.withdrawal import withdrawal_lines
from crowdtally.reader.estimating.estimator import Estimator
from crowdtally.reader.report.answers import Asking, Distribution, HeatMap, InContext, Labels, Pairs
from crowdtally.reader.report.size import Check, Listed, TableSize, checks, lists, table_sizes
from crowdtally.reader.report.spent import Budget, Spent, budget, spent
from crowdtally.reader.report.words import Level, levels

SCHEMA = "crowdtally-report/1"
"""Name and version of the layout of the JSON."""


@dataclass(frozen=True)
class Facts:
    """Everything that a report says."""

    id: str
    """The release's id."""
    dataset: str | None
    """The dataset that it was charged to."""
    created: str
    """When the release was begun."""
    withdrawn: tuple[str, ...]
    """That it was called back, when and why; empty where it was not."""
    promise: str
    """The guarantee as one sentence."""
    epsilon: str
    """ε of the whole release, exact."""
    delta: str
    """δ of the whole release, exact."""
    unit: str
    """Whom it protects."""
    neighbours: str
    """Which databases are made hard to tell apart."""
    beliefs: tuple[dict[str, str], ...]
    """Beliefs about one person, and the most that each can become."""
    levels: tuple[Level, ...]
    """The guarantee, what can undermine it, and what it rests on."""
    spent: Spent
    """The steps with their share of ε."""
    budget: Budget
    """Before and after."""
    counted: str
    """What a count counts: records or users."""
    whole: Sum | None
    """The sum over everything."""
    top: TopList | None
    """The largest items; None in a release of attributes, or without an item."""
    tops: tuple[InContext, ...]
    """The largest items in each context, where the release has lists there alone."""
    distributions: tuple[Distribution, ...]
    """Over each context, or attribute."""
    heat_maps: tuple[HeatMap, ...]
    """The largest items by each context; of attributes, the first by the second."""
    pairs: Pairs | None
    """The largest pairs."""
    lists: tuple[Listed, ...]
    """The public lists."""
    domain_cells: int
    """Combinations of their values."""
    tables: tuple[TableSize, ...]
    """Each table: size, noise, and what bounding took away."""
    checks: tuple[Check, ...]
    """How it can be checked."""
    labels: dict[str, str]
    """Names of the items that are shown, from a public catalogue; by the items as text."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        found = asdict(self)
        if self.top is not None:
            found["top"] |= {"notes": self.top.notes}
        return {"schema": SCHEMA, **found}

    def to_json(self) -> str:
        """JSON text in which a terminal finds nothing to obey."""
        return display.printable_json(self.to_dict())


def facts_of(axes: Axes, estimator: Estimator, labels: Labels | None = None) -> Facts:
    """The facts of a release.

    Args:
        axes: the release and its lists.
        estimator: its estimates.
        labels: names of items, from a public catalogue.
    """
    published, asking = axes.published, Asking(axes, estimator)
    promised, whole, largest = published.guarantee, asking.whole(), asking.top()
    tops = asking.tops() if largest is None else ()
    pairs = asking.pairs()
    return Facts(
        id=published.id,
        dataset=published.charged.dataset,
        created=str(published.metadata["created"]),
        withdrawn=tuple(withdrawal_lines(published.withdrawn)),
        promise=published.promise,
        epsilon=show(promised.epsilon),
        delta=show(promised.delta),
        unit=promised.unit,
        neighbours=promised.neighbours,
        beliefs=tuple(beliefs(promised.epsilon)),
        levels=levels(published),
        spent=spent(published),
        budget=budget(published),
        counted=published.counted,
        whole=whole,
        top=largest,
        tops=tops,
        distributions=asking.distributions(),
        heat_maps=asking.heat_maps(largest),
        pairs=pairs,
        lists=lists(published),
        domain_cells=_cells(published),
        tables=table_sizes(published, whole),
        checks=checks(published),
        labels={}
        if labels is None
        else _names([largest, *(one.top for one in tops)], pairs, labels),
    )


def _cells(published: Published) -> int:
    return prod(one.length for one in published.domain.lists)


def _names(lists: Iterable[TopList | None], pairs: Pairs | None, labels: Labels) -> dict[str, str]:
    shown = [row.item for one in lists if one is not None for row in one.rows]
    if pairs is not None:
        shown += [item for pair in pairs.rows for item in (pair.item, pair.other)]
    found = ((item, labels.get(item)) for item in shown)
    return {str(item): name for item, name in found if name is not None}
