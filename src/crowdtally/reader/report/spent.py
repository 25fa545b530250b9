"""How ε was spent: the numbered steps, and the budget before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from crowdtally.core.numbers import show
from crowdtally.format import Published
from crowdtally.format.manifest import Standing
from crowdtally.reader.describing.course import course_lines
from crowdtally.reader.describing.protection import part_words, parts_lines
from crowdtally.reader.describing.spending import (
    belief_after,
    left_words,
    spending_lines,
    standing_words,
)


@dataclass(frozen=True)
class Step:
    """One step of the release."""

    place: int
    """1 for the first."""
    name: str
    """The step's name; without ``auto``, that of a part of ε."""
    cost: str
    """What it cost, exact; 0 where it was not taken."""
    paid_in: str
    """What the cost is: ``epsilon``, or ``rho`` of zCDP."""
    share: float
    """The same as a share of the whole."""
    why: str
    """Why it was taken or passed over, or what it paid for."""
    decided: Mapping[str, Any]
    """What was decided for it, in ``auto``."""


@dataclass(frozen=True)
class Spent:
    """The account of one release."""

    steps: tuple[Step, ...]
    """In their order; also those of ``auto`` that were passed over."""
    unspent: str
    """What was charged and not spent: it is not given back."""
    words: tuple[str, ...]
    """What is said of it."""


@dataclass(frozen=True)
class Budget:
    """What the ledger said when the release was made: exact amounts of ε, or of ρ and δ."""

    before: str
    """Spent on the dataset before."""
    charged: str
    """By this release."""
    after: str
    """Spent with it."""
    limit: str | None
    """What may be spent; None where no limit was set."""
    left: str | None
    """What was left of the limit."""
    delta: str
    """δ that was charged."""
    belief_after: str | None
    """What a belief of 50% about one person can become at most by all releases together."""
    unit: str
    """What the amounts are: ``ε``; empty where each says it."""
    words: tuple[str, ...]
    """What is said of it."""


def spent(published: Published) -> Spent:
    """The steps with their shares."""
    auto, price = published.auto, published.guarantee.price
    if auto is None:
        parts = {name: Fraction(part) for name, part in published.metadata["split"].items()}
        steps = [
            Step(
                place,
                name,
                str(price * part),
                price.field,
                float(part),
                part_words(published, name),
                {},
            )
            for place, (name, part) in enumerate(parts.items(), start=1)
        ]
        return Spent(tuple(steps), "0", tuple(parts_lines(published)))
    steps = [
        Step(
            place,
            one.name,
            show(one.cost),
            one.paid_in,
            float(auto.share(one, published.guarantee.epsilon)),
            one.why,
            one.facts,
        )
        for place, one in enumerate(auto.steps, start=1)
    ]
    first, *said = course_lines(published)
    words = (first, *said[len(steps) :], *parts_lines(published))
    return Spent(tuple(steps), show(auto.unspent), words)


def budget(published: Published) -> Budget:
    """The dataset's budget, before and after."""
    charged = published.charged
    said = standing_words if charged.by_zcdp else _epsilon
    own = f"ρ {show(charged.rho)}" if charged.rho is not None else said(Standing(charged.epsilon))
    return Budget(
        said(charged.spent_before),
        own,
        said(charged.spent_after),
        None if charged.limit is None else said(charged.limit),
        left_words(published),
        show(charged.delta),
        belief_after(published),
        "" if charged.by_zcdp else "ε",
        tuple(spending_lines(published)),
    )


def _epsilon(standing: Standing) -> str:
    return show(standing.epsilon)
