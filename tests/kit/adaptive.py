"""A release of ``auto`` with a table of every kind, from made-up counts: small, and always alike.

Which steps the real ``auto`` takes depends on the records; readers must know all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import crowdtally as ct
from crowdtally.core.counts import Counts, Memberships
from crowdtally.core.layout import Crossed, Layout, Numbered, Picked, grid
from crowdtally.core.privacy import Epsilon, Price, Rho
from crowdtally.curator.converse import Bound, Course, Released
from crowdtally.curator.refined import Averaged, Refined
from crowdtally.curator.request.method import AUTO_PART
from crowdtally.curator.request.request import Request, make_request
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.sizes import SizesStep
from crowdtally.curator.table import Table, members_table
from crowdtally.format import NoisyTable
from crowdtally.ledger import Ledger
from crowdtally.noise.draws import Draws, SystemDraws
from kit.made import visits
from kit.publishing import publish

PLACES, DAYS = ["zoo", "arena", "mill", "quay", "pier"], ["Tue", "Mon", "Sun"]
CELLS = {(place, day): 4 + p for p, place in enumerate(PLACES) for day in DAYS}
GRID = 2**20
THETA = 4
GROUPS = "-0123"
TASTES: dict[str, Any] = {
    "features": ["indoors", "outdoors"], "merged": {"roofed": "indoors", "size": None},
    "profile": ["0.25", "0.75"], "weights": ["2", "1.125"], "beta": "0.150390625", "parts": 1024,
    "kinds": [[1024, 0], [512, 512]], "items": [0, 1, 1, 0, 0],
}  # fmt: skip
PASSED_OVER = "pilot says nothing of it"


@dataclass(frozen=True, eq=False)
class EveryTable(SizesStep):
    """One step that draws what all of them could."""

    rows: bool = True
    """Whether also the head's rows, which the real one never measures beside a split head."""

    def release(self, counted: Any, released: Released, draws: Draws) -> Released:
        made = _Made(self.design, Course(self.design.opening), draws)
        items, contexts = self.design.cells, grid(self.design.context_axes)
        made.scaled("sizes", 3, Numbered("bin", 13), unit=1)
        made.turn()
        made.scaled("pilot", 2, items)
        made.measured("crowd", 3, _some(items, [1]))
        made.scaled("items" if self.design.domain.has_items else "cells", 40, items, THETA)
        made.scaled("zoom", 16, _some(items, [0, 3]))
        made.scaled("bins", 3, Numbered("bin", 4), 64, groups=GROUPS)
        made.course = made.course.pass_over("head", PASSED_OVER)
        if self.design.has_contexts:
            chosen, width = Crossed(_some(items, [0, 4]), contexts), contexts.size
            made.measured("split_head", 8, chosen, blocks=width)
            made.scaled("contexts", 2, contexts, 3)
            made.scaled("tastes", 5, Crossed(Numbered("feature", 3), contexts), **TASTES)
            made.refined("tastes_again", made.tables[-1], 5, **TASTES)
            if self.rows:
                made.scaled("head_rows", 9, chosen)
        main = made.tables[3].name
        found = released.with_tables(made.tables)
        return replace(found, course=made.course, bounds={main: Bound(THETA)})


class _Made:
    def __init__(self, design: Design, course: Course, draws: Draws) -> None:
        self.design, self.course, self.draws = design, course, draws
        self.tables: list[NoisyTable] = []

    def _spend(self, name: str, percent: int, **facts: Any) -> Price:
        cost = self.course.share(Fraction(percent, 100))
        self.course, price = self.course.spend(name, cost, f"{name} is worth its share", **facts)
        return price

    def turn(self) -> None:
        """Go on in ρ where the noise is to be decided."""
        if self.design.may_turn:
            self.course = self.course.turn(self.design.delta)

    def scaled(
        self, name: str, percent: int, layout: Layout, bound: int = 1, *, unit: int = GRID,
        **facts: Any,
    ) -> None:  # fmt: skip
        in_l2 = bound == THETA and isinstance(self.course.total, Rho)
        price = self._spend(name, percent, theta=bound, **({"norm": "l2"} if in_l2 else {}))
        table = Table(name, AUTO_PART, layout, price, bound * unit, Fraction(1, unit))
        counts = np.arange(layout.size, dtype=np.int64) * 7 * unit
        made = Counts(layout.size, np.arange(layout.size), counts, bound * unit, Fraction(1, unit))
        noisy = table.publish(made, self.draws)
        self.tables.append(replace(noisy, facts={**noisy.facts, **facts}))

    def refined(self, name: str, before: NoisyTable, percent: int, **facts: Any) -> None:
        """The same cells as before, at the same cost once more."""
        price = self._spend(name, percent)
        layout, unit = before.layout, Fraction(1, GRID)
        kind = Refined if isinstance(price, Epsilon) else Averaged
        table = kind(name, AUTO_PART, layout, price, GRID, unit, before=before)
        counts = np.arange(layout.size, dtype=np.int64) * 7 * GRID
        made = Counts(layout.size, np.arange(layout.size), counts, GRID, unit)
        noisy = table.publish(made, self.draws)
        self.tables.append(replace(noisy, facts={**noisy.facts, **facts}))

    def measured(self, name: str, percent: int, layout: Layout, *, blocks: int = 1) -> None:
        price = self._spend(name, percent, items=layout.size // blocks)
        table = members_table(name, AUTO_PART, layout, price, 1, blocks)
        users = np.arange(layout.size, dtype=np.int64) * 5
        self.tables.append(table.publish(Memberships(layout.size, users), self.draws))


def _some(layout: Layout, places: Sequence[int]) -> Picked:
    return Picked(layout, np.array(places, dtype=np.int64))


def adaptive_request(*, contexts: bool = True, epsilon: object = 4, **options: Any) -> Request:
    """A request that leaves its method to ``auto``."""
    lists = {"day": DAYS} if contexts else {}
    records = ct.read(visits(CELLS, "day"), user="user", item="item", contexts=list(lists))
    return make_request(records, ct.Domain(PLACES, lists), epsilon=epsilon, **options)


def adaptive(folder: Path, name: str = "out", *, rows: bool = True, **options: Any) -> Path:
    """The folder of such a release."""
    request = adaptive_request(**options)
    ledger = Ledger.open(folder / "ledger.sqlite", create=True)
    steps = (EveryTable(Design.of(request), rows=rows),)
    with patch("crowdtally.curator.publish.steps_of", return_value=steps):
        publish(
            request, "made", folder / name, ledger=ledger, draws=SystemDraws(),
            tell=lambda _: None,
        )  # fmt: skip
    return folder / name
