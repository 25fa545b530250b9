"""What a sparse summary is expected to look like, and which one fits a question's size."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import hypot, sqrt
from typing import Any

from crowdtally.curator.publishing.sizes import expected_size
from crowdtally.curator.request.form import PUBLISHINGS, Form
from crowdtally.curator.request.request import Request
from crowdtally.curator.steps.shape import form_keeping, form_layout
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.laws.tails import empty_cell

_USUAL_SIZE = 100_000
"""The size of a summary where none was asked for."""
_FITTING = 10_000_000
"""Cells up to which publishing all of them is not too many."""
_WEIGHED = {
    "dense": "the noise of so many cells is less than what a sample or a cut would add",
    "priority": "a cut would lose more of the small counts than a sample, which stands for what it "
    "leaves out, is off by",
    "filter-priority": "the noise of empty cells would drown the counts, and a sample of it is "
    "worse: the cut removes most of it, for the loss of the small counts",
}
_UNWEIGHED = {
    True: ("dense", "all cells fit, so nothing needs to be left out"),
    False: (
        "filter-priority",
        "not all cells fit, and a sample without a cut is mostly noise of empty cells",
    ),
}


def planned_summary(
    form: Form, cells: int, scale: Fraction, unit: Fraction, *, tree: bool = False
) -> dict[str, Any] | None:
    """κ, τ and the expected size of a table's summary; None where every cell is published."""
    if form.is_dense:
        return None
    keeping = form_keeping(form, cells, scale, unit, tree=tree)
    threshold = keeping.threshold
    noise_cells = expected_size(cells, scale, keeping)
    wanted = form.size if "priority" in form.publishing else None
    return {
        "publishing": form.publishing,
        "sides": form.sides,
        "cut": float(keeping.cut * unit),
        "threshold": None if threshold is None else float(threshold * unit),
        "cells_from_noise_alone": noise_cells,
        "size_at_most": wanted,
    }


def subset_errors(
    cells: int, size: int, scale: Fraction, unit: Fraction, query: int, total: int = 0
) -> dict[str, float]:
    """Expected error of a sum over ``query`` empty cells, by publishing: noise and sampling.

    What a cut loses of small true counts is not in it.
    """
    errors = {"dense": sqrt(query) * DiscreteLaplace(scale).std() * float(unit)}
    for publishing in PUBLISHINGS[1:]:
        form = Form(publishing, size=size, guess_total=total)
        spread = empty_cell(scale, form_keeping(form, cells, scale, unit)).variance
        errors[publishing] = sqrt(query * spread) * float(unit)
    return errors


def advice(request: Request, query: int | None) -> dict[str, Any] | None:
    """For a question of ``query`` cells: each publishing's expected error, and one to choose."""
    if query is None or request.domain is None:
        return None
    name, layout = list(request.layouts().items())[-1]
    cells = form_layout(request.form, layout).size
    size = request.form.size or min(cells, _USUAL_SIZE)
    bound, unit = request.sensitivity(name)
    scale, asked = bound / request.table_epsilon(name).value, min(query, cells)
    total = request.form.guess_total
    errors = subset_errors(cells, size, scale, unit, asked, total)
    # A question that is no fuller than the table has this much: a cut can lose no more.
    lost = float(total * Fraction(asked, cells)) if total else None
    choice, why = _choice(errors, lost, fits=cells <= max(size, _FITTING))
    return {
        "table": name,
        "query_cells": query,
        "size": size,
        "errors": errors,
        "cut_loses_at_most": lost,
        "choose": choice,
        "why": why,
    }


def _choice(errors: Mapping[str, float], lost: float | None, *, fits: bool) -> tuple[str, str]:
    """The least error among what has the wanted size, or every cell where that is not too many."""
    if lost is None:
        choice, why = _UNWEIGHED[fits]
        return choice, f"{why} (with --guess-total N, what a cut may lose is weighed too)"
    whole = {
        # Between nothing and all of it: half is nearest to what was measured (docs/sparse.md).
        "filter-priority": hypot(errors["filter-priority"], lost / 2),
        "priority": errors["priority"],
    }
    if fits:
        whole["dense"] = errors["dense"]
    choice = min(whole, key=lambda name: whole[name])
    return choice, _WEIGHED[choice]
