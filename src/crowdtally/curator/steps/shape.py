"""The public shape of a table in its form: known before any record is read."""

from __future__ import annotations

from fractions import Fraction

from crowdtally.curator.publishing.sizes import filter_cut, priority_threshold, sampling_threshold
from crowdtally.curator.request.form import Form
from crowdtally.values.dyadic import DyadicAxis
from crowdtally.values.keeping import Keeping
from crowdtally.values.layout import Grid, Layout
from crowdtally.values.transformed import Buckets, Coefficients, Nodes


def form_layout(form: Form, layout: Layout, seed: int = 0) -> Layout:
    """The cells, nodes, coefficients or buckets that are published from a table of counts.

    A table that lacks the ordered axes, as the items beside their contexts, stays as it is.
    """
    if not isinstance(layout, Grid) or not set(form.ordered) <= set(layout.names):
        return layout
    if form.transform == "dyadic":
        return Nodes(layout.axes, form.tree(layout.axes))
    if form.transform == "haar":
        return Coefficients(layout.axes, form.haar_axis(layout.axes))
    if form.transform == "sketch":
        return Buckets(form.sketching(layout.size, seed))
    return layout


def form_factor(form: Form, layout: Layout) -> int:
    """In how many of them one record counts: what the transform multiplies the bound by."""
    shaped = form_layout(form, layout)
    if isinstance(shaped, Nodes):
        return shaped.tree.factor
    if isinstance(shaped, Coefficients):
        return DyadicAxis(len(shaped.axes[shaped.along])).levels + 1
    if isinstance(shaped, Buckets):
        return shaped.sketching.rows
    return 1


def form_cut(form: Form, cells: int, scale: Fraction, unit: Fraction) -> int:
    """κ in integer units: as given, or from the public N, S and scale; 0 where nothing is cut."""
    if "filter" not in form.publishing:
        return 0
    if form.cut is not None:
        return int(form.cut / unit)
    return filter_cut(cells, form.size or 1, scale, sides=form.sides)


def form_threshold(form: Form, cells: int, scale: Fraction, unit: Fraction) -> Fraction:
    """τ of a threshold sample in integer units, from the public N, S, scale and guessed total."""
    if form.threshold is not None:
        return form.threshold / unit
    total = int(form.guess_total / unit)
    return sampling_threshold(cells, form.size or 1, scale, sides=form.sides, total=total)


def form_keeping(
    form: Form, cells: int, scale: Fraction, unit: Fraction, *, tree: bool = False
) -> Keeping:
    """The public rule by which a summary keeps cells, in integer units.

    Of the nodes of a ``tree`` a priority sample is taken only after the whole filter was drawn.
    """
    cut = form_cut(form, cells, scale, unit)
    if form.publishing == "filter" or (tree and form.publishing == "filter-priority"):
        return Keeping(cut, None, form.sides)
    if form.publishing == "threshold":
        return Keeping(cut, form_threshold(form, cells, scale, unit), form.sides)
    if form.threshold is not None:
        return Keeping(cut, form.threshold / unit, form.sides)
    tau = priority_threshold(cells, form.size or 1, scale, cut=cut, sides=form.sides)
    return Keeping(cut, tau, form.sides)
