"""Counts → transformed counts → published table: the last two hops of the line of the data."""

from __future__ import annotations

import secrets
from fractions import Fraction
from typing import Any

from crowdtally.curator.publishing.dense import dense
from crowdtally.curator.publishing.filter import filter_summary
from crowdtally.curator.publishing.priority import prioritised, priority_summary
from crowdtally.curator.publishing.summary import Summary
from crowdtally.curator.publishing.threshold import threshold_summary
from crowdtally.curator.request.form import Form
from crowdtally.curator.steps.shape import form_cut, form_layout, form_threshold
from crowdtally.curator.transforms.dyadic import dyadic_counts, without_orphans
from crowdtally.curator.transforms.haar import haar_counts
from crowdtally.curator.transforms.sketch import sketch_counts
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.noise.draws import Draws
from crowdtally.published import NoisyTable
from crowdtally.values.counts import Counts
from crowdtally.values.dyadic import Dyadic
from crowdtally.values.epsilon import Epsilon
from crowdtally.values.layout import Layout
from crowdtally.values.transformed import Buckets, Coefficients, Nodes


def publish_table(
    name: str, cells: Layout, counts: Counts, form: Form, epsilon: Epsilon, draws: Draws
) -> NoisyTable:
    """One table in its public form."""
    layout, counts, facts = transformed(cells, counts, form)
    if form.is_dense:
        return dense(name, layout, counts, epsilon, draws, facts)
    summary = summarised(layout, counts, form, epsilon, draws)
    return NoisyTable(
        name,
        layout,
        summary.values,
        DiscreteLaplace(summary.scale, counts.unit),
        facts | summary.facts(),
        cells=summary.cells,
    )


def transformed(cells: Layout, counts: Counts, form: Form) -> tuple[Layout, Counts, dict[str, Any]]:
    """The counts of nodes, coefficients or buckets, and what ``release.json`` says of them."""
    # The seed of a sketch is public, and fixed before a count is seen.
    layout = form_layout(form, cells, secrets.randbits(62))
    facts: dict[str, Any] = {"kind": form.transform, "ordered": list(form.ordered)}
    if isinstance(layout, Nodes):
        made = dyadic_counts(counts, layout.tree)
    elif isinstance(layout, Coefficients):
        made = haar_counts(counts, [len(axis) for axis in layout.axes], layout.along)
    elif isinstance(layout, Buckets):
        sketching = layout.sketching
        made = sketch_counts(counts, sketching)
        facts |= {"buckets": sketching.buckets, "rows": sketching.rows, "seed": sketching.seed}
    else:
        return layout, counts, {"transform": {"kind": "none", "ordered": []}}
    return layout, made, {"transform": facts}


def summarised(
    layout: Layout, counts: Counts, form: Form, epsilon: Epsilon, draws: Draws
) -> Summary:
    """The published cells of a sparse table."""
    sparse, scale, size = counts, counts.l1_bound / epsilon.value, form.size or 1
    cut, tau = form_cut(form, sparse.size, scale, counts.unit), _tau(form, counts.unit)
    tree = layout.tree if isinstance(layout, Nodes) else None
    if form.publishing == "filter":
        return _filtered(sparse, epsilon, draws, cut, form, tree)
    if form.publishing == "filter-priority" and tree is not None:
        # The ancestor rule stands between filtering and sampling, so the whole filter is drawn.
        return prioritised(_filtered(sparse, epsilon, draws, cut, form, tree), size, draws)
    if form.publishing == "threshold":
        tau = tau or form_threshold(form, sparse.size, scale, counts.unit)
        return threshold_summary(sparse, epsilon, draws, threshold=tau, sides=form.sides)
    return priority_summary(
        sparse, epsilon, draws, size=size, cut=cut, threshold=tau, sides=form.sides
    )


def _filtered(
    sparse: Counts, epsilon: Epsilon, draws: Draws, cut: int, form: Form, tree: Dyadic | None
) -> Summary:
    summary = filter_summary(sparse, epsilon, draws, cut=cut, sides=form.sides)
    return summary if tree is None else without_orphans(summary, tree)


def _tau(form: Form, unit: Fraction) -> Fraction | None:
    return None if form.threshold is None else form.threshold / unit
