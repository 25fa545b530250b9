"""Items without a public list: those that enough users have, under (ε, δ)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from crowdtally.budget import Part
from crowdtally.curator.counting.items import kept_items
from crowdtally.curator.counting.reading import Read
from crowdtally.curator.request.split import TOTAL
from crowdtally.curator.selecting.unknown_items import UnknownItems
from crowdtally.curator.steps.step import Reading, Released
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.noise.draws import Draws
from crowdtally.published import NoisyTable
from crowdtally.published.table import DISCOVERED
from crowdtally.values.epsilon import Epsilon
from crowdtally.values.layout import Listed
from crowdtally.values.rational import show
from crowdtally.values.table_kinds import ITEMS


@dataclass(frozen=True)
class Discovery:
    """The items that pass, with their noisy numbers of users; and the mass of the others."""

    item: str
    """The item column."""
    rule: UnknownItems
    """The threshold and its ε and δ."""
    total: Epsilon
    """ε of the mass of the others."""

    def parts(self) -> Sequence[Part]:
        """The mass of the others, and the items."""
        bound = {"l1_bound": self.rule.limit}
        return [
            Part(TOTAL, self.total, "discrete-laplace", bound),
            Part(
                ITEMS.name,
                self.rule.epsilon,
                "thresholded-discrete-laplace",
                bound,
                self.rule.delta,
            ),
        ]

    def count(self, reading: Reading, released: Released) -> Read[Any]:
        """(user, item) → at most l distinct items per user → items by value, users of each."""
        limit, key = self.rule.limit, reading.fresh_key()
        return kept_items(reading.engine, reading.prepared, limit, key=key)

    def release(self, counted: Read[Any], released: Released, draws: Draws) -> Released:
        """The items that enough users have."""
        items, users = counted.found
        passed = self.rule.select(users, draws)
        other = self.rule.other(users, passed, self.total, draws)
        facts = {
            "epsilon": show(self.rule.epsilon.value),
            "delta": show(self.rule.actual_delta),
            "sensitivity": self.rule.limit,
            "publishing": DISCOVERED,
            "threshold": self.rule.threshold,
        }
        layout, law = Listed(self.item, items[passed.places]), DiscreteLaplace(self.rule.scale)
        table = NoisyTable(ITEMS.name, layout, passed.noisy, law, facts)
        words = "noisy number of (user, item) pairs among the kept ones whose item is not released"
        scale = show(self.rule.limit / self.total.value)
        mass = {"count": other, "noise_scale": scale, "counts": words}
        return replace(released.with_tables([table]), other=mass)
