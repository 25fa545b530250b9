"""What a reader would take for every count of a run of ``auto`` that was not saved.

The facts are those that the files of a release hold, and the estimates are the reader's: the same
functions of ``estimation``, from the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.layout import (
    CONTEXTS,
    EDGES,
    HEAD_ROWS,
    ITEMS,
    SIZES,
    SPLIT_HEAD,
    TASTES,
    Crossed,
    Picked,
)
from crowdtally.core.profile import BETA, FINE, WEIGHT, Profile
from crowdtally.curator.converse import Released
from crowdtally.curator.request.request import Request
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.estimating import as_floats, item_facts
from crowdtally.format import NoisyTable
from crowdtally.format.manifest import SummaryFacts
from crowdtally.inference.contexts import LARGEST, ContextEstimates, ContextFacts, estimate_contexts
from crowdtally.inference.facts import Chosen, Ints, ItemFacts, Noisy, Summary
from crowdtally.inference.items import estimate_items
from crowdtally.inference.lifts import Head, Rows, common_of
from crowdtally.inference.rows import read_sizes
from crowdtally.inference.stopping import squares_of
from crowdtally.inference.tastes import Tastes
from crowdtally.lab.truth import check_size
from crowdtally.laws.base import NoiseLaw
from crowdtally.reader.estimates.facts import over_contexts

Floats = NDArray[np.float64]
_AGAIN = "_again"


@dataclass(frozen=True, eq=False)
class AutoEstimates:
    """The estimates of one run."""

    name: str
    """What the table of items is called: ``cells`` where there are attributes."""
    mean: Floats
    """Of every item, or cell of attributes: least squared error."""
    median: Floats
    """The same with the least absolute error."""
    contexts: ContextEstimates | None = None
    """Of items in contexts, where they were not counted themselves."""
    counted: Floats | None = None
    """Of items in contexts, where a short list was counted in each of them."""

    @property
    def edges(self) -> Floats | None:
        """Of every item in every context, a row for each item."""
        if self.contexts is None:
            return self.counted
        width = len(self.contexts.shares)
        if len(self.mean) * width <= LARGEST:
            return self.contexts.matrix().mean
        return np.stack([self.contexts.column(one).mean for one in range(width)], axis=1)

    def by_table(self) -> dict[str, Floats]:
        """The tables of items, and of items in context; or of cells."""
        edges = self.edges
        if edges is not None:
            return {ITEMS.name: self.mean, EDGES.name: edges.ravel()}
        return {self.name: self.mean}


def estimate_auto(request: Request, released: Released) -> AutoEstimates:
    """The reader's estimates, from what one run released."""
    design = Design.of(request)
    check_size(EDGES.name, design.items * design.contexts)
    name, short = design.table.name, released.table(EDGES.name)
    if short is not None:
        facts = ItemFacts(short.layout.size, Noisy(as_floats(short), short.law), exact=True)
        cells = estimate_items(facts)
        mean, median = (one.reshape(design.items, -1) for one in (cells.mean, cells.median))
        return AutoEstimates(name, mean.sum(axis=1), median.sum(axis=1), counted=mean)
    items = estimate_items(_item_facts(design, released))
    found = _context_facts(design, released)
    contexts = None if found is None else estimate_contexts(items, found)
    return AutoEstimates(name, items.mean, items.median, contexts)


def _item_facts(design: Design, released: Released) -> ItemFacts:
    """All that a reader is told of items: also what steps of contexts measured of them."""
    table = released.table(design.table.name)
    if table is not None and table.cells is not None:
        keeping = SummaryFacts.from_json(table.facts).keeping
        kept = Summary(np.asarray(table.cells, np.int64), as_floats(table), table.law, keeping)
        return replace(item_facts(design, replace(released, tables=())), summary=kept)
    facts = item_facts(design, released)
    split, head = _cells(released, SPLIT_HEAD.name), released.table(SPLIT_HEAD.name)
    if facts.head is None and split is not None and head is not None:
        places, values, _ = split
        law = over_contexts(head.law, values.shape[1])
        return replace(facts, head=Chosen(places, values.sum(axis=1), law))
    return facts


def _context_facts(design: Design, released: Released) -> ContextFacts | None:
    totals, sizes = released.table(CONTEXTS.name), released.table(SIZES.name)
    if totals is None or sizes is None:
        return None
    split, rows = _cells(released, SPLIT_HEAD.name), _cells(released, HEAD_ROWS.name)
    return ContextFacts(
        as_floats(totals),
        totals.law.std(),
        read_sizes(as_floats(sizes), sizes.law.std()).users,
        design.repeats,
        None if split is None else Head(*split[:2], split[2].std(), common_of(split[2])),
        _tastes(released),
        None if rows is None else Rows(*rows[:2], rows[2].std(), squares_of(rows[2])),
    )


def _finest(released: Released, name: str) -> NoisyTable | None:
    """A table; where its noise was refined, what that left says all."""
    return released.table(f"{name}{_AGAIN}") or released.table(name)


def _by_rows(table: NoisyTable, contexts: int) -> tuple[Floats, NoiseLaw]:
    """Its values, and the law of their noise."""
    return as_floats(table).reshape(-1, contexts), table.law


def _cells(released: Released, name: str) -> tuple[Ints, Floats, NoiseLaw] | None:
    """Chosen items, their values in each context, and the law of their noise."""
    table, totals = _finest(released, name), released.table(CONTEXTS.name)
    if table is None or totals is None:
        return None
    return _places(table), *_by_rows(table, totals.layout.size)


def _places(table: NoisyTable) -> Ints:
    layout = table.layout
    if not isinstance(layout, Crossed) or not isinstance(layout.first, Picked):
        raise TypeError(f"the table {table.name!r} is of chosen items in contexts")
    return layout.first.places


def _tastes(released: Released) -> Tastes | None:
    table, totals = _finest(released, TASTES.name), released.table(CONTEXTS.name)
    if table is None or totals is None:
        return None
    profile = Profile.from_dict(table.facts)
    values, law = _by_rows(table, totals.layout.size)
    return Tastes(
        profile.shares, values[:-1], values[-1], profile.means / FINE, profile.weights / WEIGHT,
        BETA / WEIGHT, law.std(), squares_of(law),
    )  # fmt: skip
