"""What leaves the device and what that reveals at most, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from crowdtally.core.privacy import PrivacyUnit
from crowdtally.laws.conversion import odds_words
from crowdtally.ledger import Charged
from crowdtally.ledger.amounts import for_people
from crowdtally.person.history import History
from crowdtally.person.plan import Plan

# Every sentence is made of the plan and of what was spent: it is the same whatever the history.

UNIT = PrivacyUnit("item")
"""What ε protects here."""
_EXAMPLE = 20
_LARGE = 10
_SHOWN, _LONG = 12, 60
"""Categories that a sentence names, and letters of each."""


def leaves(plan: Plan) -> list[str]:
    perturbed = sum(group.size for group in plan.groups)
    said = [
        f"What leaves: a list of items of the catalogue, drawn from noisy counts of "
        f"{_many(len(plan.measured), 'category', 'categories')}. Which of the "
        f"{_many(perturbed, 'item')} with such a category are on it is decided by those counts "
        "and by chance: none is there because it is yours."
    ]
    if plan.withheld:
        withheld = sum(group.size for group in plan.withheld)
        said.append(
            f"No release: {_some(plan, 'no')}. Nothing leaves of {_many(withheld, 'item')} of "
            "the catalogue, and nothing depends on whether you have them. (That such items never "
            "appear may be noticed.)"
        )
    if plan.passed:
        passed = sum(group.size for group in plan.passed)
        said.append(
            f"All release: {_some(plan, 'all')}. Those of {_many(passed, 'item')} of the "
            "catalogue that are yours leave as they are: nothing is promised for them."
        )
    return said


def reveals(plan: Plan) -> list[str]:
    cost = plan.cost
    said = [
        f"What it reveals at most (epsilon {cost}): whatever somebody believed before about "
        f"whether one item is in your history, {odds_words(cost)}."
    ]
    if cost.value > _LARGE:
        said.append("With an epsilon above 10 that is hardly a protection.")
    finer = sorted(set(plan.budgets))
    if len(finer) > 1:
        said.append(
            f"By the levels of their categories, some items have less: {for_people(finer[0])} at "
            "the least."
        )
    if plan.found:
        said.append(plan.found)
    return [*said, user_level(cost.value)]


def user_level(epsilon: Fraction) -> str:
    """Each item is protected, not the person: in a sentence with numbers."""
    return (
        f"This protects each item, not all of you: {_EXAMPLE} items of a history together can "
        f"lose {_EXAMPLE} × {for_people(epsilon)} = {for_people(_EXAMPLE * epsilon)}. And each "
        "further draw adds its own epsilon."
    )


def guarantee(plan: Plan) -> str:
    """For whoever receives the perturbed history: one sentence, the same for every history."""
    named = ", ".join(map(repr, _of_kind(plan, "all")))
    open_ones = f" Items of {named} are as they are." if plan.passed else ""
    return (
        f"Perturbed on the person's own device: epsilon {plan.cost} for each item of the history "
        f"(neighbours: {UNIT.neighbours}).{open_ones}"
    )


def so_far(charges: Sequence[Charged], spent: Fraction) -> str:
    stands = [one for one in charges if one.state != "voided"]
    if not stands:
        return "So far nothing was drawn or charged on this device."
    return (
        f"So far {_many(len(stands), 'draw')} charged on this device, epsilon {for_people(spent)} "
        "in all: at most so much was lost of any one item that did not leave as it is."
    )


def _some(plan: Plan, kind: str) -> str:
    """The first of them, for a sentence that is to be read; long names are cut."""
    names = _of_kind(plan, kind)
    shown = [repr(name if len(name) <= _LONG else f"{name[:_LONG]}…") for name in names[:_SHOWN]]
    more = [f"and {len(names) - _SHOWN:,} more"] if len(names) > _SHOWN else []
    return ", ".join([*shown, *more])


def _of_kind(plan: Plan, kind: str) -> list[str]:
    return [name for name, level in plan.levels.of_category.items() if level.kind == kind]


def _many(number: int, one: str, several: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else several or one + 's'}"


# The categories in a list: what is public of each, and, apart from it, the person's own counts.


@dataclass(frozen=True)
class CategoryRow:
    category: str
    items: int
    level: str
    """``no``, ``all``, or its epsilon."""
    half_width: int | None
    """Noise of at most this in 95 of 100 draws; None where nothing is counted with noise."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def category_rows(plan: Plan) -> list[CategoryRow]:
    """All categories of the catalogue, sorted by name."""
    names = plan.catalogue.categories
    levels = plan.levels.each(names, plan.epsilon)
    widths = dict(zip(plan.measured, plan.widths(), strict=True))
    each = enumerate(zip(names, plan.catalogue.sizes.tolist(), levels, strict=True))
    return [
        CategoryRow(name, int(size), str(level), widths.get(place))
        for place, (name, size, level) in each
    ]


def own_counts(history: History) -> dict[str, int]:
    """How many of the history's items each category has: private, for the person's eyes alone."""
    counts = dict.fromkeys(history.catalogue.categories, 0)
    for number in history.catalogue.group_of[history.places].tolist():
        for category in history.catalogue.groups[number].categories:
            counts[history.catalogue.categories[category]] += 1
    return counts
