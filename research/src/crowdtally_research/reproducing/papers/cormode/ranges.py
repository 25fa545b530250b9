"""Sums over ranges of cells, from trees of counts, from wavelets and from the cells themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from crowdtally.curator.publishing.ancestors import without_orphans
from crowdtally.curator.publishing.filter import filter_summary
from crowdtally.curator.publishing.priority import prioritised
from crowdtally.curator.publishing.sizes import filter_cut
from crowdtally.curator.publishing.summary import Summary
from crowdtally.curator.table import Table
from crowdtally.curator.transforms.dyadic import DyadicTransform
from crowdtally.curator.transforms.haar import HaarTransform
from crowdtally.lab.estimates import estimate, range_answers
from crowdtally.noise.draws import SystemDraws
from crowdtally.published import NoisyTable
from crowdtally.values.dyadic import Dyadic
from crowdtally.values.layout import Layout
from crowdtally_research.reproducing.papers.cormode.queries import Ranges, relative
from crowdtally_research.reproducing.papers.cormode.sparse import Floats, Sparse
from crowdtally_research.reproducing.papers.cormode.ways import (
    AXIS,
    EPSILON,
    GEOMETRIC,
    WAVELET,
    geometric,
    ordered,
    priority,
    published,
    table_of,
)

D_GEOMETRIC = "d-geometric"
D_FILTER = "d-filter"
D_PRIORITY = "d-priority"
D_FILTER_PRIORITY = "d-filter-priority"
CHECKED = ", consistent"
"""Of a line: nodes below a dropped one are dropped."""


@dataclass(frozen=True, eq=False)
class Trees:
    """The public side of trees over so many cells."""

    cells: Layout
    """The cells."""
    size: int
    """S: how many nodes are published."""

    @property
    def nodes(self) -> Table:
        """All nodes."""
        return table_of(self.cells, geometric(), DyadicTransform((AXIS,)))

    @property
    def sample(self) -> Table:
        """A priority sample of them."""
        return table_of(self.cells, priority(self.size), DyadicTransform((AXIS,)))

    @property
    def wavelet(self) -> Table:
        """All coefficients."""
        return table_of(self.cells, geometric(), HaarTransform(AXIS))

    @property
    def tree(self) -> Dyadic:
        """The tree."""
        found = self.nodes.tree
        if found is None:
            raise TypeError("a dyadic transform has a tree")
        return found

    @classmethod
    def over(cls, cells: int, size: int) -> Trees:
        """Of so many cells."""
        return cls(ordered(cells), size)

    def filtered(self, sparse: Sparse) -> Summary:
        """The nodes that pass the κ that S gives, with orphans: the product itself drops them."""
        made = self.nodes.transform.apply(sparse.counts, self.cells)
        cut = filter_cut(made.size, self.size, self.nodes.law)
        return filter_summary(made, EPSILON, SystemDraws(), cut=cut)

    def noisy(self, summary: Summary) -> NoisyTable:
        """A summary of nodes as a reader has it."""
        found, table = summary.noisy(), self.nodes
        return NoisyTable("cells", table.layout, found.values, table.law, found.facts, found.cells)


def summaries(trees: Trees, sparse: Sparse) -> Mapping[str, NoisyTable]:
    """Filtered nodes and samples of them, with and without their orphans, from the same noise."""
    passed = trees.filtered(sparse)
    found: dict[str, Summary] = {}
    for name, one in (("", passed), (CHECKED, without_orphans(passed, trees.tree))):
        found[D_FILTER + name] = one
        found[D_FILTER_PRIORITY + name] = prioritised(one, trees.size, SystemDraws())
    return {name: trees.noisy(summary) for name, summary in found.items()}


def node_sums(table: NoisyTable, asked: Ranges) -> dict[int, Floats]:
    """Each range as the sum of the fewest nodes that make it up, as the paper answers it."""
    if (
        table.cells is None
    ):  # the reader would fit all nodes to each other, which the paper does not
        table = replace(table, cells=np.arange(table.layout.size))
    found: dict[int, Floats] = {}
    for size, low in asked.low.items():
        answers = range_answers(table, low, low + size)
        if answers is None:
            raise TypeError("nodes of a tree over one axis answer ranges")
        found[size] = answers
    return found


def answers_of(trees: Trees, sparse: Sparse, asked: Ranges) -> dict[str, dict[int, Floats]]:
    """What every method says of each range."""
    counts, draws = sparse.counts, SystemDraws()
    some = summaries(trees, sparse)
    found = {
        GEOMETRIC: asked.sums(estimate(published(sparse, geometric()))),
        D_GEOMETRIC: node_sums(trees.nodes.publish(counts, draws), asked),
        WAVELET: asked.sums(estimate(trees.wavelet.publish(counts, draws))),
        D_PRIORITY: node_sums(trees.sample.publish(counts, draws), asked),
    }
    return found | {name: node_sums(table, asked) for name, table in some.items()}


def range_errors(
    trees: Trees, sparse: Sparse, sizes: Sequence[int], number: int, seed: int
) -> dict[str, dict[int, float]]:
    """By method and size of the ranges, the relative error of one run in percent."""
    asked = Ranges.drawn(sparse.size, sizes, number, seed)
    truth = asked.sums(sparse.truth)
    found = answers_of(trees, sparse, asked)
    return {name: relative(answers, truth) for name, answers in found.items()}
