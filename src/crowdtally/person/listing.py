"""The categories in a list: what is public of each, and, apart from it, the person's own counts."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from crowdtally.person.history import History
from crowdtally.person.planning import Plan


@dataclass(frozen=True)
class CategoryRow:
    """What is public about one category."""

    category: str
    """Its name."""
    items: int
    """How many items of the catalogue have it."""
    level: str
    """``no``, ``all``, or its epsilon."""
    half_width: int | None
    """Noise of at most this in 95 of 100 draws; None where nothing is counted with noise."""

    def as_json(self) -> dict[str, Any]:
        """Its fields."""
        return asdict(self)


def category_rows(plan: Plan) -> list[CategoryRow]:
    """All categories of the catalogue, sorted by name."""
    names = plan.catalogue.categories
    levels = plan.levels.each(names, plan.epsilon)
    widths = dict(zip(plan.measured, plan.widths(), strict=True))
    return [
        CategoryRow(name, int(size), str(level), widths.get(place))
        for place, (name, size, level) in enumerate(
            zip(names, plan.catalogue.sizes.tolist(), levels, strict=True)
        )
    ]


def own_counts(history: History) -> dict[str, int]:
    """How many of the history's items each category has: private, for the person's eyes alone."""
    counts = dict.fromkeys(history.catalogue.categories, 0)
    for number in history.catalogue.group_of[history.places].tolist():
        for category in history.catalogue.groups[number].categories:
            counts[history.catalogue.categories[category]] += 1
    return counts
